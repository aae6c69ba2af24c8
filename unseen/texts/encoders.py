"""What turns texts into vectors.

    wordllama, minilm, clip            encoders that also read class names
    model2vec:NAME                     a static model (extra model2vec)
    sentence-transformers:NAME         a transformer (extra minilm, needs PyTorch)
    path/to/model                      a folder with a model of one of these two kinds
    any function                       from a list of n texts to (n, d) numbers

NAME is that of a model on this machine: a folder, or one that was fetched before.
Nothing is downloaded unless that is asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unseen._command import needs_extra
from unseen._words import listed, shown
from unseen.naming.encoders import text_encoder, text_encoders

__all__ = [
    "EncoderOfAFile",
    "FunctionEncoder",
    "encode",
    "encoder_version",
    "find_encoder",
]

PROBES = ("The parcel has not come yet.", "my card was declined abroad", "zebra")
QUICK = ("wordllama", "model2vec")  # as fast as reading their vectors from a disk


def find_encoder(encoder: Any = "wordllama", *, download: bool = False) -> Any:
    """Return what an encoder's name, folder or function stands for.

    Parameters
    ----------
    encoder : str, path, callable or TextEncoder, default="wordllama"
    download : bool, default=False
        Fetch a model that is not on this machine.

    Returns
    -------
    TextEncoder

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.texts.encoders import find_encoder
    >>> def lengths(texts):
    ...     return np.array([[len(text), 1] for text in texts])
    >>> find_encoder(lengths).encode(["okapi"])
    array([[5., 1.]], dtype=float32)
    """
    if not isinstance(encoder, str | os.PathLike):
        return encoder if hasattr(encoder, "encode") else FunctionEncoder(encoder)
    name = os.fspath(encoder)
    if name in text_encoders():
        return text_encoder(name)
    kind, sign, rest = name.partition(":")
    if sign and kind in KINDS:
        return KINDS[kind](rest, download)
    if Path(name).is_dir():
        return KINDS[_kind_of(Path(name))](name, False)
    raise ValueError(
        f"There is no encoder {name!r}. Give {listed(text_encoders())}, a folder "
        "with a model, model2vec:NAME or sentence-transformers:NAME."
    )


def _kind_of(folder: Path) -> str:
    """Tell what made the model in a folder, by its files.

    A static model may carry the list of modules of sentence-transformers, too.
    """
    modules = folder / "modules.json"
    if modules.is_file():
        static = ".StaticEmbedding" in modules.read_text("utf-8", "replace")
        return "model2vec" if static else "sentence-transformers"
    if (folder / "model.safetensors").is_file():
        return "model2vec"
    raise ValueError(
        f"{folder}: holds no model. A model of sentence-transformers has a file "
        "modules.json, one of model2vec a file model.safetensors."
    )


def encode(encoder: Any, texts: Sequence[str]) -> np.ndarray:
    """Turn n texts into (n, d) ``float32``; a text that says nothing is a zero row.

    A text of which the encoder knows no sign, such as an emoji, is read as what
    Unicode calls its signs.

    Examples
    --------
    >>> from unseen.texts.encoders import encode, find_encoder
    >>> zebra, word, nothing = encode(find_encoder(), ["🦓", "zebra face", " "])
    >>> bool((zebra == word).all()), bool(nothing.any())
    (True, False)
    """
    rows = np.asarray(encoder.encode(list(texts)), dtype=np.float32)
    if rows.ndim != 2 or len(rows) != len(texts):
        raise ValueError(
            f"Encoder {shown(encoder_name(encoder))} made an array of shape "
            f"{rows.shape} of {len(texts)} texts. It must give one row per text."
        )
    if not np.isfinite(rows).all():
        place = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ValueError(
            f"Encoder {shown(encoder_name(encoder))} made NaN or infinity of the text "
            f"{shown(texts[place])}. It must give numbers."
        )
    silent = np.flatnonzero(~rows.any(axis=1)).tolist()
    spelt = {row: words for row in silent if (words := _spell_out(texts[row]))}
    if spelt:
        rows = rows.copy()
        rows[list(spelt)] = encoder.encode(list(spelt.values()))
    return rows


def _spell_out(text: str, most: int = 50) -> str:
    signs = [char for char in text[:1000] if unicodedata.category(char) == "So"]
    return " ".join(unicodedata.name(sign, "").lower() for sign in signs[:most])


def encoder_name(encoder: Any) -> str:
    """Return the name of an encoder, which a saved model finds it by."""
    return str(getattr(encoder, "name", type(encoder).__name__))


def encoder_version(encoder: Any) -> str:
    """Return a text that differs where an encoder's vectors do.

    Encoders say it themselves, or a few texts tell.
    """
    if hasattr(encoder, "version"):
        return str(encoder.version)
    rows = np.asarray(encoder.encode(list(PROBES)), dtype=np.float32)
    length = max(float(np.abs(rows).max()), 1e-30)
    coarse = np.round(rows / length * 100).astype(np.int8)  # not the last bits
    return hashlib.sha256(coarse.tobytes()).hexdigest()[:16]


def is_quick(encoder: Any) -> bool:
    """Tell whether encoding anew costs no more than reading from a cache."""
    return encoder_name(encoder).partition(":")[0] in QUICK


class FunctionEncoder:
    """A function of yours as an encoder.

    Parameters
    ----------
    function : callable
        From a list of n texts to an array of shape (n, d).

    Examples
    --------
    >>> from unseen.texts.encoders import FunctionEncoder
    >>> FunctionEncoder(lambda texts: [[1.0] for _ in texts]).encode(["a", "b"]).shape
    (2, 1)
    """

    space: str | None = None

    def __init__(self, function: Callable[[list[str]], Any]) -> None:
        if not callable(function):
            raise TypeError(
                f"{shown(function)} is no encoder. Give a name, a folder, or a "
                "function from texts to vectors."
            )
        self._function = function
        self.name = getattr(function, "__qualname__", type(function).__name__)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into n rows."""
        return np.asarray(self._function(list(texts)), dtype=np.float32)


class EncoderOfAFile:
    """An encoder that a saved model names and may not load: only its user may.

    Loading a model of another library can run what lies in its folder, so a file that
    came from somewhere names it in vain.

    Examples
    --------
    >>> from unseen.texts.encoders import EncoderOfAFile
    >>> EncoderOfAFile("model2vec:potion").encode(["okapi"])
    Traceback (most recent call last):
    ValueError: The model was saved with encoder 'model2vec:potion', which is not built
    in, so the file alone does not load it. If you trust it, name it yourself: --encoder
    model2vec:potion, or model.encoder = 'model2vec:potion'.
    """

    space: str | None = None

    def __init__(self, name: str) -> None:
        self.name = name

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Refuse, and say what to do."""
        raise ValueError(
            f"The model was saved with encoder {shown(self.name)}, which is not built "
            "in, so the file alone does not load it. If you trust it, name it "
            f"yourself: --encoder {self.name}, or model.encoder = {self.name!r}."
        )


class _Model:
    """A model of another library: blank texts are zero rows, whatever it says."""

    space: str | None = None

    def __init__(self, name: str, model: Any, dimension: int) -> None:
        self.name, self._model, self.dimension = name, model, dimension

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into (n, dimension) ``float32``."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        said = [place for place, text in enumerate(texts) if text.strip()]
        if said:
            some = [texts[place] for place in said]
            rows[said] = self._model.encode(some, show_progress_bar=False)
        return rows


def model2vec(name: str, download: bool) -> _Model:
    """Load a static model of model2vec."""
    try:
        from model2vec import StaticModel
    except ImportError:
        raise needs_extra("model2vec", "model2vec", "A static model") from None
    model = StaticModel.from_pretrained(_place_of(name, download))
    return _Model(f"model2vec:{name}", model, int(model.dim))


def sentence_transformers(name: str, download: bool) -> _Model:
    """Load a model of sentence-transformers."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise needs_extra(
            "sentence-transformers", "minilm", "A sentence transformer"
        ) from None
    place = _place_of(name, download)
    if Path(place).is_dir():
        refuse_own_code(Path(place))
    model = SentenceTransformer(place, device="cpu", local_files_only=not download)
    dimension = int(model.get_sentence_embedding_dimension())
    return _Model(f"sentence-transformers:{name}", model, dimension)


def refuse_own_code(folder: Path) -> None:
    """Raise if a model's folder brings Python of its own, which loading it would run.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.texts.encoders import refuse_own_code
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "modules.json").write_text('[{"type": "mine.Layer"}]')
    ...     refuse_own_code(Path(folder))
    Traceback (most recent call last):
    ValueError: ...: its modules.json names 'mine.Layer'. Only modules of
    sentence_transformers itself are loaded.
    """
    modules = folder / "modules.json"
    try:
        listed = json.loads(modules.read_text("utf-8")) if modules.exists() else []
        kinds = [str(module["type"]) for module in listed]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{modules}: is no list of modules ({error!r}).") from error
    own = [kind for kind in kinds if not kind.startswith("sentence_transformers.")]
    if own:
        raise ValueError(
            f"{folder}: its modules.json names {shown(own[0])}. Only modules of "
            "sentence_transformers itself are loaded."
        )
    if code := next(folder.rglob("*.py"), None):
        raise ValueError(
            f"{folder}: brings Python code of its own, {code.name}. Only modules of "
            "sentence_transformers itself are loaded."
        )


def _place_of(name: str, download: bool) -> str:
    """Return the folder of a model on this machine; its name if it may be fetched."""
    if Path(name).is_dir():
        return name
    fetched = _fetched(name)
    if fetched is None and not download:
        raise FileNotFoundError(
            f"{name}: is no folder with a model, and was not fetched before. Give "
            "--download to fetch it from the internet."
        )
    return name if fetched is None else str(fetched)


def _fetched(name: str) -> Path | None:
    """Return where the cache of Hugging Face has a model; None if it has not."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    owners = [name] if "/" in name else [name, f"sentence-transformers/{name}"]
    for owner in owners:
        folder = hub / f"models--{owner.replace('/', '--')}"
        reference = folder / "refs" / "main"
        if reference.is_file():
            return folder / "snapshots" / reference.read_text("utf-8").strip()
    return None


KINDS: dict[str, Callable[[str, bool], Any]] = {
    "model2vec": model2vec,
    "sentence-transformers": sentence_transformers,
}
