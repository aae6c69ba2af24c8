"""Checks of our own that every zero-shot estimator must meet."""

import inspect
import os
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import unseen
from unseen.data import ZeroShotData

# Processors round differently, so the last digits of a result are nobody's promise.
DIGITS = {2: 2, 4: 4, 8: 10}  # that can be asked of floats, by their bytes


def close(ours, theirs, digits: int = 7, within: float | None = None) -> None:
    """Ask for so many digits of the largest number of ``theirs``, in every place.

    Scores cross zero: a number that is small only because others cancelled in it has
    few digits of its own. ``within`` is a distance instead, where the unit is known.
    """
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert theirs.ndim == 0 or ours.shape == theirs.shape, (ours.shape, theirs.shape)
    floats = [a.dtype.itemsize for a in (ours, theirs) if a.dtype.kind == "f"]
    digits = min([digits, *(DIGITS[min(size, 8)] for size in floats)])
    ours, theirs = np.broadcast_arrays(ours.astype(float), theirs.astype(float))
    finite = np.isfinite(theirs)
    np.testing.assert_array_equal(ours[~finite], theirs[~finite])
    off = np.abs(ours[finite] - theirs[finite])
    largest = np.abs(theirs[finite]).max(initial=0) or 1.0
    allowed = 10.0**-digits * largest if within is None else within
    if not np.all(off <= allowed):  # NaN is not
        worst = np.flatnonzero(finite)[np.argmax(off)]
        place = tuple(int(i) for i in np.unravel_index(worst, ours.shape))
        raise AssertionError(
            f"{ours[place]!r} at {place}, not {theirs[place]!r}: off by {off.max():.2g}"
            f" of {allowed:.2g}, as {np.sum(~(off <= allowed))} of {ours.size} are"
        )


def never_rises(values, digits: int = 8) -> None:
    """Ask that an objective falls or stays, to so many digits of the largest."""
    values = np.asarray(values)
    rise = np.diff(values).max(initial=0)
    allowed = 10.0**-digits * np.abs(values).max()
    assert rise <= allowed, f"rises by {rise:.2g}, {allowed:.2g} is rounding"


def nudged(X):
    """Move numbers by one unit in the last place where UNSEEN_TEST_ULP is set.

    Whatever rests on the last bit of a made-up row then shows itself on any machine.
    """
    if not os.environ.get("UNSEEN_TEST_ULP"):
        return X
    X = np.asarray(X)
    up = np.random.Generator(np.random.PCG64(0)).random(X.shape) < 0.5
    return np.nextafter(X, np.where(up, np.inf, -np.inf).astype(X.dtype))


class NudgedGenerator(np.random.Generator):
    """What tests draw their rows from where UNSEEN_TEST_ULP is set."""

    def normal(self, *args, **kwargs):
        return nudged(super().normal(*args, **kwargs))

    def standard_normal(self, *args, **kwargs):
        return nudged(super().standard_normal(*args, **kwargs))

    def uniform(self, *args, **kwargs):
        return nudged(super().uniform(*args, **kwargs))


def invoke(*words):
    """Run a command of unseen in this process."""
    from typer.testing import CliRunner

    from unseen.cli import app

    return CliRunner().invoke(app, [str(word) for word in words])


def make_data(seed: int = 0, dtype=np.float64) -> ZeroShotData:
    """Twelve classes, nine seen; rows scatter around a map of the embeddings."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    names = np.array([f"class {i:02d}" for i in range(12)])
    A = rng.uniform(size=(12, 7))
    y = rng.permutation(np.repeat(np.arange(12), 14))
    X = (A @ rng.normal(size=(7, 16)))[y] + 0.5 * rng.normal(size=(len(y), 16)) + 1
    return ZeroShotData(
        name="made up",
        X=nudged(X.astype(dtype)),
        y=names[y],
        class_embeddings=pd.DataFrame(A, index=names),
        unseen=names[9:],
    )


def public_estimators() -> dict[str, Any]:
    """Make one of every public estimator, small where the default takes long."""
    small: dict[str, dict[str, Any]] = {
        "Calibrated": {"estimator": unseen.AnchoredSelfTraining(), "cv": 3},
        "ClasswiseSearchCV": {
            "estimator": unseen.ESZSL(),
            "param_grid": {"gamma": [0.1, 1.0]},
            "n_folds": 3,
        },
        "EMDirichlet": {"n_rounds": 4, "n_steps": 60},
        "JEDM": {"n_components": 8},
        "JLSE": {"n_atoms": 5, "n_turns": 2},
        "SelfTraining": {"estimator": unseen.ESZSL()},
        "SynC": {"lam": 1e-3},
        "TSTD": {"n_components": 8},
    }
    named = {name: getattr(unseen, name) for name in unseen.__all__}
    return {
        name: kind(**small.get(name, {}))
        for name, kind in named.items()
        if inspect.isclass(kind) and issubclass(kind, BaseEstimator)
    }


def refitted(model, X, codes, n_classes, *, lam, mu):
    """Refit a fitted model to rows X under labels, -1 for none.

    Returns the rows and codes of classes as it met them, the state, the objective.
    """
    view = model._view(model._unlabelled(X), model._default)
    sums = view.B.sums(codes, n_classes)
    state, value = model._refit(model._state(), view.A, sums, lam, mu)
    return np.asarray(view.B), view.A, state, value


def fitted(model, data: ZeroShotData):
    """Fit a model on the rows of seen classes, all classes on the table."""
    return model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)


def unit(M):
    """Return the rows at unit length."""
    return M / np.linalg.norm(M, axis=1, keepdims=True)


def start_from(model, X):
    """Return unlabelled rows as a fitted model sees them."""
    return model._lend(model._unlabelled(X), model._candidates(None))


def scrambled(data: ZeroShotData) -> ZeroShotData:
    """The same data with the labels of unseen rows dealt anew."""
    y = data.y.copy()
    rows = np.isin(y, data.unseen)
    y[rows] = np.random.default_rng(7).permutation(y[rows])
    return replace(data, y=y)


def run_protocol(model, data: ZeroShotData):
    """Fit on the seen, adapt on the pile; return everything that could leak."""
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    inductive = model.predict(data.X_unseen)
    if not hasattr(model, "adapt"):
        return [inductive]
    model.adapt(data.X_unseen)
    inner = getattr(model, "best_estimator_", model)
    chosen = [str(getattr(model, "best_params_", ""))]
    return [inductive, inner.labels_, inner.reliability_, chosen]


def quick_plan(*methods, data="pets", classes="attributes"):
    """Return a plan of one column, as its file says it."""
    head = 'title = "Quick"\ncaption = "C"\ntask = "accuracy"\nshow = "table"\n'
    head += f'[[column]]\nhead = "own"\ndata = "{data}"\nclasses = "{classes}"\n'
    return head + "".join(f'[[row]]\nmethod = "{name}"\n' for name in methods)
