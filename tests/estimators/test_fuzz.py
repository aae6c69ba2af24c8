"""Whatever comes in: a finite answer or a plain sentence, never a raw error.

Random cases of odd shapes, types, scales and labels, each made from its seed alone. A
case ends well if all that is returned is finite and labels are classes that compete, or
if it is refused by a ValueError in a plain sentence.
"""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.linalg import LinAlgError
from sklearn.base import clone

from tests.checks import public_estimators
from unseen import ESZSL, JEDM, Reading, SelfTraining, SumsPCA, WithinClassWhitener

SPEEDS = {  # as little work as shows an error
    "max_iter": 5, "max_rounds": 3, "n_rounds": 3, "n_iter_no_change": 2, "cv": 2,
}  # fmt: skip
CHOICES = {  # parameters that open other ways through the code
    "whitening": [None, 0.1, 1e-9],
    "unit_rows": [True, False],
    "n_axes": [1, 3, 500, "all", None],
    "per_domain_centering": [True, False],
    "transduction": ["self_training", "structured", None],
    "drop_absent": [True, False],
    "loss": ["one_vs_other", "structured", "squared"],
    "metric": ["euclidean", "cosine"],
    "direction": ["to_visual", "to_semantic"],
    "reading": ["reference", "paper", "stacked", "joint"],
    "labels": ["soft", "hard"],
    "n_maps": [1, 2],
    "n_neighbors": [0, 2, 5, 40],
    "n_components": [1, 2, None],
    "space": ["scores", "rows"],
}
SCALES = [1.0] * 8 + [1e-300, 1e-150, 1e-30, 1e-8, 1e8, 1e30, 1e150, 1e300]
ODD = {  # what may be odd about rows
    "constant features": lambda X, rng: np.hstack([X[:, :1] * 0 + 1, X[:, 1:]]),
    "equal rows": lambda X, rng: X[[0] * len(X)],
    "zero rows": lambda X, rng: X * (np.arange(len(X)) % 2)[:, None],
    "all zero": lambda X, rng: X * 0,
    "duplicates": lambda X, rng: X[rng.integers(max(len(X), 1), size=len(X))],
    "infinite": lambda X, rng: np.where(rng.random(X.shape) < 0.1, np.inf, X),
    "NaN": lambda X, rng: np.where(rng.random(X.shape) < 0.1, np.nan, X),
    "one huge number": lambda X, rng: X + 1e300 * np.eye(*X.shape),
    "far from the origin": lambda X, rng: X + 1e8 * np.abs(X).max(initial=0),
}  # fmt: skip
TYPES = {
    "f4": lambda X: X.astype("f4"),
    "f2": lambda X: X.astype("f2"),
    "whole": lambda X: np.nan_to_num(np.clip(X, -1e6, 1e6)).round().astype("i4"),
    "objects": lambda X: X.astype(object),
    "bool": lambda X: X > 0,
    "frame": lambda X: pd.DataFrame(X).add_prefix("f"),
}
NAMES = {
    "numbers": np.arange,
    "words": lambda n: np.array([f"class {i}" for i in range(n)]),
    "numbers as words": lambda n: np.arange(n).astype(str),
    "dates": lambda n: np.datetime64("2020-01-01") + np.arange(n),
}


def models():
    """One of every public estimator, quick to run."""
    made = public_estimators() | {
        "SelfTraining": SelfTraining(JEDM(Reading(max_iter=3)))
    }
    for model in made.values():
        known = model.get_params(deep=False)
        model.set_params(**{k: SPEEDS[k] for k in SPEEDS if k in known})
    return list(made.values())


def one_of(rng, things):
    return list(things)[rng.integers(len(things))]


def chosen(model, rng):
    """Set some parameters, where the model takes that value."""
    for name, values in CHOICES.items():
        before = model.get_params(deep=False)
        if name not in before or rng.random() > 0.4:
            continue
        try:
            model.set_params(**{name: one_of(rng, values)})._validate_params()
        except ValueError:
            model.set_params(**{name: before[name]})
    return model


def odd(X, rng, share):
    with np.errstate(over="ignore"):
        return X if rng.random() > share else ODD[one_of(rng, ODD)](X, rng)


def case(seed, model):
    """Return rows, labels, table, other rows and the classes on offer."""
    rng = np.random.default_rng(seed)
    model = chosen(clone(model), rng)
    n_seen, n_unseen = rng.choice([1, 2, 3, 5, 8, 8]), rng.choice([0, 1, 2, 3, 5])
    p, q = rng.choice([1, 2, 3, 6, 20, 60], size=2)
    A, M = rng.normal(size=(n_seen + n_unseen, q)), rng.normal(size=(q, p))
    y = np.r_[np.arange(n_seen), rng.integers(n_seen, size=rng.integers(40))]
    m = int(rng.choice([0, 1, 2, 3, 10, 10, 40, 40])) * bool(n_unseen)
    others = rng.integers(n_seen, max(len(A), n_seen + 1), size=m)
    scale, as_type = one_of(rng, SCALES), rng.random() < 0.5 and one_of(rng, TYPES)
    X, U = (
        odd(scale * (A[of] @ M + 0.5 * rng.normal(size=(len(of), p))), rng, 0.4)
        for of in (y, others)
    )
    if as_type:
        with np.errstate(over="ignore"):
            X, U = TYPES[as_type](X), TYPES[as_type](U)
    names = NAMES[one_of(rng, NAMES)](len(A))
    table, labels = odd(A, rng, 0.2), y
    if rng.random() < 0.8:
        table, labels = pd.DataFrame(table, index=names), names[y]
    classes = one_of(rng, [None, None, None, "all", "seen", names.tolist()])
    return model, X, labels, table, U, classes


def attempt(model, X, y, table, U, classes):
    """Fit, ask, adapt and ask again; all is finite, all labels are classes."""
    if "class_embeddings" not in inspect.signature(model.fit).parameters:
        return finite(model.fit(X, y).transform(U))
    if len(table) % 3 == 0 and hasattr(model, "from_prototypes"):
        rows = np.resize(np.asarray(table, float), (len(table), np.shape(U)[1]))
        texts = pd.DataFrame(rows, getattr(table, "index", None))
        model = type(model).from_prototypes(texts, **model.get_params(deep=False))
    else:
        model.fit(X, y, class_embeddings=table)
        finite(model.decision_function(U, classes=classes))
        are_classes(model, model.predict(U, classes=classes))
    if not hasattr(model, "adapt"):
        return
    model.adapt(U, classes=classes)
    inner = getattr(model, "best_estimator_", model)
    finite(inner.reliability_)
    finite(model.decision_function(U))
    if hasattr(model, "predict_proba"):
        finite(model.predict_proba(U))
    assert len(inner.labels_) == np.shape(U)[0]
    are_classes(inner, inner.labels_)


def finite(values):
    assert np.isfinite(np.asarray(values, dtype=float)).all()


def are_classes(model, labels):
    inner = getattr(model, "best_estimator_", model)
    assert set(labels.tolist()) <= set(inner.classes_.tolist())


RAW = ("infs or NaNs", "could not broadcast", "not aligned", "interpret")


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_a_sample_of_random_cases_ends_well(first):
    made = models()
    for seed in range(first, first + 100):
        what = case(seed, made[seed % len(made)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            try:
                attempt(*what)
            except LinAlgError as error:  # it is a ValueError, too
                raise AssertionError(f"case {seed}") from error
            except (ValueError, MemoryError) as error:
                said = str(error)
                assert len(said) > 15 and not any(raw in said for raw in RAW), seed


@pytest.mark.parametrize("whole", [1e160, 1e300])
@pytest.mark.parametrize("model", [WithinClassWhitener(), SumsPCA(), ESZSL()])
def test_numbers_whose_products_leave_the_range_are_told(model, whole):
    rng = np.random.default_rng(0)
    X, y = whole * rng.normal(size=(20, 3)), np.repeat([0, 1], 10)
    if isinstance(model, ESZSL):
        model = ESZSL(unit_rows=False)
    with pytest.raises(ValueError, match="so large that their products leave"):
        model.fit(X, y)


def test_labels_of_two_kinds_are_refused_by_name():
    X = np.arange(8.0).reshape(4, 2)
    y = np.array(["zebra", 7, "zebra", 7], dtype=object)
    for model in (ESZSL(), WithinClassWhitener()):
        with pytest.raises(ValueError, match="y holds 'zebra', a text, and 7"):
            model.fit(X, y)
