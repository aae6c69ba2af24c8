"""What sees photos and what reads names: two small protocols, and who fills them.

An image encoder turns photos into features; a text encoder turns class names into
vectors. Each is looked up by name, and made only when it is asked for:

    lite0      EfficientNet-Lite0, the default; 1,000 named prototypes in its head
    lite2      EfficientNet-Lite2, better and slower
    wordllama  static word vectors, the default
    minilm     MiniLM sentence vectors (needs PyTorch)
    clip       both towers of a CLIP model (needs PyTorch)

Photos arrive as ``uint8`` squares (see :mod:`unseen.images.photo`), so decoding
knows nothing of networks and networks know nothing of files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, runtime_checkable

import numpy as np

from unseen.loading.parts import listed

__all__ = [
    "ImageEncoder",
    "TextEncoder",
    "image_encoder",
    "image_encoders",
    "register_image_encoder",
    "register_text_encoder",
    "text_encoder",
    "text_encoders",
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
    >>> from unseen.images import ImageEncoder, image_encoder
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


@runtime_checkable
class TextEncoder(Protocol):
    """Turns texts into vectors.

    Attributes
    ----------
    name : str
        What it is looked up by.
    dimension : int
        Length of a vector.
    space : str or None
        Name of the image encoder whose features these vectors may be compared with
        as they are (the two towers of CLIP); None if a map must be learned first.

    Examples
    --------
    >>> from unseen.images import TextEncoder, text_encoder
    >>> isinstance(text_encoder("wordllama"), TextEncoder)
    True
    """

    name: str
    dimension: int
    space: str | None

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into (n, dimension) ``float32``; nothing known is a zero row."""
        ...


# name → (module, function that makes it), so that nothing heavy is imported early
_IMAGE: dict[str, tuple[str, str] | Callable[[], ImageEncoder]] = {
    "lite0": ("unseen.images.efficientnet", "lite0"),
    "lite2": ("unseen.images.efficientnet", "lite2"),
    "clip": ("unseen.images.clip", "clip_images"),
}
_TEXT: dict[str, tuple[str, str] | Callable[[], TextEncoder]] = {
    "wordllama": ("unseen.images.wordllama", "WordLlama"),
    "minilm": ("unseen.images.minilm", "MiniLM"),
    "clip": ("unseen.images.clip", "clip_texts"),
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
    >>> from unseen.images import image_encoder
    >>> eyes = image_encoder("lite0")
    >>> eyes.dimension, eyes.size
    (1280, 224)
    """
    return _make(_IMAGE, name, "image")


def text_encoder(name: str) -> TextEncoder:
    """Make a text encoder by its name.

    Parameters
    ----------
    name : str
        One of :func:`text_encoders`.

    Returns
    -------
    TextEncoder

    Examples
    --------
    >>> from unseen.images import text_encoder
    >>> text_encoder("wordllama").encode(["zebra", "okapi"]).shape
    (2, 256)
    """
    return _make(_TEXT, name, "text")


def image_encoders() -> list[str]:
    """Return the names of all image encoders.

    Examples
    --------
    >>> from unseen.images import image_encoders
    >>> image_encoders()
    ['lite0', 'lite2', 'clip']
    """
    return list(_IMAGE)


def text_encoders() -> list[str]:
    """Return the names of all text encoders.

    Examples
    --------
    >>> from unseen.images import text_encoders
    >>> text_encoders()
    ['wordllama', 'minilm', 'clip']
    """
    return list(_TEXT)


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
    >>> from unseen.images import image_encoder, register_image_encoder
    >>> class Colour:
    ...     name, version, dimension, size = "colour", "1", 3, 8
    ...     def encode(self, images):
    ...         return images.mean(axis=(1, 2), dtype=np.float32)
    >>> register_image_encoder("colour", Colour)
    >>> image_encoder("colour").encode(np.full((1, 8, 8, 3), 7, np.uint8))
    array([[7., 7., 7.]], dtype=float32)
    >>> from unseen.images.encoder import _IMAGE
    >>> _ = _IMAGE.pop("colour")
    """
    _IMAGE[name] = make


def register_text_encoder(name: str, make: Callable[[], TextEncoder]) -> None:
    """Make a text encoder of your own known by a name.

    Parameters
    ----------
    name : str
    make : callable
        Called without arguments when the encoder is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.images import register_text_encoder, text_encoder
    >>> class Length:
    ...     name, dimension, space = "length", 1, None
    ...     def encode(self, texts):
    ...         return np.array([[len(text)] for text in texts], np.float32)
    >>> register_text_encoder("length", Length)
    >>> text_encoder("length").encode(["okapi"])
    array([[5.]], dtype=float32)
    >>> from unseen.images.encoder import _TEXT
    >>> _ = _TEXT.pop("length")
    """
    _TEXT[name] = make


def _make(known: dict, name: str, kind: str):
    if name not in known:
        raise ValueError(
            f"There is no {kind} encoder {name!r}. Those known are {listed(known)}."
        )
    found = known[name]
    if isinstance(found, tuple):
        module, attribute = found
        found = getattr(import_module(module), attribute)
    return found()
