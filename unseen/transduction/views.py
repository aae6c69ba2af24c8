"""Several views of the same rows: features of two encoders, say, side by side.

    x_v  (d_v,)   a row in view v, of k views
    joined row    [unit(x_1), ..., unit(x_k)] / √k,   so that

cosines of joined rows are the mean of the views' cosines, and a joined row is one row
to every estimator. Only :class:`GuidedMixture` takes them apart again, and measures
what each view is worth (guided_views.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from unseen.core.linalg import to_unit

__all__ = ["described_views", "join_views", "joined_as"]


def join_views(views: Mapping[str, Any]) -> np.ndarray:
    """Join several views of the same rows into one row each.

    Every view counts the same: its rows get unit length first.

    Parameters
    ----------
    views : mapping of names to arrays of shape (n_samples, n_features of the view)
        Row i is the same photo, text or thing in every view.

    Returns
    -------
    ndarray of shape (n_samples, sum of all n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import join_views
    >>> join_views({"shape": np.array([[3.0, 4.0]]), "colour": np.array([[2.0]])})
    array([[0.42426407, 0.56568542, 0.70710678]])
    """
    if not isinstance(views, Mapping) or not views:
        raise TypeError(
            f"Views were given as {type(views).__name__}, or there is none. Give a "
            "mapping from the name of each view to its rows."
        )
    blocks = {name: np.asarray(block) for name, block in views.items()}
    first, n = next((name, len(block)) for name, block in blocks.items())
    for name, block in blocks.items():
        if block.ndim != 2:
            raise ValueError(
                f"View {name!r} has shape {block.shape}. Give one row per sample and "
                "one column per feature."
            )
        if len(block) != n:
            raise ValueError(
                f"View {name!r} has {len(block)} rows, but view {first!r} has {n}. "
                "Views hold the same rows in the same order."
            )
    units = [to_unit(as_floats(block)) for block in blocks.values()]
    return np.hstack(units) / len(units) ** 0.5


def as_floats(block: np.ndarray) -> np.ndarray:
    """Return numbers as float32 if they are, else as float64."""
    return block if block.dtype == np.float32 else block.astype(np.float64)


def described_views(prototypes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prototypes of every view: of zeros where there is only a width.

    >>> import numpy as np
    >>> from unseen.transduction.views import described_views
    >>> described_views({"a": np.ones((2, 3)), "b": 1})["b"]
    array([[0.],
           [0.]])
    """
    tables = {k: t for k, t in prototypes.items() if not isinstance(t, Integral)}
    if not tables:
        raise ValueError(
            f"None of the {len(prototypes)} views has prototypes. Give one row per "
            "class for at least one view, and the number of features for the others."
        )
    one = next(iter(tables.values()))
    filled = {}
    for name, table in prototypes.items():
        if name in tables:
            filled[name] = table
        elif isinstance(one, pd.DataFrame):
            filled[name] = pd.DataFrame(np.zeros((len(one), table)), index=one.index)
        else:
            filled[name] = np.zeros((len(one), table))
    return filled


def joined_as(X: Any, views: list[str] | None) -> Any:
    """Return one row for all views of a row, in this order; other rows as they are."""
    if not isinstance(X, Mapping):
        return X
    named = {str(name): rows for name, rows in X.items()}
    if views is None or set(named) != set(views):
        expected = "none" if views is None else ", ".join(views)
        raise ValueError(
            f"X has the views {', '.join(named)}, but prototypes were given for "
            f"{expected}. Give rows and prototypes of the same views."
        )
    return join_views({name: named[name] for name in views})
