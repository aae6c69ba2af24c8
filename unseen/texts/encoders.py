"""Encoders of texts from other libraries, and those that remember what they read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unseen._command import needs_extra
from unseen._words import shown
from unseen.cache import Cache
from unseen.naming.encoders import encode_texts, encoder_name, find_encoder

__all__ = ["EncoderOfAFile", "RememberingEncoder", "load", "remembering"]

PROBES = ("The parcel has not come yet.", "my card was declined abroad", "zebra")
QUICK = ("wordllama", "model2vec")  # as fast as reading their vectors from a disk


def load(name: str, download: bool = False) -> Any:
    """Load a model by library and name, or from its folder.

    Parameters
    ----------
    name : str
        ``model2vec:NAME``, ``sentence-transformers:NAME`` or a folder.
    download : bool, default=False
        Fetch a model that is not on this machine.

    Returns
    -------
    Encoder
    """
    kind, sign, rest = name.partition(":")
    if sign and kind in LIBRARIES:
        return LIBRARIES[kind](rest, download)
    return LIBRARIES[_kind_of(Path(name))](name, False)


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
            f"{name}: is no folder with a model, and was not fetched before. To fetch "
            f"it from the internet:  hf download {name}"
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


LIBRARIES: dict[str, Callable[[str, bool], Any]] = {
    "model2vec": model2vec,
    "sentence-transformers": sentence_transformers,
}


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


def digest(text: str) -> bytes:
    """Return 16 bytes that tell a text from all others.

    Examples
    --------
    >>> from unseen.texts.encoders import digest
    >>> digest("okapi").hex()[:8], digest("okapi ") == digest("okapi")
    ('eec767ca', False)
    """
    content = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).digest()


class RememberingEncoder:
    """An encoder that keeps on disk what it has read, by what the text says.

    Parameters
    ----------
    encoder : Encoder
    folder : path, optional
        Where to keep it; by default in the user's cache folder.

    Examples
    --------
    >>> import tempfile
    >>> from unseen.naming import find_encoder
    >>> from unseen.texts.encoders import RememberingEncoder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = RememberingEncoder(find_encoder(), folder).encode(["card lost"])
    ...     again = RememberingEncoder(find_encoder(), folder)
    ...     bool((again.encode(["card lost"]) == rows).all()), again.n_new
    (True, 0)
    """

    space: str | None = None

    def __init__(
        self, encoder: Any, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.encoder, self.name, self.n_new = encoder, encoder_name(encoder), 0
        self.cache = Cache(f"{self.name}-{encoder_version(encoder)}", folder)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into n rows, from the disk where they are known."""
        content = {digest(text): text for text in texts}
        known = self.cache.known(list(content))
        new = [one for one in content if one not in known]
        if new:
            rows = encode_texts(self.encoder, [content[one] for one in new])
            self.cache.add(new, rows)
            self.n_new += len(new)
        return self.cache.vectors([digest(text) for text in texts])


def remembering(encoder: Any, cache: Any = None, download: bool = False) -> Any:
    """Return an encoder, with a cache where that saves time or is asked for."""
    found = find_encoder(encoder, download=download)
    quick = encoder_name(found).partition(":")[0] in QUICK
    no_cache = isinstance(found, EncoderOfAFile) or (quick and cache is None)
    return found if no_cache else RememberingEncoder(found, cache)


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
