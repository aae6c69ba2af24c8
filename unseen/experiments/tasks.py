"""What a run does, one function per task, each yielding findings.

No label of an unseen class reaches ``fit``, ``adapt`` or a search here: they are read
to score, at the very end of a run.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from unseen.core.classes import encode
from unseen.core.linalg import to_unit
from unseen.data import ZeroShotData
from unseen.experiments.bench import Bench
from unseen.experiments.run import Finding, RunKey
from unseen.loading.tables import simple_name, standard_splits
from unseen.methods import METHODS
from unseen.trust.metrics import per_class_accuracy


def accuracy(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Fit, adapt if the method does, and score every round."""
    method = METHODS[key.method]
    data, (_, unlabelled) = bench.data(part), bench.view(method)
    model = bench.fitted(method, part, key.seed)
    chosen = {name: model.get_params()[name] for name in method.grid}
    yield Finding("chosen", note=json.dumps(chosen))
    labels = model.predict(unlabelled)
    truth = data.y_unseen
    yield Finding("accuracy", round=0, value=per_class_accuracy(truth, labels))
    if "rates" in model.get_params():
        share = per_class_accuracy(truth, answer_together(model, unlabelled))
        yield Finding("together", value=share)
    if method.adapts:
        model.adapt(unlabelled)
        labels = model.labels_
        for number, done in enumerate(getattr(model, "rounds_", []), start=1):
            right = per_class_accuracy(truth, done.labels)
            yield Finding("accuracy", f"{done.rate:g}", number, right, str(done))
    yield Finding("final", value=per_class_accuracy(truth, labels))


def answer_together(model: Any, unlabelled: np.ndarray) -> np.ndarray:
    """Return the labels that self-training starts from, after no round of it.

    They are the base's, which centres the unlabelled rows by their own mean and may
    scale its scores by them; ``predict`` does neither.
    """
    rates = model.rates
    labels = model.set_params(rates=[]).adapt(unlabelled).labels_
    model.set_params(rates=rates)
    return labels


def statistics(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Count what Table II counts, and say what was loaded."""
    data = bench.data(part)
    yield Finding("instances", value=len(data.y))
    yield Finding("features", value=data.X.shape[1])
    yield Finding("dimensions", value=data.class_embeddings.shape[1])
    yield Finding("seen", value=len(data.seen))
    yield Finding("unseen", value=len(data.unseen))
    unseen = sorted(map(simple_name, data.unseen))
    splits = standard_splits().items()
    same = [n for n, one in splits if sorted(map(simple_name, one.unseen)) == unseen]
    source = bench.source
    features = f"{data.X.shape[1]:,} features ({source.about or data.name})"
    split = f"{same[0] if same else 'own'} ({len(data.seen)}/{len(data.unseen)})"
    table = f"{source.classes(part)} ({data.class_embeddings.shape[1]:,})"
    note = f"{source.name}, {features}, split {split}, classes by {table}"
    yield Finding("loaded", note=note)


def convergence(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Watch JEDM sweep by sweep, at the paper's settings.

    Recorded are the objective (2); by how much D changes, relative to its size, for
    Algorithm 1 stops at no change; and the steps of ADMM.
    """
    from unseen.models.dictionary import DICTIONARY_SOLVERS
    from unseen.models.jedm import JEDM, READINGS

    table, folds = bench.data(part).class_embeddings, bench.folds
    codes = encode(folds.y, table)[0]
    for name, reading in READINGS.items():
        solve = DICTIONARY_SOLVERS[reading.dictionary]
        curves: dict[str, list[float]] = {"steps": [], "change of D": []}

        def watched(CtC, CtX, D, *, dtype, solve=solve, curves=curves):
            found = solve(CtC, CtX, D, dtype=dtype, steps=curves["steps"])
            change = np.linalg.norm(found - D) / np.linalg.norm(found)
            curves["change of D"].append(float(change))
            return found

        sweeps = reading._replace(max_iter=30, tol=0.0)
        model = JEDM(sweeps, alpha=0.1, beta=0.1, random_state=key.seed)
        with patch.dict(DICTIONARY_SOLVERS, {reading.dictionary: watched}):
            folds.fit_all(model, table, codes)
        for measure, values in curves.items():
            for sweep, value in enumerate(values, start=1):
                yield Finding(measure, name, sweep, value)
        for sweep, value in enumerate(model.history_):
            yield Finding("objective", name, sweep, value)


def latent(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Lay unseen rows and prototypes out by t-SNE, before and after self-training.

    A row lies at ``D x`` and a class at ``V a``, for their product is the score (8), by
    direction alone; both are centred as ``adapt`` centres them. Prototypes stay.
    """
    from sklearn.manifold import TSNE

    model = bench.fitted(METHODS[key.method], part, key.seed)
    candidates = model._candidates(None)
    view = model._view(model._unlabelled(bench.unlabelled), candidates)
    truth = bench.data(part).y_unseen
    labels = [answer_together(model, bench.unlabelled)]
    D, V, refit = [model.components_], model.compatibility_, model._refit

    def remember(*given):
        D[1:] = refit(*given)[:1]
        return refit(*given)

    model._refit = remember
    labels.append(model.adapt(bench.unlabelled).labels_)
    rng = np.random.default_rng(key.seed)
    chosen = np.sort(rng.permutation(len(truth))[:1000])
    rows = np.asarray(view.B)[chosen]
    both = to_unit(np.vstack([*(rows @ one.T for one in D), view.A @ V.T]))
    tsne = TSNE(init="pca", random_state=key.seed, metric="cosine", perplexity=30)
    places = np.round(tsne.fit_transform(both).astype(float), 1)  # as drawings show
    n = len(chosen)
    for when in (0, 1):
        right = labels[when][chosen] == truth[chosen]
        for number, (x, y) in enumerate(places[when * n : (when + 1) * n]):
            name = str(truth[chosen[number]])
            for measure, value in (("x", x), ("y", y), ("right", int(right[number]))):
                yield Finding(f"{measure} {when}", name, number, value)
            if when == 0:
                yield Finding("row", name, number, int(chosen[number]))
    for name, (x, y) in zip(candidates.names, places[2 * n :], strict=True):
        yield Finding("prototype x", str(name), value=x)
        yield Finding("prototype y", str(name), value=y)


def complexity(bench: Bench | None, part: str, key: RunKey) -> Iterator[Finding]:
    """Time JEDM's fit and TSTD's adapt on made-up data while one size grows."""
    from unseen.models.jedm import Reading
    from unseen.transduction.tstd import TSTD

    usual = {"m": 8000, "p": 256, "d": 100, "n": 4000}
    smallest = {"m": 4000, "p": 128, "d": 50, "n": 2000}
    for letter, least in smallest.items():
        for size in (least, 2 * least, 4 * least, 8 * least):
            of = usual | {letter: size}
            data = clusters(of["m"], of["n"], of["p"])
            few, axes = Reading(max_iter=10), min(of["p"], 100)
            model = TSTD(few, n_components=of["d"], n_axes=axes)
            labelled = {"y": data.y_seen, "class_embeddings": data.class_embeddings}
            work = {
                "fit": partial(model.fit, data.X_seen, **labelled),
                "adapt": partial(model.adapt, data.X_unseen),
                "predict": partial(model.predict, data.X_unseen),
            }
            for what, do in work.items():
                times = []
                for _ in range(3):
                    start = time.process_time()
                    do()
                    times.append(time.process_time() - start)
                yield Finding(what, letter, size, of["n"], seconds=min(times))


def separation(bench: Bench | None, part: str, key: RunKey) -> Iterator[Finding]:
    """Score methods on clusters as wide and prototypes as wrong as is asked for.

    With a data set, measure where it lies instead.
    """
    if bench is not None:
        data = bench.data(part)
        if key.seed == 0:
            for measure, value in where_it_lies(data).items():
                yield Finding(measure, value=value)
        return
    settings = [("separation", x, 0.5) for x in (1, 1.5, 2, 3, 4, 6, 8, 12)]
    settings += [("error", 6, x) for x in (0, 0.1, 0.25, 0.5, 0.75, 0.9)]
    for what, apart, error in settings:
        data = clusters(apart=apart, error=error, seed=key.seed)
        for measure, value in where_it_lies(data).items():
            yield Finding(measure, f"{what} {apart:g} {error:g}", value=value)
        for name in COMPARED:
            model = METHODS[name].make()
            model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
            labels = model.adapt(data.X_unseen).labels_
            share = per_class_accuracy(data.y_unseen, labels)
            x = apart if what == "separation" else error
            yield Finding(what, f"{name} {x:g}", value=share)


COMPARED = ("cca-default", "cca-default-st", "eszsl-default", "eszsl-default-st",
            "jedm-authors", "tstd-authors", "ast")  # fmt: skip


def clusters(
    m: int = 2400, n: int = 600, p: int = 100, apart=6.0, error=0.5, seed: int = 0
) -> ZeroShotData:
    """Return m rows of 40 seen and n of 10 unseen classes, round clusters of width 1.

    Class means are ``apart`` from each other, in root mean square; a share ``error`` of
    their squares is not what a linear map of the embeddings gives.
    """
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(50, 10))
    linear = Z @ rng.normal(size=(10, p)) / np.sqrt(10)
    M = np.sqrt(1 - error) * linear + np.sqrt(error) * rng.normal(size=(50, p))
    M *= apart / np.sqrt(2 * p)
    y = np.repeat(np.arange(50), np.repeat([m // 40, n // 10], [40, 10]))
    names = np.array([f"class {i:02d}" for i in range(50)])
    table = pd.DataFrame(Z @ rng.normal(size=(10, 85)), index=names)
    X = M[y] + rng.normal(size=(len(y), p))
    return ZeroShotData("made-up", X, names[y], table, names[40:])


def where_it_lies(data: ZeroShotData) -> dict[str, float]:
    """Measure, by the true labels, how far apart classes are and prototypes are off.

    distance  of a class from the one nearest to it: that of their means over the
              deviation of its rows along the line between them; root mean square
    off       1 - r², with r the correlation of the unseen classes' means, as a ridge
              from embeddings predicts them, with the means that they have
    """
    from unseen import RidgeToVisual

    model = RidgeToVisual()
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    rows, truth = to_unit(np.asarray(data.X_unseen, dtype=float)), data.y_unseen
    names = np.unique(truth[truth != ""])
    groups = [rows[truth == name] for name in names]
    M = np.array([group.mean(axis=0) for group in groups])
    blur = np.array([group.var(axis=0).sum() / len(group) for group in groups])
    ratios = []
    for i, group in enumerate(groups):
        others = np.arange(len(M)) != i
        lines = (M - M[i])[others]
        squares = np.einsum("ij,ij->i", lines, lines)
        widths = ((group - M[i]) @ lines.T).var(axis=0) / squares
        # Means of few rows are further apart than those of many.
        ratios.append(((squares - blur[i] - blur[others]) / widths).min())
    P = to_unit(data.class_embeddings.loc[names].to_numpy(float))
    P = P @ model.coef_.T @ model.axes_.T
    P, M = P - P.mean(axis=0), M - M.mean(axis=0)
    r = np.vdot(P, M) / (np.linalg.norm(P) * np.linalg.norm(M))
    return {
        "distance": float(np.sqrt(max(np.mean(ratios), 0))),
        "off": float(1 - max(r, 0) ** 2),
    }


TASKS: dict[str, Callable[..., Iterator[Finding]]] = {
    "accuracy": accuracy,
    "statistics": statistics,
    "convergence": convergence,
    "latent": latent,
    "complexity": complexity,
    "separation": separation,
}


def run_task(
    bench: Bench | None, part: str, key: RunKey, task: Callable | None = None
) -> list[Finding]:
    """Make one run; what goes wrong in it is a finding too."""
    start = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = list((task or TASKS[key.task])(bench, part, key))
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return [Finding("failed", note=reason, seconds=time.process_time() - start)]
    messages = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    found += [Finding("warning", note=" ".join(text.split())) for text in messages]
    return [*found, Finding("done", seconds=time.process_time() - start)]
