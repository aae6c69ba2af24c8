"""What a run does, one function per task, each yielding findings.

No label of an unseen class reaches ``fit``, ``adapt`` or a search here: they are read
to score, at the very end of a run.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from unseen.core.classes import encode
from unseen.core.linalg import to_unit
from unseen.experiments.bench import Bench
from unseen.experiments.run import Finding, RunKey
from unseen.methods import METHODS
from unseen.trust.metrics import confusion, per_class_accuracy

__all__ = ["TASKS", "run_task"]


def accuracy(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Fit, adapt if the method does, and score every round."""
    method = METHODS[key.method]
    data, (_, unlabelled) = bench.data(part), bench.view(method)
    model = bench.fitted(method, part, key.seed)
    yield Finding("chosen", note=json.dumps(bench.winner(method, part)))
    labels = before = model.predict(unlabelled)
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
    if method.detail and key.seed == 0:
        yield from class_by_class(truth, before, labels)


def answer_together(model: Any, unlabelled: np.ndarray) -> np.ndarray:
    """Return the labels that self-training starts from, after no round of it.

    They are the base's, which centres the unlabelled rows by their own mean and may
    scale its scores by them; ``predict`` does neither.
    """
    rates = model.rates
    labels = model.set_params(rates=[]).adapt(unlabelled).labels_
    model.set_params(rates=rates)
    return labels


def class_by_class(truth, before, after) -> Iterator[Finding]:
    """Tell the share of each class that was right, and what its rows were called."""
    for number, labels in enumerate((before, after)):
        for name in np.unique(truth):
            share = float(np.mean(labels[truth == name] == name))
            yield Finding("recall", str(name), number, share)
    table = confusion(truth, after)
    counts = table.to_numpy()
    for i, j in zip(*np.nonzero(counts), strict=True):
        true, given = table.index[i], table.columns[j]
        yield Finding("given", true, value=int(counts[i, j]), note=given)


def statistics(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Count what Table II counts."""
    data = bench.data(part)
    yield Finding("instances", value=len(data.y))
    yield Finding("features", value=data.X.shape[1])
    yield Finding("dimensions", value=data.class_embeddings.shape[1])
    yield Finding("seen", value=len(data.seen))
    yield Finding("unseen", value=len(data.unseen))


def convergence(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Record the objective (2) of JEDM, sweep by sweep, at the paper's settings."""
    from unseen.models.jedm import JEDM, READINGS

    for name, reading in READINGS.items():
        reading = reading._replace(max_iter=30, tol=0.0)
        model = JEDM(reading, alpha=0.1, beta=0.1, random_state=key.seed)
        table = bench.data(part).class_embeddings
        folds = bench.folds
        folds.fit_all(model, table, encode(folds.y, table)[0])
        for sweep, cost in enumerate(model.history_):
            yield Finding("objective", name, sweep, float(cost))


def latent(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Lay the unseen rows and prototypes of the latent space out by t-SNE.

    A row lies at ``D x`` and a class at ``V a``, for their product is the score (8), by
    direction alone; both are centred as ``adapt`` centres them.
    """
    from sklearn.manifold import TSNE

    method = METHODS[key.method]
    model = bench.fitted(method, part, key.seed)
    candidates = model._candidates(None)
    view = model._view(model._unlabelled(bench.unlabelled), candidates)
    rng = np.random.default_rng(key.seed)
    chosen = np.sort(rng.permutation(len(view.B))[:1000])
    D, V = model.components_, model.compatibility_
    both = to_unit(np.vstack([np.asarray(view.B)[chosen] @ D.T, view.A @ V.T]))
    tsne = TSNE(init="pca", random_state=key.seed, metric="cosine", perplexity=30)
    places = tsne.fit_transform(both)
    names = [*bench.data(part).y_unseen[chosen], *candidates.names]
    for number, (name, (x, y)) in enumerate(zip(names, places, strict=True)):
        what = "row" if number < len(chosen) else "prototype"
        # A decimal is more than a drawing shows.
        yield Finding(f"{what} x", name, number, round(float(x), 1))
        yield Finding(f"{what} y", name, number, round(float(y), 1))


def complexity(bench: Bench | None, part: str, key: RunKey) -> Iterator[Finding]:
    """Time JEDM's fit on made-up data while one of m, p, d grows."""
    from unseen.models.jedm import JEDM, Reading

    usual = {"m": 8000, "p": 256, "d": 100}
    sizes = {
        "m": [4000, 8000, 16000, 32000],
        "p": [128, 256, 512, 1024],
        "d": [50, 100, 200, 400],
    }
    for letter, values in sizes.items():
        for size in values:
            n = usual | {letter: size}
            X, y, A = made_up(n["m"], n["p"])
            few = Reading(max_iter=10)
            model = JEDM(few, n_components=n["d"], n_axes=min(n["p"], 100))
            times = []
            for _ in range(3):
                start = time.process_time()
                model.fit(X, y, class_embeddings=A)
                times.append(time.process_time() - start)
            yield Finding("fit", letter, size, seconds=min(times))


def made_up(m: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows around means that a linear map of 50 classes' embeddings gives."""
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(50, 85))
    y = np.arange(m) % 40
    spread = (1 + np.arange(p)) ** -0.5
    X = (rng.standard_normal((m, p)) + (A @ rng.normal(size=(85, p)) / 3)[y]) * spread
    return X.astype(np.float32), y, A


TASKS: dict[str, Callable[..., Iterator[Finding]]] = {
    "accuracy": accuracy,
    "statistics": statistics,
    "convergence": convergence,
    "latent": latent,
    "complexity": complexity,
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
