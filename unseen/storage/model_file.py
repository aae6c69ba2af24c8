"""One model, one file, read whole; nothing in it is ever executed.

    __metadata__   unseen_format   "1"
                   unseen_version  the version of unseen that wrote it
                   model           JSON: the estimator, its parameters, fitted values
                   digest          SHA-256 of all the rest
    a0, a1, ...    the arrays that the JSON refers to

The digest finds accidents: a cut, flipped or mixed-up file. It is no signature: whoever
changes a file can write a fitting digest. What protects against such a file is that
nothing outside of ``state.py`` is built from it.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from unseen.files import replace_file
from unseen.limits import check_plain_file, unpacked_allowance
from unseen.storage.values import Reader, Writer

__all__ = ["Storable", "load_model", "save_model"]

FORMAT = 1


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
    >>> from unseen.storage import save_model
    >>> data = unseen.load_data("digits")
    >>> model = unseen.JEDM().fit(data.X_seen, data.y_seen,
    ...                           class_embeddings=data.class_embeddings)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, Path(folder) / "digits.unseen")
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
    text = json.dumps(writer.encode(model, name), allow_nan=False)
    arrays = writer.arrays
    metadata = {
        "unseen_format": str(FORMAT),
        "unseen_version": __version__,
        "model": text,
        "digest": digest(text, arrays),
    }
    with replace_file(path) as file:
        file.write(to_safetensors(arrays, metadata))
    return path


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model that was saved.

    Parameters
    ----------
    path : path
        A file written by :func:`save` or a model's ``save``.

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
    if digest(text, arrays) != metadata["digest"]:
        raise _damaged(path, "its digest does not fit its content")
    try:
        allowed = unpacked_allowance(len(text) + sum(a.nbytes for a in arrays.values()))
        model = Reader(arrays, allowed).decode(json.loads(text))
    except Exception as error:
        writer = metadata.get("unseen_version", "an unknown version")
        raise ValueError(
            f"{path}: holds a model that this version of unseen cannot build "
            f"({_short(error)}). Load it with the version that saved it, {writer}."
        ) from error
    if not isinstance(model, BaseEstimator):
        raise _damaged(path, f"it holds a {type(model).__name__}")
    if hasattr(model, "_loaded"):
        model._loaded()
    return model


class Storable:
    """Gives an estimator ``save``.

    Examples
    --------
    >>> from unseen import JEDM
    >>> from unseen.storage import Storable
    >>> issubclass(JEDM, Storable)
    True
    """

    def save(self, path):
        """Save this model as one file, which ``unseen.load_model`` reads.

        Parameters
        ----------
        path : path
            Where to; the file appears whole or not at all.

        Returns
        -------
        Path
            The file written.
        """
        return save_model(self, path)


def _read(path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Return metadata and arrays of a file that is one of ours."""
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
            f"{path}: is a safetensors file, but no model of unseen. "
            "Give one that model.save wrote."
        )
    if not version.isdigit() or int(version) > FORMAT:
        raise ValueError(
            f"{path}: has format {version[:20]}, but this version of unseen reads up "
            f"to {FORMAT}. Upgrade unseen."
        )
    if "model" not in metadata or "digest" not in metadata:
        raise _damaged(path, "its header lacks the model")
    return metadata, arrays


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _damaged(path: Path, reason: str) -> ValueError:
    return ValueError(
        f"{path}: is damaged or no model ({reason}). Save the model again."
    )


def digest(text: str, arrays: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 of a model's JSON and arrays."""
    found = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape};".encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()
