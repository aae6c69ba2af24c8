"""Random cases for every public estimator: odd shapes, types, scales and labels.

A case is made from its seed alone. It ends well if everything that is returned is
finite and labels are classes that compete, or if it is refused by a ValueError in a
plain sentence. Anything else, a raw error of numpy above all, is a finding.
"""

import inspect
import warnings

import numpy as np
import pandas as pd
from numpy.linalg import LinAlgError
from sklearn.base import BaseEstimator, clone

import unseen
from unseen import ESZSL, JEDM, Reading

SPEEDS = {  # as little work as shows an error
    "max_iter": 5,
    "max_rounds": 3,
    "n_rounds": 3,
    "n_iter_no_change": 2,
    "cv": 2,
}


def estimators():
    """One of every public estimator, quick to run."""
    made = []
    for name in unseen.__all__:
        kind = getattr(unseen, name)
        if not (inspect.isclass(kind) and issubclass(kind, BaseEstimator)):
            continue
        if name == "ClasswiseSearchCV":
            made.append(kind(ESZSL(), {"gamma": [0.1, 1.0]}, n_folds=2))
            continue
        inner = {"SelfTraining": [JEDM(Reading(max_iter=3))], "Calibrated": [ESZSL()]}
        model = kind(*inner.get(name, []))
        known = model.get_params(deep=False)
        made.append(model.set_params(**{k: SPEEDS[k] for k in SPEEDS if k in known}))
    return made


MODELS = estimators()
CHOICES = {  # parameters that open other ways through the code
    "whitening": [None, 0.1, 1e-9],
    "unit_rows": [True, False],
    "n_axes": [1, 3, 500, "all", None],
    "per_domain_centering": [True, False],
    "transduction": ["self_training", "structured", None],
    "drop_absent": [True, False],
    "plain": [0.0, 0.5, 1.0],
    "class_prior": [None, "uniform"],
    "loss": ["one_vs_other", "structured", "squared"],
    "metric": ["euclidean", "cosine"],
    "direction": ["to_visual", "to_semantic"],
    "reading": ["reference", "paper", "stacked", "joint"],
    "labels": ["soft", "hard"],
    "n_maps": [1, 2],
    "n_neighbors": [0, 2, 5, 40],
    "n_components": [1, 2, None],
    "space": ["scores", "rows"],
    "sparsity": [0.0, 0.1],
}


def one_of(rng, things):
    return things[rng.integers(len(things))]


def choose(model, name, value):
    """Set a parameter, if the model takes that value; others are refused elsewhere."""
    before = model.get_params(deep=False)[name]
    try:
        model.set_params(**{name: value})._validate_params()
    except ValueError:
        model.set_params(**{name: before})


def describe(seed):
    """Return the model and the data of a case."""
    rng = np.random.default_rng(seed)
    model = clone(MODELS[seed % len(MODELS)])
    for name, values in CHOICES.items():
        if name in model.get_params(deep=False) and rng.random() < 0.4:
            choose(model, name, one_of(rng, values))
    n_seen = int(rng.choice([1, 2, 2, 3, 3, 5, 8]))
    n_unseen = int(rng.choice([0, 1, 1, 2, 3, 5]))
    p, q = (int(rng.choice([1, 1, 2, 3, 6, 20, 60])) for _ in range(2))
    N = n_seen + n_unseen
    A = rng.normal(size=(N, q))
    y = np.concatenate([np.arange(n_seen), rng.integers(n_seen, size=rng.integers(40))])
    m = int(rng.choice([0, 1, 2, 3, 10, 40]))
    pile = rng.integers(n_seen, N, size=m) if n_unseen else np.zeros(m, dtype=int)
    M = rng.normal(size=(q, p))
    X, U = ((A @ M)[of] + 0.5 * rng.normal(size=(len(of), p)) for of in (y, pile))
    return model, rng, A, X, y, U


def spoil_rows(rng, X, kind, scale):
    """Return rows with something odd about them."""
    X = X * scale
    if kind == "constant features" and X.shape[1] > 1:
        X[:, : X.shape[1] // 2] = scale
    elif kind == "equal rows":
        X[:] = X[:1] if len(X) else X
    elif kind == "zero rows":
        X[::2] = 0
    elif kind == "all zero":
        X[:] = 0
    elif kind == "duplicates" and len(X):
        X = X[rng.integers(len(X), size=len(X))]
    elif kind == "infinite" and X.size:
        X.flat[rng.integers(X.size)] = rng.choice([np.inf, -np.inf, np.nan])
    elif kind == "one huge number" and X.size:
        X.flat[rng.integers(X.size)] = 1e300
    elif kind == "far from the origin":
        X = X + 1e8 * scale
    return X


ODDITIES = [
    *["none"] * 6,
    "constant features",
    "equal rows",
    "zero rows",
    "all zero",
    "duplicates",
    "infinite",
    "one huge number",
    "far from the origin",
]
SCALES = [1.0] * 8 + [1e-300, 1e-150, 1e-30, 1e-8, 1e8, 1e30, 1e150, 1e300]
TYPES = ["f8"] * 6 + ["f4", "f4", "f2", "i8", "i4", "O", "masked", "bool", "frame"]
NAMES = ["numbers", "words", "words", "mixed", "numbers as words", "dates", "floats"]


def as_type(X, kind):
    if kind == "frame":
        return pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    if kind == "masked":
        middle = np.sort(X, axis=None)[X.size // 2] if X.size else 0
        return np.ma.masked_array(X, mask=middle < X)
    if kind in ("i8", "i4", "bool"):
        X = np.nan_to_num(np.clip(X, -1e6, 1e6))
        return (X > 0) if kind == "bool" else X.round().astype(kind)
    with np.errstate(over="ignore"):
        return X.astype(object if kind == "O" else kind)


def class_names(n, kind):
    if kind == "mixed":
        return np.array([i if i % 2 else f"class {i}" for i in range(n)], dtype=object)
    if kind == "dates":
        return np.datetime64("2020-01-01") + np.arange(n)
    if kind == "floats":
        return np.arange(n) + 0.5
    words = np.array([f"class {i}" if kind == "words" else str(i) for i in range(n)])
    return np.arange(n) if kind == "numbers" else words


def made(seed):
    """Return what a case is called, and what is attempted in it."""
    model, rng, A, X, y, U = describe(seed)
    scale, oddity = one_of(rng, SCALES), one_of(rng, ODDITIES)
    kind, naming = one_of(rng, TYPES), one_of(rng, NAMES)
    X, U = (spoil_rows(rng, Z, oddity, scale) for Z in (X, U))
    if rng.random() < 0.3:  # the pile is as ordinary as can be, or from elsewhere
        U = rng.normal(size=U.shape)
    if rng.random() < 0.2 and len(A) > 1:
        A = spoil_rows(rng, A, one_of(rng, ODDITIES), 1.0)
    names = class_names(len(A), naming)
    X, U = as_type(X, kind), as_type(U, kind)
    table = pd.DataFrame(A, index=names) if rng.random() < 0.8 else A
    labels = names[y] if isinstance(table, pd.DataFrame) else y
    classes = one_of(rng, [None, None, None, "all", "seen", names.tolist()])
    how = "prototypes" if rng.random() < 0.3 else "fit"
    what = f"case {seed}: {model}, {kind} x {scale:g}, {oddity}, {naming}, {how}: "
    return what, model, how, X, labels, table, U, classes


def run(seed):
    """Run one case; return what is wrong with it, '' for nothing."""
    what, *case = made(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            trouble = attempt(*case)
        except LinAlgError as error:
            return what + repr(error)
        except (ValueError, MemoryError) as error:
            trouble = unclear(str(error))
        except Exception as error:
            import traceback

            where = traceback.extract_tb(error.__traceback__)
            own = [f for f in where if "/unseen/" in f.filename][-1]
            return what + f"{error!r:.200} at {own.filename[-40:]}:{own.lineno}"
    return what + trouble if trouble else ""


def unclear(message):
    """Say what is wrong with a message, if anything."""
    if len(message) < 15 or "array must not contain infs or NaNs" in message:
        return f"refused by {message!r}"
    if any(
        raw in message for raw in ("could not broadcast", "not aligned", "interpret")
    ):
        return f"refused by {message!r}"
    return ""


def attempt(model, how, X, y, table, U, classes):
    """Fit, ask, adapt and ask again; return what is wrong, if anything."""
    if how == "prototypes" and hasattr(model, "from_prototypes"):
        parameters = model.get_params(deep=False)
        rows = np.resize(np.asarray(table, float), (len(table), np.shape(U)[1]))
        index = table.index if isinstance(table, pd.DataFrame) else None
        texts = rows if index is None else pd.DataFrame(rows, index=index)
        model = type(model).from_prototypes(texts, **parameters)
        return after_adapt(model, U, classes)
    if "class_embeddings" not in inspect.signature(model.fit).parameters:
        model.fit(X, y)
        return not_finite(model.transform(U))
    model.fit(X, y, class_embeddings=table)
    trouble = not_finite(model.decision_function(U, classes=classes))
    trouble = trouble or stranger(model, model.predict(U, classes=classes))
    if trouble or not hasattr(model, "adapt"):
        return trouble
    return after_adapt(model, U, classes)


def after_adapt(model, U, classes):
    model.adapt(U, classes=classes)
    inner = getattr(model, "best_estimator_", model)
    found = not_finite(inner.reliability_) or not_finite(model.decision_function(U))
    if hasattr(model, "predict_proba"):
        found = found or not_finite(model.predict_proba(U))
    if len(inner.labels_) != np.shape(U)[0]:
        return f"{len(inner.labels_)} labels"
    return found or stranger(model, inner.labels_)


def not_finite(values):
    return "" if np.isfinite(np.asarray(values, dtype=float)).all() else "not finite"


def stranger(model, labels):
    known = set(getattr(model, "best_estimator_", model).classes_.tolist())
    return "" if set(labels.tolist()) <= known else f"labels {set(labels.tolist())}"
