"""Models on disk: arrays as safetensors, everything else as JSON in its header.

One file, memory-mapped when it is read, and nothing in it is ever executed:

    __metadata__   unseen_format  "1"
                   model          JSON: the estimator, its parameters and fitted values
                   digest         SHA-256 of all the rest
    a0, a1, ...    the arrays that the JSON refers to

The JSON holds plain values as they are and tags the others with ``"$"``. Classes are
looked up by name among the estimators, dataclasses and named tuples of this package
and a few transformers of scikit-learn; a new estimator needs no line here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import inspect
import json
import math
import os
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from unseen._files import replace_file

__all__ = ["Storable", "load", "save"]

FORMAT = 1
# Modules whose classes may stand in a file. Folders are searched.
ROOMS = (
    "unseen.class_table",
    "unseen.models",
    "unseen.transduction",
    "unseen.preprocessing",
    "unseen.model_selection",
    "unseen.rows.sums",
    "unseen.photos.named",
)
# What stands before a model in a pipeline, from scikit-learn.
FROM_SKLEARN = {
    "sklearn.pipeline": ("Pipeline",),
    "sklearn.preprocessing": (
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "RobustScaler",
        "StandardScaler",
    ),
    "sklearn.decomposition": ("PCA",),
}


def save(model: Any, path: str | os.PathLike[str]) -> Path:
    """Save a model, fitted or not, as one file without a line of code in it.

    Parameters
    ----------
    model : estimator
        Any estimator of this package, or a pipeline of them.
    path : path
        Where to; the file appears whole or not at all.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import unseen
    >>> from unseen.storage import save
    >>> data = unseen.load_data("digits")
    >>> model = unseen.JEDM().fit(data.X_seen, data.y_seen,
    ...                           class_embeddings=data.class_embeddings)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(model, Path(folder) / "digits.unseen")
    ...     again = unseen.load(path)
    >>> (again.decision_function(data.X_unseen)
    ...  == model.decision_function(data.X_unseen)).all()
    np.True_
    """
    from safetensors.numpy import save as to_safetensors

    path = Path(path)
    writer = _Writer()
    text = json.dumps(writer.encode(model, type(model).__name__), allow_nan=False)
    arrays = writer.arrays
    metadata = {
        "unseen_format": str(FORMAT),
        "model": text,
        "digest": _digest(text, arrays),
    }
    with replace_file(path) as file:
        file.write(to_safetensors(arrays, metadata))
    return path


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that was saved.

    Parameters
    ----------
    path : path
        A file written by :func:`save` or a model's ``save``.

    Returns
    -------
    estimator
        It predicts to the bit what the saved one did. Its arrays are mapped from the
        file, copied only where they are written to.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import unseen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = unseen.TSTD(lam=10.0).save(Path(folder) / "plan.unseen")
    ...     unseen.load(path)
    TSTD(lam=10.0)
    """
    path = Path(path)
    text, digest, arrays = _read(path)
    if _digest(text, arrays) != digest:
        raise _damaged(path, "its digest does not fit its content")
    try:
        return _Reader(arrays).decode(json.loads(text))
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{path}: holds a model that this version of unseen cannot build "
            f"({reason}). Load it with the version that saved it."
        ) from error


class Storable:
    """Gives an estimator ``save`` and ``to_onnx``.

    Examples
    --------
    >>> from unseen import JEDM
    >>> from unseen.storage import Storable
    >>> issubclass(JEDM, Storable)
    True
    """

    def save(self, path):
        """Save this model as one file, which ``unseen.load`` reads.

        Parameters
        ----------
        path : path
            Where to; the file appears whole or not at all.

        Returns
        -------
        Path
            The file written.
        """
        return save(self, path)

    def to_onnx(self, path, *, classes=None):
        """Write the (adapted) classifier as an ONNX file.

        Parameters
        ----------
        path : path
        classes : optional
            Who competes; by default as ``predict`` has it.

        Returns
        -------
        Path
            The file written; :func:`unseen.onnx_export.export_onnx` describes it.
        """
        from unseen.onnx_export import export_onnx

        return export_onnx(self, path, classes=classes)


def _read(path: Path) -> tuple[str, str, dict[str, np.ndarray]]:
    """Return (JSON, digest, mapped arrays) of a file that is one of ours."""
    from safetensors import safe_open

    try:
        with safe_open(path, framework="np") as file:  # checks header and sizes
            metadata = file.metadata() or {}
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        raise _damaged(path, str(error)) from error
    version = metadata.get("unseen_format")
    if version is None:
        raise ValueError(
            f"{path}: is a safetensors file, but no model of unseen. "
            "Give one that model.save wrote."
        )
    if not version.isdigit() or int(version) > FORMAT:
        raise ValueError(
            f"{path}: has format {version}, but this version of unseen reads up to "
            f"{FORMAT}. Upgrade unseen."
        )
    if "model" not in metadata or "digest" not in metadata:
        raise _damaged(path, "its header lacks the model")
    return metadata["model"], metadata["digest"], _map_arrays(path)


def _map_arrays(path: Path) -> dict[str, np.ndarray]:
    """Map the arrays of a file that safetensors has found sound."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    arrays: dict[str, np.ndarray] = {}
    for name, entry in header.items():
        dtype, shape = DTYPES.get(entry["dtype"]), tuple(entry["shape"])
        if dtype is None:
            raise _damaged(path, f"type {entry['dtype']} is none of ours")
        if math.prod(shape) == 0:
            arrays[name] = np.empty(shape, dtype)
            continue
        offset = 8 + size + entry["data_offsets"][0]
        # "c": whoever writes to it gets a copy of the page, the file stays.
        arrays[name] = np.memmap(path, dtype, "c", offset, shape).view(np.ndarray)
    return arrays


DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}


def _damaged(path: Path, reason: str) -> ValueError:
    reason = " ".join(reason.split())[:200]
    return ValueError(
        f"{path}: is damaged or no model ({reason}). Save the model again."
    )


def _digest(text: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


class _Writer:
    """Turns an estimator into JSON, and its arrays into tensors."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, tuple[str, Any]] = {}

    def encode(self, value: Any, where: str) -> Any:
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
            return self._named("estimator", value, vars(value), where)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._named("dataclass", value, _fields(value), where)
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return self._named("namedtuple", value, value._asdict(), where)
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

    def _named(self, kind: str, value: Any, state: dict, where: str) -> Any:
        name = type(value).__name__
        if _classes().get(name) is not type(value):
            raise TypeError(
                f"{where} is a {name} from outside of unseen (or two classes there "
                "have this name), which load could not build again. Save models of "
                "unseen, alone or in a Pipeline."
            )
        inner = {key: self.encode(v, f"{where}.{key}") for key, v in state.items()}
        return {"$": kind, "name": name, "state": inner}

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
        if array.dtype.kind not in "fiub" or little.str not in DTYPES.values():
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


class _Reader:
    """Builds an estimator from JSON and tensors."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._arrays = arrays
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
            "dtype": lambda tag: np.dtype(tag["name"]),
            "RandomState": self._random_state,
            "function": lambda tag: _functions()[tag["name"]],
            "estimator": self._estimator,
            "dataclass": self._from_fields,
            "namedtuple": self._from_fields,
        }

    def decode(self, value: Any) -> Any:
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
        if dtype.kind == "S":
            texts = [text.encode("latin-1") for text in texts]
        codes = self.decode(tag["codes"])
        return np.array(texts, dtype=dtype)[codes] if texts else codes.astype(dtype)

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

    def _class(self, tag: dict) -> Any:
        found = _classes().get(tag["name"])
        if found is None:
            raise ValueError(f"there is no class {tag['name']!r}")
        return found

    def _estimator(self, tag: dict) -> Any:
        kind = self._class(tag)
        if not issubclass(kind, BaseEstimator):
            raise ValueError(f"{tag['name']} is no estimator")
        model = kind.__new__(kind)
        state = {key: self.decode(value) for key, value in tag["state"].items()}
        model.__dict__.update(state)
        return model

    def _from_fields(self, tag: dict) -> Any:
        kind = self._class(tag)
        if issubclass(kind, BaseEstimator):
            raise ValueError(f"{tag['name']} is an estimator")
        return kind(**{key: self.decode(v) for key, v in tag["state"].items()})


def _fields(value: Any) -> dict[str, Any]:
    return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}


@cache
def _functions() -> dict[str, Callable]:
    """Return the functions that a parameter may be, by name."""
    from unseen import metrics

    return {name: getattr(metrics, name) for name in metrics.__all__}


@cache
def _classes() -> dict[str, type]:
    """Return the classes that a file may name; never one from anywhere else."""
    own = _own_classes()
    names = [kind.__name__ for kind in own]
    # Files know classes by name: one that two share could be taken for the other.
    found = {kind.__name__: kind for kind in own if names.count(kind.__name__) == 1}
    for path, wanted in FROM_SKLEARN.items():
        module = importlib.import_module(path)
        found |= {name: getattr(module, name) for name in wanted}
    return found


def _own_classes() -> list[type]:
    """Return the estimators, dataclasses and named tuples of the rooms."""
    return [
        kind
        for module in _modules()
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__
        and (
            issubclass(kind, BaseEstimator)
            or dataclasses.is_dataclass(kind)
            or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
        )
    ]


def _modules() -> list[Any]:
    modules = []
    for path in ROOMS:
        room = importlib.import_module(path)
        modules.append(room)
        for info in pkgutil.iter_modules(getattr(room, "__path__", [])):
            modules.append(importlib.import_module(f"{path}.{info.name}"))
    return modules
