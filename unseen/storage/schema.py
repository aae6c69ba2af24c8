"""Whether a state is what its class would have: known keys, types and shapes.

Types are written as Python would write them:

    bool int float str none      plain values; a float may be a whole number
    size[p]                      an int, and the length of every axis called p
    float[p, 3]                  an array of that kind with these axes
    int[n] bool[n] names[n]      likewise; names are texts, numbers or flags
    number[n]                    floats or whole numbers
    list[Round] tuple[A, B]      a list of any length, a tuple of just these
    map[float]                   a dictionary with texts for keys
    Sums                         a class of the table
    estimator                    any estimator of the table
    frame function random dtype  a table of pandas, a metric, a generator, a dtype
    plain                        plain values, arrays, and containers of them
    any                          whatever a file can hold
    A | B                        either
    absent                       the key may be missing in a fitted model; all others
                                 are there together, or the model is not fitted

An axis has one length wherever its letter stands within one object; ``_`` has any.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import numbers
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from unseen.storage.state import FROM_SKLEARN, ROOMS, SHARED, STATE

Sizes = dict[str, int]
NAMED_ONCE = (
    *("names", "classes_", "unseen_classes_", "competing_classes_"),
    *("feature_names_in_", "_seen_names"),
)
PER_ROW = ("reliability_", "novelty_")  # NaN for a text that says nothing


def check_state(kind: type, state: dict[str, Any]) -> None:
    """Raise unless a state is one that ``kind`` would have.

    Parameters
    ----------
    kind : type
        A class of :func:`classes`.
    state : dict
        Its parameters and fitted values, or the fields of a dataclass.

    Examples
    --------
    >>> from unseen import ESZSL
    >>> from unseen.storage.schema import check_state
    >>> state = vars(ESZSL(gamma=2.0))
    >>> check_state(ESZSL, state)
    >>> check_state(ESZSL, state | {"predict": "anything"})
    Traceback (most recent call last):
    ValueError: ESZSL.predict is unknown
    """
    name, written = kind.__name__, state_of(kind)
    own = parameters(kind)
    unknown = [key for key in state if key not in written and key not in own]
    if unknown:
        raise ValueError(f"{name}.{unknown[0]} is unknown")
    needed = set(own)
    fitted = {key for key, text in written.items() if "absent" not in text}
    if fitted & set(state) - needed or not issubclass(kind, BaseEstimator):
        needed |= fitted
    missing = sorted(needed - set(state))
    if missing:
        raise ValueError(f"{name}.{missing[0]} is missing")
    sizes: Sizes = {}
    for key, text in written.items():
        if key in state and not fits(parsed(text), state[key], sizes):
            raise ValueError(f"{name}.{key} is {message(state[key])}, not {text}")
        if key in state:
            check_content(f"{name}.{key}", key, state[key])


def check_content(where: str, key: str, value: Any) -> None:
    """Raise where an array holds what no fit leaves: a class twice, or no number."""
    if not isinstance(value, np.ndarray):
        return
    if key in NAMED_ONCE and len(pd.unique(pd.Series(value.tolist()))) < len(value):
        raise ValueError(f"{where} names something twice")
    if value.dtype.kind == "f" and key not in PER_ROW and not np.isfinite(value).all():
        raise ValueError(f"{where} holds NaN or infinity")


def fits(wanted: ast.expr, value: Any, sizes: Sizes) -> bool:
    """Answer whether a value has a type; ``sizes`` learns the lengths of axes."""
    match wanted:
        case ast.BinOp(left=left, right=right):
            return fits(left, value, sizes) or fits(right, value, sizes)
        case ast.Name(id=name):
            return PLAIN[name](value) if name in PLAIN else is_a(name, value)
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            return fits_inside(name, inner, value, sizes)
    raise ValueError(f"{ast.unparse(wanted)} is no type")  # a slip in the table


def fits_inside(name: str, inner: ast.expr, value: Any, sizes: Sizes) -> bool:
    """Answer for a type with something in brackets."""
    parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
    if name == "list":
        return type(value) is list and all(fits(inner, v, sizes) for v in value)
    if name == "tuple":
        return (
            type(value) is tuple
            and len(value) == len(parts)
            and all(fits(*pair, sizes) for pair in zip(parts, value, strict=True))
        )
    if name == "map":
        return type(value) is dict and all(
            type(key) is str and fits(inner, v, sizes) for key, v in value.items()
        )
    if name == "size":
        return PLAIN["int"](value) and fits_axes(parts, (int(value),), sizes)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in ARRAYS[name]:
        return False
    return fits_axes(parts, value.shape, sizes)


def fits_axes(parts: list[ast.expr], shape: tuple[int, ...], sizes: Sizes) -> bool:
    """Answer whether a shape fits, and note the axes that are new."""
    if len(parts) != len(shape):
        return False
    found: Sizes = {}
    for part, length in zip(parts, shape, strict=True):
        if isinstance(part, ast.Constant):
            known = part.value
        else:
            axis = ast.unparse(part)
            known = (sizes | found).get(axis, length)
            if axis != "_":
                found[axis] = length
        if known != length:
            return False
    sizes.update(found)
    return True


ARRAYS = {
    "float": "f",
    "int": "iu",
    "bool": "b",
    "number": "fiu",
    "names": "USOiufb",
}


def is_plain(value: Any) -> bool:
    """Answer whether a value is made of plain values and arrays alone."""
    if isinstance(value, dict):
        return all(is_plain(part) for pair in value.items() for part in pair)
    if type(value) in (list, tuple, set, frozenset):
        return all(map(is_plain, value))
    known = (type(None), str, bool, numbers.Real, np.generic, np.ndarray)
    return isinstance(value, known)


PLAIN: dict[str, Callable[[Any], bool]] = {
    "absent": lambda value: False,
    "none": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "int": lambda v: isinstance(v, numbers.Integral) and not isinstance(v, bool),
    "float": lambda v: isinstance(v, numbers.Real) and not isinstance(v, bool),
    "str": lambda value: isinstance(value, str),
    "frame": lambda value: type(value) is pd.DataFrame,
    "dtype": lambda value: isinstance(value, np.dtype),
    "random": lambda value: type(value) is np.random.RandomState,
    "function": callable,  # files name only metrics; see values.py
    "estimator": lambda value: isinstance(value, BaseEstimator),
    "plain": is_plain,
    "any": lambda value: True,
}


def is_a(name: str, value: Any) -> bool:
    """Answer whether a value is of a class of the table, by name."""
    return type(value) is classes()[name]


def message(value: Any) -> str:
    """Say what a value is, in short."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return f"a {type(value).__name__}"


@cache
def parsed(text: str) -> ast.expr:
    """Return a written type as a tree."""
    return ast.parse(text, mode="eval").body


@cache
def parameters(kind: Any) -> tuple[str, ...]:
    """Return the parameters of an estimator; a dataclass has none."""
    if not issubclass(kind, BaseEstimator):
        return ()
    return tuple(kind._get_param_names())


@cache
def state_of(kind: type) -> dict[str, str]:
    """Return what is written of a class, its bases' lines first."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        found |= SHARED.get(base.__name__, {}) | STATE.get(base.__name__, {})
    return found


@cache
def classes() -> dict[str, type]:
    """Return the classes that a file may name; never one from anywhere else."""
    found: dict[str, type] = {}
    for module in modules():
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if name in STATE and kind.__module__ == module.__name__:
                if not is_storable(kind) or name in found:
                    raise TypeError(f"{name} is no estimator or stands in two rooms")
                found[name] = kind
    for path, wanted in FROM_SKLEARN.items():
        module = importlib.import_module(path)
        found |= {name: getattr(module, name) for name in wanted}
    return found


def is_storable(kind: type) -> bool:
    """Answer whether a class is an estimator, a dataclass or a named tuple."""
    return (
        issubclass(kind, BaseEstimator)
        or dataclasses.is_dataclass(kind)
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )


def modules() -> list[Any]:
    """Import the rooms, folders with all their files."""
    found = []
    for path in ROOMS:
        room = importlib.import_module(path)
        found.append(room)
        for info in pkgutil.iter_modules(getattr(room, "__path__", [])):
            found.append(importlib.import_module(f"{path}.{info.name}"))
    return found
