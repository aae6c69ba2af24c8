"""Golden answers: what every public estimator and command said before a rebuild.

    python -m tests.golden                       # compare everything
    python -m tests.golden --renew OTTER "run"   # store anew what contains these words

``golden.npz`` holds, per entry (a method and a set, such as ``"OTTER made"``), several
answers (``"OTTER made adapt"``): labels as numbers of classes, one byte each, and
scores, probabilities and reliabilities of some rows in single precision. Only public
names are used here, so that everything below them may be rebuilt. Labels are equal, or
99.9 % where rounding decides; numbers agree to five digits of the largest magnitude
(three where the rows are of single precision; ``UNSTEADY`` names those that do not).
An entry is stored anew only where its method is meant to change, and the commit says
why.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits

import unseen
from tests.checks import nudged
from unseen import (
    CCA,
    ESZSL,
    JEDM,
    NONE_OF_THESE,
    SAE,
    TSTD,
    AnchoredSelfTraining,
    BiDiLEL,
    Calibrated,
    ClasswiseSearchCV,
    RidgeToVisual,
    SelfTraining,
    load_data,
)
from unseen.models.jedm import READINGS

STORED = Path(__file__).with_name("golden.npz")
DATA = Path(__file__).parents[1] / ".." / "shared" / "data"
SINGLE = ("cub", "texts", "bundled")  # rows of single precision
# Share of labels, and of the largest magnitude, that may move: about twice as much as
# noise in the last place of the rows moves (1e-12 of the made-up ones).
STEADY = {True: (0.001, 1e-3), False: (0.001, 1e-5)}
UNSTEADY = {
    "BiDiLEL": (0.001, 1e-3),
    "BiDiLEL cub": (0.025, 1.0),
    "PrototypeAveraging cub": (0.05, 1.0),
    "TMVHLP": (0.005, 0.1),
}
SHOWN = 12  # rows whose scores and probabilities are stored
Answers = dict[str, np.ndarray]


# Sets ------------------------------------------------------------------------------


class Case(NamedTuple):
    """Rows of seen classes, a class table, unlabelled rows with their truth, more."""

    X: np.ndarray
    y: np.ndarray
    table: pd.DataFrame
    unlabelled: np.ndarray
    truth: np.ndarray
    later: np.ndarray


def split(X, y, table, new, later: int = 7) -> Case:
    """Part rows into seen, unlabelled and later ones."""
    X, of_new = nudged(X), np.isin(y, new)
    rows, last = np.flatnonzero(of_new), np.arange(of_new.sum()) % later == 0
    now, then = rows[~last], rows[last]
    return Case(X[~of_new], y[~of_new], table, X[now], y[now], X[then])


def made_up(n_classes: int = 14, n_seen: int = 10) -> Case:
    """Rows around a map of their class's attributes, mostly well apart."""
    rng = np.random.default_rng(5)
    names = np.array([f"class {i:02d}" for i in range(n_classes)])
    A = rng.uniform(size=(n_classes, 9))
    y = rng.permutation(np.repeat(np.arange(n_classes), 28))
    X = (A @ rng.normal(size=(9, 24)))[y] + 0.45 * rng.normal(size=(len(y), 24)) + 1
    table = pd.DataFrame(A, index=names, columns=list("abcdefghi"))
    return split(X, names[y], table, names[n_seen:])


def two_tables() -> Case:
    """The same rows; their classes are described by two tables of unlike size."""
    case, rng = made_up(), np.random.default_rng(6)
    words = case.table.to_numpy() @ rng.normal(size=(9, 30))
    words = pd.DataFrame(10 * words + rng.normal(size=words.shape), case.table.index)
    table = pd.concat({"attributes": case.table, "words": words}, axis=1)
    return case._replace(table=table)


def digits() -> Case:
    """Scans of digits; two tables of attributes describe their shapes."""
    images = load_digits()
    path = Path(__file__).with_name("digits.csv")
    table = pd.read_csv(path, comment="#", index_col="digit", dtype={"digit": str})
    columns = [name.split(".") for name in table.columns]
    table.columns = pd.MultiIndex.from_tuples(map(tuple, columns))
    X, y = images.data[::3] / 16, images.target[::3].astype(str)
    return split(X, y, table.astype(float), ["2", "5", "8"])


def cub() -> Case:
    """Every sixteenth feature, every sixth row of seen classes and 800 others."""
    data = load_data(DATA / "cub_vgg.npz", classes="att_312")
    X = np.ascontiguousarray(data.X[:, ::16], dtype=np.float32)
    of_new = np.isin(data.y, data.unseen)
    rows = np.sort([*np.flatnonzero(~of_new)[::6], *np.flatnonzero(of_new)[:2700:3]])
    return split(X[rows], data.y[rows], data.class_embeddings, data.unseen, later=9)


def texts() -> Case:
    """Names of 77 intents as prototypes: no class is seen."""
    with np.load(DATA / "texts" / "banking77_test__minilm-int8.npz") as stored:
        X, P = (np.asarray(stored[key], dtype=np.float32) for key in "XP")
        names, y = stored["classes"].astype(str), stored["y"]
    y = names[y] if np.issubdtype(y.dtype, np.integer) else y.astype(str)
    return split(X[::3], y[::3], pd.DataFrame(P, index=names), names, later=9)


def prototypes() -> Case:
    """The means of made-up classes, disturbed, and no seen class."""
    case, rng = made_up(n_classes=9, n_seen=0), np.random.default_rng(8)
    means = pd.DataFrame(case.unlabelled).groupby(case.truth).mean()
    return case._replace(table=means + 0.5 * rng.normal(size=means.shape))


SETS: dict[str, Callable[[], Case]] = {
    "made": made_up,
    "two": two_tables,
    "digits": digits,
    "cub": cub,
    "names": prototypes,
    "texts": texts,
}
NEEDED = {"cub": "cub_vgg.npz", "texts": "texts/banking77_test__minilm-int8.npz"}
find_set = cache(lambda name: SETS[name]())


# Methods ---------------------------------------------------------------------------

# Cheaper than the defaults where those take long.
SHORT: dict[str, dict[str, Any]] = {
    **{name: {"max_iter": 5} for name in ("ALE", "DeViSE", "SJE", "LatEm")},
    "SynC": {"tol": 0.1},
    "JLSE": {"tol": 0.1, "n_turns": 1},
    "EMDirichlet": {"n_rounds": 4},
}
WRAPPING = ("SelfTraining", "Calibrated", "ClasswiseSearchCV")
NOT_CLASSIFIERS = ("PerDomainCenterer", "SumsPCA", "WithinClassWhitener")
PUBLIC = [
    name
    for name in unseen.__all__
    if inspect.isclass(getattr(unseen, name))
    and issubclass(getattr(unseen, name), BaseEstimator)
    and name not in NOT_CLASSIFIERS
]
FROM_NAMES = [
    name for name in PUBLIC if hasattr(getattr(unseen, name), "from_prototypes")
]
WRAPPED: dict[str, BaseEstimator] = {
    "JEDM(paper)": JEDM(READINGS["paper"]._replace(max_iter=20)),
    "TSTD(paper)": TSTD(READINGS["paper"]._replace(max_iter=20)),
    "SelfTraining(ESZSL)": SelfTraining(ESZSL()),
    "SelfTraining(CCA)": SelfTraining(CCA()),
    "SelfTraining(JEDM)": SelfTraining(JEDM()),
    "SelfTraining(SAE)": SelfTraining(SAE()),
    "SelfTraining(RidgeToVisual)": SelfTraining(RidgeToVisual()),
    "Calibrated(AST)": Calibrated(AnchoredSelfTraining(), cv=3),
    "Calibrated(ESZSL)": Calibrated(ESZSL(), cv=3),
    "ClasswiseSearchCV(TSTD)": ClasswiseSearchCV(
        TSTD(), {"alpha": [0.01, 1.0], "lam": [1.0, 100.0]}, n_folds=3
    ),
}
VARIANTS: dict[str, BaseEstimator] = {
    "AST(drop_absent)": AnchoredSelfTraining(drop_absent=True),
    "AST(n_axes)": AnchoredSelfTraining(n_axes=8),
    "BiDiLEL(structured)": BiDiLEL(transduction="structured"),
    "CCA(whitening)": CCA(whitening=0.1, n_axes=10),
    "EMDirichlet(hard)": unseen.EMDirichlet(labels="hard", n_rounds=4),
    "ESZSL(l21)": ESZSL(penalty="l21"),
    "ESZSL(plain)": ESZSL(
        label_coding="signed", unit_rows=False, per_domain_centering=False
    ),
    "GuidedMixture(seen)": unseen.GuidedMixture(),
    "OTTER(ESZSL)": unseen.OTTER(ESZSL()),
    "PST(rows)": unseen.PST(space="rows"),
    "RidgeToVisual(cosine)": RidgeToVisual(metric="cosine"),
    "SAE(to_semantic)": SAE(direction="to_semantic"),
    "SynC(structured)": unseen.SynC(loss="structured", tol=0.1),
    "TransCLIP(CCA)": unseen.TransCLIP(CCA()),
}


def make(method: str) -> BaseEstimator:
    """Return an estimator by its entry's name."""
    known = WRAPPED | VARIANTS
    if method in known:
        return clone(known[method])
    return getattr(unseen, method)(**SHORT.get(method, {}))


def fitted(method: str, case: Case) -> Any:
    return make(method).fit(case.X, case.y, class_embeddings=case.table)


# Answers ---------------------------------------------------------------------------


def with_seen_classes(method: str, name: str) -> Answers:
    """Fit, predict, adapt, adapt with given labels; all classes on offer."""
    case = find_set(name)
    model, answers = fitted(method, case), Coded(case)
    for offered in (None, "all"):
        on = "" if offered is None else " all"
        answers.labels("predict" + on, model.predict(case.unlabelled, classes=offered))
        answers.rows(on, model, case.unlabelled[:SHOWN], offered)
    if name == "cub":
        answers.drop_numbers()
    if not hasattr(model, "adapt"):
        return answers.found
    answers.adapt("", model, case.unlabelled)
    answers.labels("later", model.predict(case.later))
    answers.adapt(" given", model, case.unlabelled, given=known_labels(case))
    if name != "cub":
        answers.rows(" later", model, case.later[:SHOWN], None)
        mixed = np.concatenate([case.unlabelled, case.X[::9]])
        answers.adapt(" all", model, mixed, classes="all")
    if name == "made":
        answers.adapt(" new", model, case.unlabelled, given=new_class(case))
    if hasattr(model, "best_score_"):
        answers.numbers("best", model.cv_results_["mean_test_score"])
    return answers.found


def from_names(method: str, name: str) -> Answers:
    """Adapt from prototypes alone, with and without given labels."""
    case, kind = find_set(name), getattr(unseen, method)
    model = kind.from_prototypes(case.table, **SHORT.get(method, {}))
    answers = Coded(case)
    answers.labels("predict", model.predict(case.unlabelled))
    answers.rows("", model, case.unlabelled[:SHOWN], None)
    answers.adapt("", model, case.unlabelled)
    answers.labels("later", model.predict(case.later))
    answers.adapt(" given", model, case.unlabelled, given=known_labels(case))
    answers.adapt(" new", model, case.unlabelled, given=new_class(case))
    return answers.found


def known_labels(case: Case) -> dict[int, str]:
    """Return the truth of a few rows, by row."""
    return {int(row): case.truth[row] for row in range(3, len(case.truth), 17)}


def new_class(case: Case) -> dict[int, str]:
    """Name some rows of a class as one that no table describes, and one row as none."""
    rows = np.flatnonzero(case.truth == case.truth[0])[:6].tolist()
    return dict.fromkeys(rows[1:], "newcomer") | {rows[0]: NONE_OF_THESE}


class Coded:
    """Answers on one set, as arrays of numbers."""

    def __init__(self, case: Case):
        self.classes, self.found = case.table.index, Answers()

    def labels(self, what: str, labels) -> None:
        codes = self.classes.get_indexer(pd.Index(np.asarray(labels)))
        self.found[what] = np.where(codes < 0, 255, codes).astype(np.uint8)

    def numbers(self, what: str, values) -> None:
        self.found[what] = np.asarray(values, dtype=np.float32)

    def rows(self, on: str, model, rows, offered) -> None:
        """Take scores and, where there are any, probabilities of rows."""
        self.numbers("scores" + on, model.decision_function(rows, classes=offered))
        if hasattr(model, "predict_proba"):
            self.numbers(
                "probabilities" + on, model.predict_proba(rows, classes=offered)
            )

    def adapt(self, on: str, model, rows, **asked) -> None:
        """Adapt; a refusal in words, of labels that teach nothing, is an answer too."""
        try:
            model.adapt(rows, **asked)
        except ValueError:
            self.found["refused" + on] = np.ones(1, dtype=np.uint8)
            return
        self.labels("adapt" + on, model.labels_)
        for what in ("reliability", "novelty"):
            if hasattr(model, what + "_"):
                self.numbers(what + on, getattr(model, what + "_")[: 4 * SHOWN])

    def drop_numbers(self) -> None:
        self.found = {k: v for k, v in self.found.items() if v.dtype == np.uint8}


def photos() -> Answers:
    """Label the bundled photos by names, then with some labels given."""
    from unseen.photos import NamedPhotos
    from unseen.photos.bundled import load_photos

    demo = load_photos()
    model = NamedPhotos(demo.image_encoder, demo.text_encoder).fit(demo.classes)
    return by_names(model, demo.classes, demo.features, demo.truth)


def named_texts() -> Answers:
    """Label the bundled texts by names, then with some labels given."""
    from unseen.texts import NamedTexts, load_demo_texts

    demo = load_demo_texts()
    model = NamedTexts().fit(demo.classes)
    return by_names(model, demo.classes, demo.texts, demo.truth)


def by_names(model, classes, items, truth) -> Answers:
    answers = Coded(Case(*[None] * 2, pd.DataFrame(index=list(classes)), *[None] * 3))
    answers.labels("predict", model.predict(items[:100]))
    answers.adapt("", model, items)
    answers.labels("second", model.second_)
    given = {int(row): truth[row] for row in range(2, len(truth), 19)}
    answers.adapt(" given", model, items, given=given)
    return answers.found


def run_command() -> Answers:
    """``unseen run`` on a CSV file whose rows of four classes have no label."""
    case = made_up()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        rows = pd.DataFrame(np.concatenate([case.X, case.unlabelled])).add_prefix("f")
        rows["label"] = [*case.y, *[None] * len(case.unlabelled)]
        rows.to_csv(folder / "rows.csv", index=False)
        case.table.rename_axis("class").to_csv(folder / "classes.csv")
        table = ["--classes", folder / "classes.csv"]
        command("run", folder / "rows.csv", *table, "--out", folder / "out")
        labels = pd.read_csv(next(folder.rglob("labels.csv")))
    answers = Coded(case)
    answers.labels("labels", labels["label"])
    answers.numbers("reliability", labels["reliability"])
    return answers.found


def compare_command() -> Answers:
    """``unseen compare`` on the pets: accuracy on every fold and the unseen."""
    words = ["compare", "pets", "--methods", "ast,tstd,eszsl", "--jobs", "1"]
    return accuracies(*words, measures=("fold", "test"))


PLAN = """
title = "A plan"
caption = "Accuracy on the pets."
task = "accuracy"
show = "table"

[[column]]
head = "pets"
data = "pets"
classes = "attributes"
"""


def reproduce_command() -> Answers:
    """``unseen reproduce`` with a plan of three methods, the weights searched."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder, "plan.toml")
        rows = (
            f'\n[[row]]\nmethod = "{method}"\n' for method in ("cca", "eszsl", "ast")
        )
        plan.write_text(PLAN + "".join(rows))
        return accuracies("reproduce", plan, "--jobs", "1", measures=("final",))


def accuracies(*words, measures: tuple[str, ...]) -> Answers:
    """Run a command; return what results.csv says of every method, in its order."""
    with tempfile.TemporaryDirectory() as folder:
        command(*words, "--out", Path(folder, "out"))
        results = pd.read_csv(Path(folder, "out", "results.csv"))
    results = results[results["measure"].isin(measures)]
    order = ["measure", "seed", "round"]
    return {
        method: rows.sort_values(order)["value"].to_numpy(np.float32)
        for method, rows in results.groupby("method")
    }


def command(*words) -> None:
    from typer.testing import CliRunner

    from unseen.cli import app

    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output


# Entries ---------------------------------------------------------------------------

OTHERS: dict[str, Callable[[], Answers]] = {
    "NamedPhotos bundled": photos,
    "NamedTexts bundled": named_texts,
    "run csv": run_command,
    "compare pets": compare_command,
    "reproduce pets": reproduce_command,
}


def entries() -> Iterator[str]:
    """Yield every entry: what is asked, and on which set."""
    learning = [name for name in PUBLIC if name not in (*WRAPPING, "GuidedMixture")]
    for name in ("made", "digits"):
        yield from (f"{method} {name}" for method in (*learning, *WRAPPED))
    for name in ("two", "cub"):
        yield from (f"{method} {name}" for method in learning)
    yield from (f"{method} made" for method in VARIANTS)
    for name in ("names", "texts"):
        yield from (f"{method} {name}" for method in FROM_NAMES)
    yield from OTHERS


def compute(entry: str) -> Answers:
    """Answer an entry's questions today."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short fits, weak starts
        if entry in OTHERS:
            return OTHERS[entry]()
        method, name = entry.split()
        ask = from_names if name in ("names", "texts") else with_seen_classes
        return ask(method, name)


def stored() -> dict[str, Answers]:
    """Return the stored answers of every entry."""
    known: dict[str, Answers] = {}
    with np.load(STORED) as file:
        kept = {kind: file[kind] for kind in ("labels", "numbers")}
        for entry, what, kind, *size in (key.split("/") for key in file["keys"]):
            shape = tuple(map(int, size))
            here, kept[kind] = np.split(kept[kind], [int(np.prod(shape))])
            known.setdefault(entry, {})[what] = here.reshape(shape)
    return known


def store(known: dict[str, Answers]) -> None:
    """Write all answers, end to end: a member of its own for each takes more."""
    keys: list[str] = []
    kept: dict[str, list[np.ndarray]] = {"labels": [], "numbers": []}
    for entry in entries():
        for what, answer in known.get(entry, {}).items():
            kind = "labels" if answer.dtype == np.uint8 else "numbers"
            keys.append("/".join([entry, what, kind, *map(str, answer.shape)]))
            kept[kind].append(answer.ravel())
    ends = {kind: np.concatenate(answers) for kind, answers in kept.items()}
    np.savez_compressed(STORED, keys=np.array(keys), **ends)


def differences(entry: str, found: Answers, known: Answers) -> Iterator[str]:
    """Yield what is not as stored, in words."""
    labels, numbers = tolerance(entry)
    if known.keys() - found.keys():  # a model may answer more than it did
        yield f"answers {sorted(found)} instead of {sorted(known)}"
    for what in found.keys() & known.keys():
        ours, theirs = found[what], known[what]
        if ours.shape != theirs.shape:
            yield f"{what}: shape {ours.shape} instead of {theirs.shape}"
        elif ours.dtype == np.uint8:
            moved = int((ours != theirs).sum())
            if moved > labels * len(theirs):
                yield f"{what}: {moved} of {len(theirs)} labels moved"
        else:
            off = np.abs(ours - theirs).max() / np.abs(theirs).max()
            if not off <= numbers:  # nor NaN
                yield f"{what}: off by {off:.1e} of the largest magnitude"


def tolerance(entry: str) -> tuple[float, float]:
    """Return how many labels may move, and by how much numbers may."""
    method, name = entry.split()
    steady = STEADY[name in SINGLE]
    return UNSTEADY.get(entry, UNSTEADY.get(method.split("(")[0], steady))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--renew", nargs="+", help="entries that contain one of these")
    parser.add_argument("--only", default="", help="entries that contain this")
    options = parser.parse_args()
    known = stored() if STORED.exists() else {}
    wrong = 0
    for entry in entries():
        if not any(part in entry for part in options.renew or [options.only]):
            continue
        start = time.process_time()
        found = compute(entry)
        if options.renew:
            known[entry], said = found, ["stored"]
        else:
            said = list(differences(entry, found, known[entry]))
            wrong += len(said)
        print(f"{entry:40}{time.process_time() - start:6.1f} s  {'; '.join(said)}")
    if options.renew:
        store(known)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
