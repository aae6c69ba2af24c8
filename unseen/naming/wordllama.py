"""WordLlama: the mean of a static vector for each piece of a text (Miller, 2024).

Two files of the ``wordllama`` wheel are read as they are: the table of 32,000 pieces
and the tokenizer. The package itself is never imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from unseen._command import needs_extra

__all__ = ["WordLlama"]

TABLE = "weights/l2_supercat_256.safetensors"


class WordLlama:
    """A text encoder that reads English, without PyTorch.

    A sign that no piece covers, such as most emoji, is left out; a text of nothing
    else is a row of zeros.
    """

    name = "wordllama"
    dimension = 256
    space: str | None = None

    def __init__(self) -> None:
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError:
            raise needs_extra("tokenizers", "texts", "Reading class names") from None
        spec = find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise needs_extra("wordllama", "texts", "Reading class names")
        home = Path(spec.origin).parent
        (table,) = load_file(home / TABLE).values()  # float16
        self._table = table.astype(np.float32)
        pieces = home / "tokenizers/l2_supercat_tokenizer_config.json"
        self._tokenizer = Tokenizer.from_file(str(pieces))
        # 1 for a piece that says something
        self._says = np.zeros(len(table), np.float32)
        for piece, number in self._tokenizer.get_vocab().items():
            self._says[number] = _says_something(piece)

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


def _says_something(piece: str) -> bool:
    """Tell a piece from a bare byte of a sign without one, a space, the unknown."""
    byte = piece.startswith("<0x") and len(piece) == 6
    return not byte and piece != "<unk>" and bool(piece.strip("▁"))
