"""Models on disk: one file, read whole; nothing in it is ever executed.

    __metadata__   unseen_format   "3"
                   unseen_version  the version of unseen that wrote it
                   model           JSON: the estimator, its parameters, fitted values
                   digest          SHA-256 of all the rest
    a0, a1, ...    the arrays that the JSON refers to, as safetensors

One rule for all models: an estimator is its parameters and its fitted values, and these
are plain values, arrays, estimators, and tuples of ``PARTS``. Estimators are those of
this package, and a few of scikit-learn that stand before them in a pipeline. Parameters
are checked by the estimator's constraints, and a fitted model has to answer for a row
of zeros before it is handed out.

The digest finds accidents: a cut, flipped or mixed-up file. It is no signature: whoever
changes a file can write a fitting digest. Such a model may answer wrongly, and nothing
worse.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import os
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from unseen.files import replace_file
from unseen.limits import check_plain_file

FORMAT = "3"
DTYPES = "<f8 <f4 <f2 <i8 <i4 <i2 |i1 <u8 <u4 <u2 |u1 |b1".split()
# What models are made of, beside estimators that unseen names, by module.
PARTS = {
    "unseen.core.classes": "Candidates ClassTable",
    "unseen.core.given": "Given",
    "unseen.core.outcome": "LinearRule LinearScorer Round",
    "unseen.core.sums": "RunningSums Sums",
    "unseen.models.jedm": "Reading",
    "unseen.models.kernel_ridge": "EmbeddingScale",
    "unseen.named": "Taught",
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
    text = json.dumps(writer.pack(model, name))
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
        model = unpack(json.loads(text), arrays)
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
    version = str(metadata.get("unseen_format"))
    if version != FORMAT:
        raise ValueError(
            f"{path} has format {version[:20]}, but a model of this version of unseen "
            f"has format {FORMAT}. Load it with the version that saved it."
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
        if isinstance(value, np.generic):
            return {"$": "scalar", "array": self._array(np.array(value), where)}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list):
            return [self.pack(one, f"{where}[{i}]") for i, one in enumerate(value)]
        if type(value) is tuple:
            return {"$": "tuple", "items": self.pack(list(value), where)}
        if isinstance(value, dict):
            pairs = [list(pair) for pair in value.items()]
            return {"$": "dict", "items": self.pack(pairs, where)}
        if isinstance(value, np.dtype):
            return {"$": "dtype", "name": value.str}
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> Any:
        kind: Any = type(value)
        name = kind.__name__
        if known().get(name) is not kind:
            raise TypeError(
                f"{where} is a {name}, which load could not build without "
                "running code. Save models of unseen, alone or in a Pipeline, with "
                "plain values, arrays and models in them."
            )
        model = isinstance(value, BaseEstimator)
        state = {k: getattr(value, k) for k in (vars(value) if model else needed(kind))}
        try:
            check_state(kind, state)
        except ValueError as error:
            raise TypeError(
                f"{where} holds what load would refuse: {error}."
            ) from error
        items = {key: self.pack(one, f"{where}.{key}") for key, one in state.items()}
        return {"$": "object", "name": name, "state": items}

    def _array(self, array: np.ndarray, where: str) -> Any:
        if array.dtype.kind == "O":
            items = self.pack(array.ravel().tolist(), where)
            return {"$": "objects", "shape": list(array.shape), "items": items}
        if array.dtype.kind == "U":  # four bytes a letter: as large as they are
            letters = np.array(array, array.dtype.newbyteorder("<")).ravel().view("<u4")
            letters = letters.reshape(*array.shape, array.dtype.itemsize // 4)
            return {"$": "texts", "letters": self._array(letters, where)}
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


def unpack(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return the value that :meth:`Writer.pack` was given."""
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("$")
    if kind == "array":
        array = arrays[value["tensor"]]
        return array.T if value["fortran"] else array
    if kind == "scalar":
        return unpack(value["array"], arrays)[()]
    if kind == "texts":
        letters = unpack(value["letters"], arrays)
        return letters.view(f"<U{letters.shape[-1]}")[..., 0]
    if kind == "objects":
        items = unpack(value["items"], arrays)
        return np.array([*items, None], dtype=object)[:-1].reshape(value["shape"])
    if kind in ("tuple", "dict"):
        return {"tuple": tuple, "dict": dict}[kind](unpack(value["items"], arrays))
    if kind == "dtype" and value["name"] in DTYPES:
        return np.dtype(value["name"])
    if kind == "object" and value["name"] in known():
        state = {key: unpack(one, arrays) for key, one in value["state"].items()}
        return build(known()[value["name"]], state)
    raise ValueError(f"a value of unknown kind {kind!r} {value.get('name', '')!r}")


def build(kind: Any, state: dict[str, Any]) -> Any:
    """Return an estimator or a part with this state, unless it could not have it."""
    check_state(kind, state)
    if not issubclass(kind, BaseEstimator):
        return kind(**state)
    model = kind.__new__(kind)
    model.__dict__.update(state)
    return model


# ---- what a file may hold ------------------------------------------------------------


@cache
def known() -> dict[str, Any]:
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


@cache
def needed(kind: Any) -> list[str]:
    """Return the parameters of an estimator, or the fields of a part, in order."""
    if issubclass(kind, BaseEstimator):
        return kind._get_param_names()
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind) if field.init]
    return list(kind._fields)


def check_state(kind: Any, state: dict[str, Any]) -> None:
    """Raise unless a state is one that ``kind`` would have.

    A fit sets ``name_`` or ``_name``, which no method is called; parameters are checked
    by the constraints of the estimator.
    """
    for key in set(needed(kind)) - state.keys():
        raise ValueError(f"{kind.__name__}.{key} is missing")
    for key in state.keys() - set(needed(kind)):
        named = key.isidentifier() and (key[0] == "_" or key[-1] == "_")
        own = hasattr(kind, key) or key[:2] == "__" or not named
        if own or not issubclass(kind, BaseEstimator):
            raise ValueError(f"{kind.__name__}.{key} is unknown")
    if kind.__name__ == "Pipeline" and state["memory"] is not None:
        raise ValueError("Pipeline.memory is set, and would be unpickled from")
    if hasattr(kind, "_parameter_constraints"):
        model = kind.__new__(kind)
        model.__dict__.update(state)
        model._validate_params()
