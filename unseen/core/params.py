"""What estimators may be given: parameters, rows and labels.

A parameter is bounded by its annotation: ``gamma: Positive = 1.0``. The only module
that asks scikit-learn's private validation; all others ask here.
"""

from collections.abc import Sequence
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

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


def _between(low: float, high: float | None, closed: str) -> Interval:
    return Interval(Real, low, high, closed=closed)


def _at_least(low: int) -> Interval:
    return Interval(Integral, low, None, closed="left")


Positive = Annotated[float, _between(0, None, "neither")]
AtLeast0 = Annotated[float, _between(0, None, "left")]
Share = Annotated[float, _between(0, 1, "both")]
ShareBelow1 = Annotated[float, _between(0, 1, "left")]
ShareAbove0 = Annotated[float, _between(0, 1, "right")]
ShareInside = Annotated[float, _between(0, 1, "neither")]
Count = Annotated[int, _at_least(1)]
CountOr0 = Annotated[int, _at_least(0)]
TwoOrMore = Annotated[int, _at_least(2)]
Axes = Count | Literal["all"]
Coding = Literal["one_hot", "signed"]
Rounding = Literal["floor", "nearest", "at_least_one"]
Numbers = Annotated[Sequence[float], "array-like"]
Seed = Annotated[Any, "random_state"]
Model = Annotated[Any, HasMethods(["fit", "predict"])]


def bounds_of(kind: type) -> dict[str, list]:
    """Return scikit-learn's constraints of the parameters, by their annotations."""
    hints = get_type_hints(kind, include_extras=True)
    found = {name: bounds(hint) for name, hint in hints.items()}
    return {name: some for name, some in found.items() if some}


def bounds(hint: Any) -> list:
    """Return what an annotation allows; nothing where it is a plain type."""
    if hint is bool:
        return ["boolean"]
    if hint is NoneType:
        return [None]
    kind, parts = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return list(hint.__metadata__)
    if kind is Literal:
        return [StrOptions(set(parts))]
    each = [bounds(part) for part in parts] if kind in (Union, UnionType) else []
    return [one for some in each for one in some] if all(each) else []


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
