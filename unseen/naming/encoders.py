"""What reads names: a small protocol, and who fills it.

A text encoder turns class names into vectors. It is looked up by name, and made only
when it is asked for:

    wordllama  static word vectors, the default
    minilm     MiniLM sentence vectors (needs PyTorch)
    clip       the text tower of a CLIP model (needs PyTorch)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np

from unseen._words import listed

__all__ = [
    "TextEncoder",
    "make_encoder",
    "register_text_encoder",
    "text_encoder",
    "text_encoders",
]


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
    >>> from unseen.naming import TextEncoder, text_encoder
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
_TEXT: dict[str, tuple[str, str] | Callable[[], TextEncoder]] = {
    "wordllama": ("unseen.naming.wordllama", "WordLlama"),
    "minilm": ("unseen.naming.minilm", "MiniLM"),
    "clip": ("unseen.naming.clip", "clip_texts"),
}


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
    >>> from unseen.naming import text_encoder
    >>> text_encoder("wordllama").encode(["zebra", "okapi"]).shape
    (2, 256)
    """
    return make_encoder(_TEXT, name, "text")


def text_encoders() -> list[str]:
    """Return the names of all text encoders.

    Examples
    --------
    >>> from unseen.naming import text_encoders
    >>> text_encoders()
    ['wordllama', 'minilm', 'clip']
    """
    return list(_TEXT)


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
    >>> from unseen.naming import register_text_encoder, text_encoder
    >>> class Length:
    ...     name, dimension, space = "length", 1, None
    ...     def encode(self, texts):
    ...         return np.array([[len(text)] for text in texts], np.float32)
    >>> register_text_encoder("length", Length)
    >>> text_encoder("length").encode(["okapi"])
    array([[5.]], dtype=float32)
    >>> from unseen.naming.encoders import _TEXT
    >>> _ = _TEXT.pop("length")
    """
    _TEXT[name] = make


def make_encoder(known: Mapping[str, Any], name: str, kind: str) -> Any:
    """Make an encoder of a register: ``name → (module, function)`` or a function."""
    if name not in known:
        raise ValueError(
            f"There is no {kind} encoder {name!r}. Those known are {listed(known)}."
        )
    found = known[name]
    if isinstance(found, tuple):
        module, attribute = found
        found = getattr(import_module(module), attribute)
    return found()
