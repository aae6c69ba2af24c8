"""A thousand small photos in the package, and encoders that have seen them already.

100 test photos of each class of CIFAR-10 with their EfficientNet-Lite0 features, the
head of that network, and word vectors of the class names: enough to show everything
without a network, PyTorch or onnxruntime. ``data/NOTICE.md`` says where all came from.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from unseen.loading.bundled import photo_names, small_photos, stored_photos
from unseen.photos.precomputed import PrecomputedTexts


class BundledImageEncoder:
    """EfficientNet-Lite0 without its body: the head alone."""

    name = "lite0"

    def __init__(self, head: np.ndarray):
        self._head = head

    def head(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the last layer, and zeros for the intercepts."""
        return self._head, np.zeros(len(self._head), dtype=self._head.dtype)


@dataclass(frozen=True, eq=False)
class BundledPhotos:
    """The bundled photos.

    Attributes
    ----------
    classes : list of str
        The ten class names.
    features : ndarray of shape (1000, 1280)
    truth : ndarray of str
        Their classes, for scoring only.
    paths : list of str
        A name for each photo: its number among the test photos of CIFAR-10.
    jpegs : list of bytes
        The photos, 32 x 32.
    image_encoder, text_encoder
        Encoders for :class:`unseen.photos.NamedPhotos`.
    """

    classes: list[str]
    features: np.ndarray
    truth: np.ndarray
    paths: list[str]
    jpegs: list[bytes]
    image_encoder: BundledImageEncoder
    text_encoder: PrecomputedTexts


@cache
def load_photos() -> BundledPhotos:
    """Read the bundled photos, once.

    Returns
    -------
    BundledPhotos

    Examples
    --------
    >>> from unseen.photos.bundled import load_photos
    >>> load_photos().features.shape
    (1000, 1280)
    """
    part = stored_photos()
    texts, vectors = part["texts"].tolist(), part["vectors"]
    return BundledPhotos(
        classes=part["classes"].tolist(),
        features=part["features"],
        truth=part["classes"][part["y"]],
        paths=photo_names(),
        jpegs=small_photos("photos"),
        image_encoder=BundledImageEncoder(part["head"]),
        text_encoder=PrecomputedTexts(texts, vectors, space=None, name="wordllama"),
    )


def load_thumbnails(name: str) -> dict[str, bytes]:
    r"""Return the photos of a bundled set as small JPEGs, by the ``ids`` of its rows.

    Parameters
    ----------
    name : {'photos', 'pets'}
        The set, as :func:`unseen.load_data` knows it. Of ``"photos"`` the unseen rows
        have photos.

    Returns
    -------
    dict of str to bytes

    Examples
    --------
    >>> from unseen import load_data
    >>> from unseen.photos.bundled import load_thumbnails
    >>> load_thumbnails("pets")[load_data("pets").ids[0]][:2]
    b'\xff\xd8'
    """
    paths = stored_photos("pets")["paths"].tolist() if name == "pets" else photo_names()
    return dict(zip(paths, small_photos(name), strict=True))
