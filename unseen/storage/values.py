"""Values to JSON and tensors, and back.

The JSON holds plain values as they are and tags the others with ``"$"``. Objects are
built from a class of ``state.py`` and a state that ``schema.py`` has checked, in both
directions: what is saved can be loaded, and nothing else is built.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from unseen.storage.schema import check_state, classes
from unseen.storage.state import VERSIONS

LARGEST = 1_000_000  # a whole number as a parameter
DTYPES = "<f8 <f4 <f2 <i8 <i4 <i2 |i1 <u8 <u4 <u2 |u1 |b1".split()


class Writer:
    """Turns an estimator into JSON, and its arrays into tensors."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, tuple[str, Any]] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Return what JSON can hold of a value; ``where`` it stands is for errors."""
        if value is None or isinstance(value, bool | str):
            return str(value) if isinstance(value, np.str_) else value
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            finite = math.isfinite(value)
            return value if finite else {"$": "float", "value": repr(value)}
        if isinstance(value, BaseEstimator):
            return self._named(checked(value), vars(value), where)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._named(value, _fields(value), where)
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return self._named(value, value._asdict(), where)
        return self._container(value, where)

    def _container(self, value: Any, where: str) -> Any:
        if isinstance(value, list):
            return [self.encode(v, f"{where}[{i}]") for i, v in enumerate(value)]
        if isinstance(value, tuple | set | frozenset):
            kind = type(value).__name__
            items = value if kind == "tuple" else sorted(value, key=repr)
            return {"$": kind, "items": self.encode(list(items), where)}
        if isinstance(value, dict):
            pairs = [[k, v] for k, v in value.items()]
            return {"$": "dict", "items": self.encode(pairs, where)}
        if isinstance(value, pd.DataFrame):
            return {"$": "frame", **self._frame(value, where)}
        if isinstance(value, np.dtype):
            return {"$": "dtype", "name": value.str}
        if isinstance(value, np.random.RandomState):
            state = value.get_state(legacy=False)
            return {"$": "RandomState", "state": self.encode(state, where)}
        for name, function in _functions().items():
            if value is function:
                return {"$": "function", "name": name}
        raise TypeError(
            f"{where} is a {type(value).__name__}, which cannot be stored without "
            "running code when it is read. Set it to plain values, arrays or models."
        )

    def _frame(self, frame: pd.DataFrame, where: str) -> dict[str, Any]:
        """Return names, columns and numbers; tuples name columns of two levels."""
        parts = {
            "index": frame.index.tolist(),
            "columns": frame.columns.tolist(),
            "values": frame.to_numpy(),
        }
        return {key: self.encode(part, where) for key, part in parts.items()}

    def _named(self, value: Any, state: dict, where: str) -> Any:
        name = type(value).__name__
        if classes().get(name) is not type(value):
            raise TypeError(
                f"{where} is a {name}, which is no model of unseen and no transformer "
                "it knows, so load could not build it again. Save models of unseen, "
                "alone or in a Pipeline."
            )
        inner = {key: self.encode(v, f"{where}.{key}") for key, v in state.items()}
        try:
            check_state(type(value), state)
        except ValueError as error:
            raise TypeError(
                f"{where} holds what load would refuse: {error}. Leave attributes of "
                "your own out of the model."
            ) from error
        version = VERSIONS.get(name, 1)
        return {"$": "object", "name": name, "version": version, "state": inner}

    def _scalar(self, value: np.generic, where: str) -> Any:
        return {"$": "scalar", "value": self.encode(np.array(value), where)}

    def _array(self, array: np.ndarray, where: str) -> Any:
        if array.dtype.kind in "US":
            distinct, codes = np.unique(array, return_inverse=True)
            texts = distinct.tolist()
            return {
                "$": "text",
                "dtype": array.dtype.str,
                "texts": [
                    t if isinstance(t, str) else t.decode("latin-1") for t in texts
                ],
                "codes": self._array(codes.reshape(array.shape), where),
            }
        if array.dtype.kind == "O":
            items = self.encode(array.ravel().tolist(), where)
            return {"$": "objects", "shape": list(array.shape), "items": items}
        little = array.dtype.newbyteorder("<")
        if array.dtype.kind not in "fiub" or little.str not in DTYPES:
            raise TypeError(
                f"{where} is an array of {array.dtype}, which has no place."
            )
        return {"$": "array", **self._tensor(array)}

    def _tensor(self, array: np.ndarray) -> dict[str, Any]:
        known = self._names.get(id(array))
        # Products of matrices depend on the order of memory, to the last bit.
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        if known is None:
            name = f"a{len(self.arrays)}"
            stored = array.T if fortran else array
            little = stored.dtype.newbyteorder("<")
            self.arrays[name] = np.ascontiguousarray(stored, dtype=little).reshape(
                stored.shape
            )
            self._names[id(array)] = name, array  # kept, so that its id stays its own
        else:
            name = known[0]
        return {"tensor": name, "fortran": True} if fortran else {"tensor": name}


class Reader:
    """Builds an estimator from JSON and tensors.

    All its arrays of texts together take no more than ``allowed`` bytes.
    """

    def __init__(self, arrays: dict[str, np.ndarray], allowed: int) -> None:
        self._arrays, self._allowed = arrays, allowed
        self._build: dict[str, Callable[[dict], Any]] = {
            "array": self._array,
            "text": self._text,
            "objects": self._objects,
            "scalar": lambda tag: self.decode(tag["value"])[()],
            "float": lambda tag: float(tag["value"]),
            "tuple": lambda tag: tuple(self.decode(tag["items"])),
            "set": lambda tag: set(self.decode(tag["items"])),
            "frozenset": lambda tag: frozenset(self.decode(tag["items"])),
            "dict": lambda tag: dict(self.decode(tag["items"])),
            "frame": self._frame,
            "dtype": self._dtype,
            "RandomState": self._random_state,
            "function": lambda tag: _functions()[tag["name"]],
            "object": self._named,
        }

    def decode(self, value: Any) -> Any:
        """Return the value that :meth:`Writer.encode` was given."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        kind = value.get("$")
        if kind not in self._build:
            raise ValueError(f"a value of unknown kind {kind!r}")
        return self._build[kind](value)

    def _array(self, tag: dict) -> np.ndarray:
        array = self._arrays[tag["tensor"]]
        return array.T if tag.get("fortran") else array

    def _text(self, tag: dict) -> np.ndarray:
        texts, dtype = tag["texts"], np.dtype(tag["dtype"])
        codes = self.decode(tag["codes"])
        asked = dtype.itemsize * max(codes.size, len(texts))
        if dtype.kind not in "US" or asked > self._allowed:
            raise ValueError(f"texts of type {dtype} would take {asked:,} bytes")
        self._allowed -= asked
        if dtype.kind == "S":
            texts = [text.encode("latin-1") for text in texts]
        return np.array(texts, dtype=dtype)[codes] if texts else codes.astype(dtype)

    def _dtype(self, tag: dict) -> np.dtype:
        if tag["name"] not in DTYPES:
            raise ValueError(f"a type of unknown name {tag['name']!r}")
        return np.dtype(tag["name"])

    def _objects(self, tag: dict) -> np.ndarray:
        items = self.decode(tag["items"])
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(tag["shape"])

    def _frame(self, tag: dict) -> pd.DataFrame:
        columns = self.decode(tag["columns"])
        if columns and all(isinstance(column, tuple) for column in columns):
            columns = pd.MultiIndex.from_tuples(columns)
        index = self.decode(tag["index"])
        return pd.DataFrame(self.decode(tag["values"]), index=index, columns=columns)

    def _random_state(self, tag: dict) -> np.random.RandomState:
        random = np.random.RandomState()
        random.set_state(self.decode(tag["state"]))
        return random

    def _named(self, tag: dict) -> Any:
        name, version = tag["name"], tag["version"]
        kind: Any = classes().get(name)
        if kind is None:
            raise ValueError(f"there is no class {name!r}")
        if version != VERSIONS.get(name, 1):
            raise ValueError(f"the state of {name} has version {version!r}")
        state = {key: self.decode(value) for key, value in tag["state"].items()}
        if kind.__module__.startswith("sklearn."):
            state = defaults(kind) | state  # a newer scikit-learn may have new ones
        check_state(kind, state)
        if not issubclass(kind, BaseEstimator):
            return kind(**state)
        model = kind.__new__(kind)
        model.__dict__.update(state)
        return checked(model)


def defaults(kind: type) -> dict[str, Any]:
    """Return the parameters of a class that have a default."""
    parameters = inspect.signature(kind).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def checked(model: BaseEstimator) -> BaseEstimator:
    """Return an estimator whose parameters are within its own constraints.

    Rounds and sizes have no upper one: a file may not ask for days of work.
    """
    if hasattr(model, "_parameter_constraints"):
        model._validate_params()
    for key, value in model.get_params(deep=False).items():
        if isinstance(value, int) and value > LARGEST and key != "random_state":
            where = f"{type(model).__name__}.{key}"
            raise ValueError(f"{where} is {value:,}, more than {LARGEST:,}")
    return model


def _fields(value: Any) -> dict[str, Any]:
    return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}


@cache
def _functions() -> dict[str, Callable]:
    """Return the functions that a parameter may be, by name."""
    metrics = import_module("unseen.trust.metrics")
    return {name: getattr(metrics, name) for name in metrics.__all__}
