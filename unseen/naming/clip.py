"""CLIP: photos and texts in one space (Radford et al., ICML 2021).

A class name put into a few sentences is a prototype as it stands, so no map from names
to features has to be learned:

    prototype(name) = mean over prompts p of  text(p(name)) / |text(p(name))|

open_clip runs the model. Its weights are a name of its list, which it downloads, or a
file; ``UNSEEN_CLIP`` says which, as ``architecture:weights``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unseen._command import needs_extra

__all__ = ["ClipImages", "ClipTexts", "clip_images", "clip_texts", "load_clip"]

DEFAULT = "ViT-B-32:laion2b_s34b_b79k"
PROMPTS = ("a photo of a {}.", "a blurry photo of a {}.", "a photo of many {}.")


class ClipTexts:
    """The text tower of a CLIP model (extra ``clip``, needs PyTorch).

    Prompts are sentences with ``{}`` where the text goes.
    """

    name = "clip"
    space: str | None = "clip"

    def __init__(
        self, model: Any, tokenizer: Any, prompts: Sequence[str] = PROMPTS
    ) -> None:
        self._model, self._tokenizer, self._prompts = model, tokenizer, prompts
        self.dimension = int(model.visual.output_dim)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into unit rows, (n, dimension); an empty one is a zero row."""
        import torch

        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            if not text.strip():
                continue
            sentences = [prompt.format(text) for prompt in self._prompts]
            with torch.inference_mode():
                rows = self._model.encode_text(
                    self._tokenizer(sentences), normalize=True
                )
            mean = rows.numpy().mean(axis=0)
            vector[:] = mean / np.linalg.norm(mean)
        return vectors


def clip_texts() -> ClipTexts:
    """Make the text tower of the model that ``UNSEEN_CLIP`` names."""
    model, tokenizer, _version = load_clip()
    return ClipTexts(model, tokenizer)


class ClipImages:
    """The image tower of a CLIP model (extra ``clip``, needs PyTorch)."""

    name = "clip"

    def __init__(self, model: Any, version: str) -> None:
        visual = model.visual
        sides = visual.image_size
        self._model, self.version = model, version
        self._mean = np.array(visual.image_mean, np.float32) * 255
        self._std = np.array(visual.image_std, np.float32) * 255
        self.size = sides if isinstance(sides, int) else max(sides)
        self.dimension = int(visual.output_dim)

    def encode(self, images: np.ndarray) -> np.ndarray:
        """Turn (n, size, size, 3) ``uint8`` into unit rows, (n, dimension)."""
        import torch

        pixels = (images.astype(np.float32) - self._mean) / self._std
        with torch.inference_mode():
            batch = torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)))
            return self._model.encode_image(batch, normalize=True).numpy()


def clip_images() -> ClipImages:
    """Make the image tower of the model that ``UNSEEN_CLIP`` names."""
    model, _tokenizer, version = load_clip()
    return ClipImages(model, version)


def load_clip() -> tuple[Any, Any, str]:
    """Return the model, tokenizer and version that ``UNSEEN_CLIP`` names."""
    return _load(os.environ.get("UNSEEN_CLIP", DEFAULT))


@lru_cache(maxsize=1)  # both towers come from one load
def _load(wanted: str) -> tuple[Any, Any, str]:
    try:
        import open_clip
    except ImportError:
        raise needs_extra("open_clip_torch", "clip", "CLIP") from None
    architecture, _, weights = wanted.partition(":")
    if not weights:
        raise ValueError(
            f"UNSEEN_CLIP={wanted!r} names no weights. Write architecture:weights, "
            f"such as {DEFAULT}."
        )
    model = open_clip.create_model(architecture, pretrained=weights)
    model.eval()
    if Path(weights).is_file():  # known by its content, wherever it is
        with open(weights, "rb") as file:
            weights = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    version = f"{architecture.replace('/', '-')}-{weights}"
    return model, open_clip.get_tokenizer(architecture), version
