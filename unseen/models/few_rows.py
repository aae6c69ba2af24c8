"""Few rows, many calls: the linear rule of a model is made once, and kept.

A service asks for one row at a time. Then the product with the coefficients takes a few
microseconds, and all else, making the rule and general validation, hundreds. A rule is
kept beside its model, never in it, so that files, copies and pickles hold none, and
only as long as every attribute is the very object that it was made from: ``fit``,
``adapt`` and ``set_params`` replace attributes. A change inside an array is not
noticed; larger piles of rows do not come here.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from unseen.models.scoring import LinearRule, LinearScorer

FEW = 64  # rows: with more, what is saved is small beside the product
KEPT_ELEMENTS = 2**20  # numbers of a rule that is kept
PRECISIONS = (np.dtype(np.float32), np.dtype(np.float64))


class _Kept(NamedTuple):
    """A rule in the precision of rows, and the attributes it was made from."""

    rule: LinearRule
    state: list


_KEPT: WeakKeyDictionary[Any, dict[np.dtype, _Kept]] = WeakKeyDictionary()


def is_few(model: Any, X: Any) -> bool:
    """Tell whether X needs no check but this one: a few plain rows as fitted.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from unseen.models.few_rows import is_few
    >>> is_few(SimpleNamespace(n_features_in_=3), np.eye(3))
    True
    >>> is_few(SimpleNamespace(n_features_in_=4), np.eye(3))
    False
    """
    return (
        type(X) is np.ndarray  # neither masked, nor a map of a file, nor a matrix
        and X.ndim == 2
        and 0 < len(X) <= FEW
        and X.dtype in PRECISIONS
        and X.shape[1] == getattr(model, "n_features_in_", None)
        and not hasattr(model, "feature_names_in_")  # rows without names are warned of
    )


def kept_rule(
    model: Any, dtype: np.dtype, make: Callable[[], LinearRule]
) -> LinearRule:
    """Return the rule that ``make`` gives, in a precision; made once per state."""
    state = list(vars(model).values())
    kept = _KEPT.get(model, {}).get(dtype)
    if kept is not None and len(kept.state) == len(state):
        if all(map(is_, kept.state, state)):
            return kept.rule
    competition, (coef, intercept), unit_rows = make()
    coef = np.ascontiguousarray(coef, dtype=dtype)
    rule = LinearRule(
        competition, LinearScorer(coef, intercept.astype(dtype)), unit_rows
    )
    if coef.size <= KEPT_ELEMENTS:
        _KEPT.setdefault(model, {})[dtype] = _Kept(rule, state)
    return rule
