"""What estimators may be given: parameters, rows and labels.

The only module that asks scikit-learn's private validation; all others ask here.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods as HasMethods
from sklearn.utils._param_validation import Interval as Interval
from sklearn.utils._param_validation import StrOptions as StrOptions
from sklearn.utils._param_validation import (
    validate_parameter_constraints as validate_parameter_constraints,
)
from sklearn.utils.validation import check_array, check_X_y, validate_data

fit_context = _fit_context
DTYPES = [np.float64, np.float32]
POSITIVE = [Interval(Real, 0, None, closed="neither")]
AT_LEAST_0 = [Interval(Real, 0, None, closed="left")]
COUNT = [Interval(Integral, 1, None, closed="left")]
COUNT_OR_0 = [Interval(Integral, 0, None, closed="left")]
TWO_OR_MORE = [Interval(Integral, 2, None, closed="left")]


def share(closed: str = "both") -> list[Interval]:
    """Return what bounds a number by 0 and 1; ``closed`` says which ends belong."""
    return [Interval(Real, 0, 1, closed=closed)]


def check_rows(model: Any, X: Any, **options: Any) -> np.ndarray:
    """Return rows as an array, as ``validate_data`` would."""
    with np.errstate(all="ignore"):  # what is not finite is an error, not a warning
        return validate_data(model, X, dtype=DTYPES, **options)


def check_rows_and_labels(X: Any, y: Any, model: Any = None, **options: Any) -> tuple:
    """Return rows and labels as arrays; refuse labels of two kinds.

    With a model, its features are noted or compared, as ``validate_data`` does.
    """
    refuse_mixed(y, "y")
    with np.errstate(all="ignore"):
        if model is None:
            return check_X_y(X, y, dtype=DTYPES, **options)
        return validate_data(model, X, y, dtype=DTYPES, **options)


def not_finite(X: np.ndarray) -> ValueError:
    """Return the error for rows whose products are not finite; say why they are not."""
    try:
        with np.errstate(all="ignore"):
            check_array(X, dtype=DTYPES, input_name="X")
    except ValueError as error:
        return error
    return ValueError(
        "X holds numbers so large that their products leave the range of "
        f"{X.dtype}. Scale X, or give float64."
    )


def refuse_mixed(names: Any, what: str) -> None:
    """Raise if some names are texts and others are not: they have no order."""
    if getattr(getattr(names, "dtype", None), "kind", "O") != "O":
        return
    names = np.asarray(names, dtype=object)
    if names.ndim != 1:
        return
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        text, other = names[texts.index(True)], names[texts.index(False)]
        raise ValueError(
            f"{what} holds {text!r}, a text, and {other!r}, which is none. Name all "
            "classes alike."
        )
