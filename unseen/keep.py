"""Models on disk: one file, read whole; nothing in it is ever executed.

    __metadata__   unseen_format   "2"
                   unseen_version  the version of unseen that wrote it
                   model           JSON: the estimator, its parameters, fitted values
                   digest          SHA-256 of all the rest
    a0, a1, ...    the arrays that the JSON refers to, as safetensors

One rule for all models: an estimator is its parameters and its fitted values, and these
are plain values, arrays, estimators, and tuples of ``PARTS``. Estimators are those of
this package, and a few of scikit-learn that stand before them in a pipeline. Parameters
are checked by the estimator's constraints, fitted values by the annotations of its
class, and a fitted model has to answer for a row of zeros before it is handed out.

The digest finds accidents: a cut, flipped or mixed-up file. It is no signature: whoever
changes a file can write a fitting digest. Such a model may answer wrongly, and nothing
worse.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
import os
import typing
import warnings
from functools import cache
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from unseen.files import replace_file
from unseen.limits import check_plain_file, unpacked_allowance

FORMAT = "2"
DTYPES = "<f8 <f4 <f2 <i8 <i4 <i2 |i1 <u8 <u4 <u2 |u1 |b1".split()
# What models are made of, beside estimators that unseen names, by module.
PARTS = {
    "unseen.core.classes": "Candidates ClassTable",
    "unseen.core.given": "Given",
    "unseen.core.outcome": "LinearRule LinearScorer Round",
    "unseen.core.sums": "RunningSums Sums",
    "unseen.models.jedm": "Reading",
    "unseen.models.kernel_ridge": "EmbeddingScale",
    "unseen.photos.named": "NamedPhotos",
    "unseen.texts.named": "NamedTexts",
    "unseen.trust.calibration": "Calibration Weights",
    "sklearn.decomposition": "PCA",
    "sklearn.pipeline": "Pipeline",
    "sklearn.preprocessing": (
        "MaxAbsScaler MinMaxScaler Normalizer RobustScaler StandardScaler"
    ),
}


def save_model(model: Any, path: str | os.PathLike[str]) -> Path:
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
    >>> from unseen.keep import save_model
    >>> data = unseen.load_data("photos-200")
    >>> model = unseen.JEDM().fit(data.X_seen, data.y_seen,
    ...                           class_embeddings=data.class_embeddings)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, Path(folder) / "photos.unseen")
    ...     again = unseen.load_model(path)
    >>> (again.decision_function(data.X_unseen)
    ...  == model.decision_function(data.X_unseen)).all()
    np.True_
    """
    from safetensors.numpy import save as to_safetensors

    from unseen import __version__

    path, name = Path(path), type(model).__name__
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"This is a {name}, not a model. Save an estimator of unseen.")
    writer = Writer()
    text = json.dumps(writer.pack(model, name), allow_nan=False)
    metadata = {
        "unseen_format": FORMAT,
        "unseen_version": __version__,
        "model": text,
        "digest": digest(text, writer.arrays),
    }
    with replace_file(path) as file:
        file.write(to_safetensors(writer.arrays, metadata))
    return path


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model that was saved.

    Parameters
    ----------
    path : path
        A file written by a model's ``save``, or by :func:`unseen.keep.save_model`.

    Returns
    -------
    estimator
        It predicts to the bit what the saved one did. It is read whole: what happens
        to the file afterwards does not reach it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import unseen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = unseen.TSTD(lam=10.0).save(Path(folder) / "plan.unseen")
    ...     unseen.load_model(path)
    TSTD(lam=10.0)
    """
    path = Path(path)
    metadata, arrays = _read(path)
    text = metadata["model"]
    try:
        allowed = unpacked_allowance(len(text) + sum(a.nbytes for a in arrays.values()))
        model = Reader(arrays, allowed).unpack(json.loads(text))
        if not isinstance(model, BaseEstimator):
            raise ValueError(f"it holds a {type(model).__name__}")
        if hasattr(model, "_loaded"):
            model._loaded()
        if hasattr(model, "decision_function") and hasattr(model, "n_features_in_"):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # it fails if a part does not fit
                model.decision_function(np.zeros((1, model.n_features_in_)))
    except Exception as error:
        writer = metadata.get("unseen_version", "an unknown version")
        raise ValueError(
            f"{path} holds a model that this version of unseen cannot build "
            f"({_short(error)}). Load it with the version that saved it, {writer}."
        ) from error
    return model


def _read(path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Return metadata and arrays of a file that is one of ours, and whole."""
    from safetensors.numpy import load as from_safetensors

    check_plain_file(path)
    content = path.read_bytes()  # what is checked is what is used, whoever writes
    try:
        arrays = from_safetensors(content)  # checks header and sizes
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length]).get("__metadata__") or {}
    except Exception as error:
        raise _damaged(path, _short(error)) from error
    version = metadata.get("unseen_format")
    if version is None:
        raise ValueError(
            f"{path} is a safetensors file, but no model of unseen. "
            "Give one that model.save wrote."
        )
    if version != FORMAT:
        raise ValueError(
            f"{path} has format {version[:20]}, but this version of unseen reads "
            f"format {FORMAT}. Load it with the version that saved it."
        )
    if digest(metadata.get("model", ""), arrays) != metadata.get("digest"):
        raise _damaged(path, "its digest does not fit its content")
    return metadata, arrays


def _damaged(path: Path, reason: str) -> ValueError:
    return ValueError(
        f"{path} is damaged or no model ({reason}). Save the model again."
    )


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def digest(text: str, arrays: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 of a model's JSON and arrays."""
    found = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        found.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape};".encode())
        found.update(arrays[name].tobytes())
    return found.hexdigest()


# ---- values to JSON and tensors, and back --------------------------------------------


class Writer:
    """Turns an estimator into JSON, and its arrays into tensors."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, tuple[str, Any]] = {}

    def pack(self, value: Any, where: str) -> Any:
        """Return what JSON can hold of a value; ``where`` it stands is for errors."""
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic) and not isinstance(value, np.str_):
            return {"$": "scalar", "value": self._array(np.array(value), where)}
        if isinstance(value, float) and not math.isfinite(value):
            return {"$": "float", "value": repr(value)}
        if value is None or isinstance(value, bool | int | float | str):
            return str(value) if isinstance(value, str) else value
        if isinstance(value, list):
            return [self.pack(v, f"{where}[{i}]") for i, v in enumerate(value)]
        if isinstance(value, np.dtype):
            return {"$": "dtype", "name": value.str}
        if isinstance(value, dict):
            pairs = [list(pair) for pair in value.items()]
            return {"$": "dict", "items": self.pack(pairs, where)}
        if type(value) is tuple:
            return {"$": "tuple", "items": self.pack(list(value), where)}
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> Any:
        kind = type(value)
        if known().get(kind.__name__) is not kind:
            raise TypeError(
                f"{where} is a {kind.__name__}, which load could not build without "
                "running code. Save models of unseen, alone or in a Pipeline, with "
                "plain values, arrays and models in them."
            )
        try:
            check_state(kind, state := state_of(value))
        except ValueError as error:
            raise TypeError(
                f"{where} holds what load would refuse: {error}."
            ) from error
        items = {key: self.pack(one, f"{where}.{key}") for key, one in state.items()}
        return {"$": "object", "name": kind.__name__, "state": items}

    def _array(self, array: np.ndarray, where: str) -> Any:
        if array.dtype.kind == "U":
            texts, codes = np.unique(array, return_inverse=True)
            codes = self._array(codes.reshape(array.shape), where)
            tag = {"$": "text", "dtype": array.dtype.str}
            return tag | {"texts": texts.tolist(), "codes": codes}
        if array.dtype.kind == "O":
            items = self.pack(array.ravel().tolist(), where)
            return {"$": "objects", "shape": list(array.shape), "items": items}
        little = array.dtype.newbyteorder("<")
        if little.str not in DTYPES:
            raise TypeError(
                f"{where} is an array of {array.dtype}, which has no place."
            )
        # Products of matrices depend on the order of memory, to the last bit.
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        if id(array) not in self._names:
            stored = array.T if fortran else array
            name = f"a{len(self.arrays)}"
            self.arrays[name] = np.array(stored, dtype=little, order="C")
            self._names[id(array)] = name, array  # kept, so that its id stays its own
        return {"$": "array", "tensor": self._names[id(array)][0], "fortran": fortran}


class Reader:
    """Builds an estimator from JSON and tensors.

    All its arrays of texts together take no more than ``allowed`` bytes.
    """

    def __init__(self, arrays: dict[str, np.ndarray], allowed: int) -> None:
        self.arrays, self.allowed = arrays, allowed

    def unpack(self, value: Any) -> Any:
        """Return the value that :meth:`Writer.pack` was given."""
        if isinstance(value, list):
            return [self.unpack(item) for item in value]
        if not isinstance(value, dict):
            return value
        match value.get("$"):
            case "array":
                array = self.arrays[value["tensor"]]
                return array.T if value["fortran"] else array
            case "text":
                return self._text(value)
            case "objects":
                items = self.unpack(value["items"])
                array = np.empty(len(items), dtype=object)
                array[:] = items
                return array.reshape(value["shape"])
            case "scalar":
                return self.unpack(value["value"])[()]
            case "float":
                return float(value["value"])
            case "tuple":
                return tuple(self.unpack(value["items"]))
            case "dict":
                return dict(self.unpack(value["items"]))
            case "dtype":
                if value["name"] not in DTYPES:
                    raise ValueError(f"a type of unknown name {value['name']!r}")
                return np.dtype(value["name"])
            case "object":
                return self._object(value)
        raise ValueError(f"a value of unknown kind {value.get('$')!r}")

    def _text(self, tag: dict) -> np.ndarray:
        texts, dtype, codes = tag["texts"], np.dtype(tag["dtype"]), tag["codes"]
        codes = self.unpack(codes)
        asked = dtype.itemsize * max(codes.size, len(texts))
        if dtype.kind != "U" or asked > self.allowed:
            raise ValueError(f"texts of type {dtype} would take {asked:,} bytes")
        self.allowed -= asked
        return np.array(texts, dtype=dtype)[codes] if texts else codes.astype(dtype)

    def _object(self, tag: dict) -> Any:
        kind: Any = known().get(tag["name"])
        if kind is None:
            raise ValueError(f"there is no class {tag['name']!r}")
        state = {key: self.unpack(value) for key, value in tag["state"].items()}
        if kind.__module__.startswith("sklearn."):  # a newer one may have new ones
            own = inspect.signature(kind).parameters.values()
            state = {p.name: p.default for p in own if p.default is not p.empty} | state
        check_state(kind, state)
        if not issubclass(kind, BaseEstimator):
            return kind(**state)
        model = kind.__new__(kind)
        model.__dict__.update(state)
        return model


# ---- what a file may hold ------------------------------------------------------------


@cache
def known() -> dict[str, type]:
    """Return the classes that a file may name; never one from anywhere else."""
    import unseen

    public = {name: getattr(unseen, name) for name in unseen.__all__}
    found = {
        name: kind
        for name, kind in public.items()
        if inspect.isclass(kind) and issubclass(kind, BaseEstimator)
    }
    for path, names in PARTS.items():
        found |= {name: getattr(import_module(path), name) for name in names.split()}
    return found


def state_of(value: Any) -> dict[str, Any]:
    """Return what an estimator, a dataclass or a named tuple holds."""
    if isinstance(value, BaseEstimator):
        return vars(value)
    kind: Any = type(value)
    return {key: getattr(value, key) for key in needed_names(kind)}


@cache
def needed_names(kind: Any) -> list[str]:
    """Return the parameters of an estimator, or the fields of a part, in order."""
    if issubclass(kind, BaseEstimator):
        return kind._get_param_names()
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind) if field.init]
    return list(kind._fields)


@cache
def hints(kind: Any) -> dict[str, Any]:
    """Return the annotations of a class of this package."""
    return typing.get_type_hints(kind) if kind.__module__.startswith("unseen.") else {}


def check_state(kind: Any, state: dict[str, Any]) -> None:
    """Raise unless a state is one that ``kind`` would have.

    A fit sets ``name_`` or ``_name``, which no method is called, of the type that the
    class annotates; parameters are checked by the constraints of the estimator.
    """
    needed, estimator = needed_names(kind), issubclass(kind, BaseEstimator)
    for key in needed:
        if key not in state:
            raise ValueError(f"{kind.__name__}.{key} is missing")
    for key, value in state.items():
        where = f"{kind.__name__}.{key}"
        if estimator and key in needed:
            continue
        named = key.isidentifier() and (key[0] == "_" or key[-1] == "_")
        fitted = estimator and named and key[:2] != "__" and not hasattr(kind, key)
        if key not in needed and not fitted:
            raise ValueError(f"{where} is unknown")
        if not fits(value, hints(kind).get(key, Any)):
            raise ValueError(f"{where} is a {type(value).__name__}")
    if kind.__name__ == "Pipeline" and state["memory"] is not None:
        raise ValueError("Pipeline.memory is set, and would be unpickled from")
    if hasattr(kind, "_parameter_constraints"):
        model = kind.__new__(kind)
        model.__dict__.update(state)
        model._validate_params()


def fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is of an annotated type; of containers, lists are opened."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (UnionType, typing.Union):
        return any(fits(value, one) for one in inside)
    if origin is list:
        return isinstance(value, list) and all(fits(v, inside[0]) for v in value)
    wider: dict = {float: Real, int: Integral, bool: bool | np.bool_, Any: object}
    return isinstance(value, wider.get(hint, origin or hint))
