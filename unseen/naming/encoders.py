"""What turns photos, texts and class names into vectors: one protocol, one registry.

    image   lite0       EfficientNet-Lite0, the default; 1,000 named classes in its head
            lite2       EfficientNet-Lite2, better and slower
            clip        the image tower of CLIP, once its weights were fetched
            clip-half   the same with weights of half the size
            auto        clip if its weights are here, else lite0
    text    wordllama   static vectors of pieces of words, the default; English
            minilm      a small transformer (needs PyTorch)
            clip, clip-half  the text towers, for photos encoded by the image towers
            model2vec:NAME, sentence-transformers:NAME, a folder with such a model,
            or any function from a list of n texts to (n, d) numbers
    both    a checkpoint.safetensors of CLIP, a folder with a pair of ONNX graphs

An encoder is made only when it is asked for. NAME is that of a model on this machine: a
folder, or one that was fetched before; nothing is downloaded.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from os.path import isdir, isfile, join
from pkgutil import resolve_name
from typing import Any, Protocol, runtime_checkable

import numpy as np

from unseen._words import listed, shown
from unseen.naming.classes import spell_out


@runtime_checkable
class Encoder(Protocol):
    """Turns photos or texts into vectors.

    Attributes
    ----------
    name : str
        What it is looked up by, and what a saved model names it by.
    dimension : int
        Length of a vector.

    Notes
    -----
    An image encoder also has ``size``, the side in pixels of the squares it takes as
    (n, size, size, 3) ``uint8``, and ``version``, which changes whenever its features
    would: they are kept under it. It may have ``view``, what it sees of a photo:
    ``"middle"`` for its middle square, ``"whole"`` for all of it squeezed into one;
    without, the features of both are averaged. A classifier has ``head()``, its last
    layer as ``(weights, bias)``: a prototype for each class it was taught.

    A text encoder also has ``space``: the name of the image encoder whose features its
    vectors may be compared with as they are (the two towers of CLIP), or None. A text
    it knows nothing of is a row of zeros.

    Examples
    --------
    >>> from unseen.naming import Encoder, find_encoder
    >>> isinstance(find_encoder("wordllama"), Encoder)
    True
    """

    name: str
    dimension: int

    def encode(self, items: Any) -> np.ndarray:
        """Turn n photos or texts into (n, dimension) ``float32``."""
        ...


# What makes an encoder, by name and kind; a text is "module:function", so that nothing
# heavy is imported early.
_KNOWN: dict[str, dict[str, str | Callable[[], Any]]] = {
    "lite0": {"image": "unseen.photos.efficientnet:lite0"},
    "lite2": {"image": "unseen.photos.efficientnet:lite2"},
    "wordllama": {"text": "unseen.texts.encoders:WordLlama"},
    "minilm": {"text": "unseen.texts.encoders:minilm"},
}
_FETCHED = {"clip": False, "clip-half": True}  # whether of half the size


def encoders(kind: str) -> list[str]:
    """Return the names of all encoders of a kind, "image" or "text".

    Examples
    --------
    >>> from unseen.naming import encoders
    >>> encoders("image"), encoders("text")
    (['lite0', 'lite2', 'clip', 'clip-half'],
     ['wordllama', 'minilm', 'clip', 'clip-half'])
    """
    return [name for name, towers in _KNOWN.items() if kind in towers] + [*_FETCHED]


def register_encoder(kind: str, name: str, make: Callable[[], Encoder]) -> None:
    """Make an encoder of your own known by a name.

    Parameters
    ----------
    kind : {"image", "text"}
    name : str
    make : callable
        Called without arguments when the encoder is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.naming import find_encoder, register_encoder
    >>> class Colour:
    ...     name, version, dimension, size = "colour", "1", 3, 8
    ...     def encode(self, images):
    ...         return images.mean(axis=(1, 2), dtype=np.float32)
    >>> register_encoder("image", "colour", Colour)
    >>> find_encoder("colour", "image").encode(np.full((1, 8, 8, 3), 7, np.uint8))
    array([[7., 7., 7.]], dtype=float32)
    >>> from unseen.naming.encoders import _KNOWN
    >>> _ = _KNOWN.pop("colour")
    """
    _KNOWN.setdefault(name, {})[kind] = make


def has_own_text(encoder: Any) -> bool:
    """Tell whether an image encoder, by default the best one here, reads names itself.

    What is named after a ``+`` reads them in its place.
    """
    name = os.fspath(encoder or "auto")
    if name == "auto":
        name = resolve_name("unseen.naming.clip:best_encoder")()
    return _two_towers(name) is not None


def _two_towers(name: str) -> Callable[[str], Any] | None:
    """Return what opens a tower, "image" or "text", of a pair in one space, if any."""
    if name in _FETCHED:
        return partial(resolve_name("unseen.naming.clip:fetched"), half=_FETCHED[name])
    if name.endswith(".safetensors"):
        return partial(resolve_name("unseen.naming.clip:open_clip_file"), name)
    if isfile(join(name, "visual.onnx")):
        return partial(resolve_name("unseen.naming.towers:open_pair"), name)
    return None


def find_encoder(encoder: Any = "wordllama", kind: str = "text") -> Any:
    """Return what an encoder's name, folder or function stands for.

    Parameters
    ----------
    encoder : str, path, callable or Encoder, default="wordllama"
    kind : {"image", "text"}, default="text"

    Returns
    -------
    Encoder

    Examples
    --------
    >>> from unseen.naming import find_encoder
    >>> find_encoder(lambda texts: [[len(text), 1] for text in texts]).encode(["okapi"])
    array([[5., 1.]], dtype=float32)
    >>> find_encoder("lite0", "image").dimension
    1280
    """
    if isinstance(encoder, Foreign):
        raise ValueError(
            f"The model was saved with encoder {shown(encoder)}, which is not built "
            f"in. If you trust it, name it: --encoder {encoder}"
        )
    if not isinstance(encoder, str | os.PathLike):
        made = kind == "image" or hasattr(encoder, "encode")
        return encoder if made else FunctionEncoder(encoder)
    name = os.fspath(encoder)
    if name == "auto":
        best = resolve_name("unseen.naming.clip:best_encoder")
        name = best() if kind == "image" else "wordllama"
    if tower := _two_towers(name):
        return tower(kind)
    make = _KNOWN.get(name, {}).get(kind)
    if make is not None:
        return (resolve_name(make) if isinstance(make, str) else make)()
    more = ", a checkpoint.safetensors of CLIP or a folder with visual.onnx"
    if kind == "text":
        if name.startswith(("model2vec:", "sentence-transformers:")) or isdir(name):
            return resolve_name("unseen.texts.encoders:load")(name)
        more = ", a folder with a model, model2vec:NAME or sentence-transformers:NAME"
    raise ValueError(
        f"There is no {kind} encoder {name!r}. Give {listed(encoders(kind))}{more}."
    )


class Foreign(str):
    """A name by a model file: what it leads to may run code, or be another's file.

    So nothing is found by it, unless it is of a built-in encoder.
    """


class FunctionEncoder:
    """A function of yours, from a list of n texts to (n, d) numbers, as an encoder."""

    space: str | None = None

    def __init__(self, function: Callable[[list[str]], Any], name: str = "") -> None:
        if not callable(function):
            raise TypeError(
                f"{shown(function)} is not an encoder. Give a name, a folder, or a "
                "function from texts to vectors."
            )
        self._function = function
        self.name = name or encoder_name(function)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into n rows."""
        return np.asarray(self._function(list(texts)), dtype=np.float32)


def identity(encoder: Any) -> str:
    """Return what tells an encoder from all others; "" if nothing does.

    That is the digest of its weights where its version says it, wherever they lie.
    """
    version = str(getattr(encoder, "version", ""))
    named = version and f"{encoder.name}-{version}"
    return version if version.startswith("sha256") else named


def check_same(made: Any, known: str, what: str) -> None:
    """Refuse to mix what an encoder makes with what one of another identity made."""
    found = identity(made)
    if found and known and found != known:
        raise ValueError(
            f"{made.name} is not the encoder that {what} with ({found}, not {known}). "
            "They do not mix: encode the same with both."
        )


def encode_texts(encoder: Any, texts: Sequence[str]) -> np.ndarray:
    """Turn n texts into (n, d) ``float32``; a text that says nothing is a zero row.

    A text of which the encoder knows no sign, such as an emoji, is read as what
    Unicode calls its signs.
    """
    rows = np.asarray(encoder.encode(list(texts)), dtype=np.float32)
    made = f"Encoder {shown(encoder_name(encoder))} made"
    if rows.ndim != 2 or len(rows) != len(texts):
        raise ValueError(
            f"{made} an array of shape {rows.shape} of {len(texts)} texts. It must "
            "give one row per text."
        )
    if not np.isfinite(rows).all():
        place = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ValueError(
            f"{made} NaN or infinity of the text {shown(texts[place])}. It must give "
            "numbers."
        )
    silent = np.flatnonzero(~rows.any(axis=1)).tolist()
    spelt = {row: words for row in silent if (words := spell_out(texts[row]))}
    if spelt:
        rows = rows.copy()
        rows[list(spelt)] = encoder.encode(list(spelt.values()))
    return rows


def encoder_name(encoder: Any) -> str:
    """Return the name of an encoder, which a saved model finds it by."""
    if isinstance(encoder, str | os.PathLike):
        return os.fspath(encoder)
    function = getattr(encoder, "__qualname__", type(encoder).__name__)
    return str(getattr(encoder, "name", function))
