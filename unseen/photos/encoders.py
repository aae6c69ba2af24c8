"""What sees photos: a small protocol, and who fills it.

An image encoder turns photos into features. It is looked up by name, and made only when
it is asked for:

    lite0      EfficientNet-Lite0, the default; 1,000 named prototypes in its head
    lite2      EfficientNet-Lite2, better and slower
    clip       the image tower of a CLIP model (needs PyTorch)

Photos arrive as ``uint8`` squares (see :mod:`unseen.photos.photo`), so decoding
knows nothing of networks and networks know nothing of files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from unseen.naming.encoders import make_encoder

__all__ = [
    "ImageEncoder",
    "image_encoder",
    "image_encoders",
    "register_image_encoder",
]


@runtime_checkable
class ImageEncoder(Protocol):
    """Turns square RGB photos into features.

    Attributes
    ----------
    name : str
        What it is looked up by.
    version : str
        Changes whenever the features would; cached features are kept under it.
    dimension : int
        Number of features.
    size : int
        Side of the squares it takes, in pixels.

    Notes
    -----
    A classifier also has ``head()``, its last layer as ``(weights, bias)``: a prototype
    for each class it was taught.

    Examples
    --------
    >>> from unseen.photos import ImageEncoder, image_encoder
    >>> isinstance(image_encoder("lite0"), ImageEncoder)
    True
    """

    name: str
    version: str
    dimension: int
    size: int

    def encode(self, images: np.ndarray) -> np.ndarray:
        """Turn (n, size, size, 3) ``uint8`` into (n, dimension) ``float32``."""
        ...


# name → (module, function that makes it), so that nothing heavy is imported early
_IMAGE: dict[str, tuple[str, str] | Callable[[], ImageEncoder]] = {
    "lite0": ("unseen.photos.efficientnet", "lite0"),
    "lite2": ("unseen.photos.efficientnet", "lite2"),
    "clip": ("unseen.photos.clip", "clip_images"),
}


def image_encoder(name: str) -> ImageEncoder:
    """Make an image encoder by its name.

    Parameters
    ----------
    name : str
        One of :func:`image_encoders`.

    Returns
    -------
    ImageEncoder

    Examples
    --------
    >>> from unseen.photos import image_encoder
    >>> encoder = image_encoder("lite0")
    >>> encoder.dimension, encoder.size
    (1280, 224)
    """
    return make_encoder(_IMAGE, name, "image")


def image_encoders() -> list[str]:
    """Return the names of all image encoders.

    Examples
    --------
    >>> from unseen.photos import image_encoders
    >>> image_encoders()
    ['lite0', 'lite2', 'clip']
    """
    return list(_IMAGE)


def register_image_encoder(name: str, make: Callable[[], ImageEncoder]) -> None:
    """Make an image encoder of your own known by a name.

    Parameters
    ----------
    name : str
    make : callable
        Called without arguments when the encoder is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.photos import image_encoder, register_image_encoder
    >>> class Colour:
    ...     name, version, dimension, size = "colour", "1", 3, 8
    ...     def encode(self, images):
    ...         return images.mean(axis=(1, 2), dtype=np.float32)
    >>> register_image_encoder("colour", Colour)
    >>> image_encoder("colour").encode(np.full((1, 8, 8, 3), 7, np.uint8))
    array([[7., 7., 7.]], dtype=float32)
    >>> from unseen.photos.encoders import _IMAGE
    >>> _ = _IMAGE.pop("colour")
    """
    _IMAGE[name] = make
