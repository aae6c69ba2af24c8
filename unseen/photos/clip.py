"""CLIP's image tower (Radford et al., ICML 2021), by open_clip.

Its text tower is in :mod:`unseen.naming.clip`, which also finds the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unseen.naming.clip import load_clip

__all__ = ["ClipImages", "clip_images"]


class ClipImages:
    """The image tower of a CLIP model (extra ``clip``, needs PyTorch).

    Parameters
    ----------
    model : open_clip model
    mean, std : sequences of 3 floats
        Colours are standardised by them.
    size : int
        Side of the squares it takes, in pixels.
    version : str
        Tells weights apart in the cache.

    Attributes
    ----------
    name, version, dimension, size
        See :class:`unseen.photos.ImageEncoder`.

    Examples
    --------
    >>> from unseen.photos.clip import ClipImages
    >>> ClipImages.name
    'clip'
    """

    name = "clip"

    def __init__(
        self,
        model: Any,
        mean: Sequence[float],
        std: Sequence[float],
        size: int,
        version: str,
    ) -> None:
        self._model = model
        self._mean = np.array(mean, np.float32) * 255
        self._std = np.array(std, np.float32) * 255
        self.size, self.version = size, version
        self.dimension = int(model.visual.output_dim)

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
    visual = model.visual
    size = (
        visual.image_size
        if isinstance(visual.image_size, int)
        else max(visual.image_size)
    )
    return ClipImages(model, visual.image_mean, visual.image_std, size, version)
