"""WordLlama: the mean of a static vector for each piece of a text (Miller, 2024).

Two files of the ``wordllama`` wheel are read as they are: the table of 32,000 pieces
and the tokenizer. The package itself is never imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from unseen.loading.parts import needs_extra

__all__ = ["WordLlama"]

TABLE = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class WordLlama:
    """A text encoder that reads English, without PyTorch.

    Attributes
    ----------
    name, dimension, space
        See :class:`unseen.naming.TextEncoder`.

    Notes
    -----
    A sign that no piece covers, such as most emoji, is left out; a text of nothing
    else is a row of zeros.

    Examples
    --------
    >>> from unseen.naming.wordllama import WordLlama
    >>> cat, kitten, truck = WordLlama().encode(["cat", "kitten", "truck"])
    >>> bool(cat @ kitten > cat @ truck)
    True
    """

    name = "wordllama"
    dimension = 256
    space: str | None = None

    def __init__(self) -> None:
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError:
            raise needs_extra("tokenizers", "images", "Reading class names") from None
        spec = find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise needs_extra("wordllama", "images", "Reading class names")
        home = Path(spec.origin).parent
        (table,) = load_file(home / TABLE).values()
        self._table = table.astype(np.float32)
        self._tokenizer = Tokenizer.from_file(str(home / TOKENIZER))

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into (n, 256) ``float32``; nothing known is a zero row."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            found = self._tokenizer.encode(text, add_special_tokens=False)
            pieces = zip(found.ids, found.tokens, strict=True)
            known = [i for i, piece in pieces if not _says_nothing(piece)]
            if known:
                vector[:] = self._table[known].mean(axis=0)
        return vectors


def _says_nothing(piece: str) -> bool:
    """Tell a bare byte of a sign without a piece of its own, a space, the unknown."""
    byte = piece.startswith("<0x") and len(piece) == 6
    return byte or piece == "<unk>" or not piece.strip("▁")
