"""Label photos by class names alone.

    names → readings → prototypes (prototypes.py) → :class:`GuidedMixture`

whose rounds adapt the prototypes to unlabelled photos. No photo with a label is needed
anywhere. How little a photo is like any class is its novelty, by the names alone (a
folder of foreign photos would teach that they belong here), all rows of unit length:

    novelty(x) = 1 - max_c x·P_c
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from unseen.core.linalg import to_unit
from unseen.named import NamedItems
from unseen.naming.classes import checked_names
from unseen.naming.encoders import check_same, find_encoder, identity
from unseen.naming.reading import Reading, plain_text, read_names, saying
from unseen.naming.towers import ImageTower, TextTower
from unseen.photos.doubt import WeakNamesWarning, doubt_in_names
from unseen.photos.prototypes import NameMap, centred

# The scale on which centred cosines of CLIP are honest: on features of eight sets the
# likeliest was 28 to 57, half of them at most 32.
IN_ONE_SPACE = 32.0


class NamedPhotos(NamedItems):
    """Label photos by class names alone.

    Parameters
    ----------
    image_encoder : str or Encoder, default='lite0'
        What made the features: one with a ``head`` that knows ImageNet's 1,000 classes,
        or one whose features are comparable with the text encoder's vectors (CLIP).
    text_encoder : str or Encoder, optional
        What reads the names; by default the image encoder's own text tower, or
        ``'wordllama'`` if it has none.

    Attributes
    ----------
    classes_ : ndarray of str
        The names.
    prototypes_ : ndarray of shape (n_classes, n_features)
        What each name should look like.
    cosine_scale_ : float
        Scale on which cosines become probabilities, by leaving classes out; with a
        text encoder in the space of the photos it is IN_ONE_SPACE.
    encoder_version_ : str
        Which image encoder it is, and which version. Features of others are refused.
    read_as_, trust_ : ndarray of str
        How each name was read, and how far to trust that; see
        :class:`unseen.naming.Reading`.
    labels_, second_ : ndarray of str
        Label of every photo, and the next best ('' if there is none).
    reliability_ : ndarray of float
        Estimated chance that the label is right.
    first_trusted_ : ndarray of int
        Round since which a photo has its label; 0 if the names alone gave it.
    projected_ : ndarray of str
        Labels by the prototypes alone, before adapting.
    rounds_ : list of Round
    adapted_ : bool
        Whether ``labels_`` are the adapted answer; too few photos are not learned from.
    stopped_because_ : str
    weak_names_ : str
        Why the names say too little about these photos; "" if they do not.
    novelty_ : ndarray of float
        How little a photo is like any class, 0 to 1.
    given_ : Given
        Rows and labels that were given, if any were.

    Examples
    --------
    The bundled photos come with encoders of their own, which need nothing installed.

    >>> from unseen.photos import NamedPhotos
    >>> from unseen.photos.bundled import load_photos
    >>> photos = load_photos()
    >>> model = NamedPhotos(photos.image_encoder, photos.text_encoder)
    >>> model = model.fit(photos.classes).adapt(photos.features)
    >>> bool((model.labels_ == photos.truth).mean() > 0.74)
    True
    """

    _items = "photos"
    _encoders = {"image_encoder": "image", "text_encoder": "text"}

    def __init__(self, image_encoder="lite0", text_encoder=None):
        self.image_encoder = image_encoder
        self.text_encoder = text_encoder

    # A second thread of BLAS spins for longer than it helps.
    @threadpool_limits.wrap(limits=1, user_api="blas")
    def fit(
        self,
        names: Sequence[str],
        y=None,
        *,
        descriptions: Mapping | None = None,
        allow_unknown: bool = False,
    ) -> NamedPhotos:
        """Turn names into prototypes.

        Parameters
        ----------
        names : sequence of str
            One per class.
        y : None
            Ignored; here for scikit-learn's sake.
        descriptions : mapping of str to str, optional
            What some of the names mean, in a few words.
        allow_unknown : bool, default=False
            Accept names that are not English nouns. Of such a name the model knows only
            its word vector, not its place in WordNet.

        Returns
        -------
        self
        """
        described = {str(k): str(v) for k, v in (descriptions or {}).items()}
        names = checked_names(names, descriptions=described)
        image = find_encoder(self.image_encoder, "image")
        own = image.name if isinstance(image, ImageTower) else "wordllama"
        text = find_encoder(own if self.text_encoder is None else self.text_encoder)
        self.encoder_version_ = identity(image)
        shared = text.space is not None and text.space == image.name
        if isinstance(text, TextTower):  # of the same weights, or of others
            shared |= identity(text) == self.encoder_version_
            if shared:
                check_same(text, self.encoder_version_, "the photos were encoded")
        if shared:
            known = {
                name: f"{name}, {more}" for name, more in described.items() if more
            }
            read = getattr(text, "encode_names", text.encode)  # in sentences
            prototypes = np.asarray(read([known.get(name, name) for name in names]))
            prototypes = prototypes.astype(np.float64)
            self.cosine_scale_, plain = IN_ONE_SPACE, 0.5
            self.read_as_ = np.full(len(names), "by the text encoder")
            self.trust_ = np.full(len(names), "")
            self._places: list[tuple[int, ...]] = [()] * len(names)
        else:
            readings = read_names(names, described)
            lost = [one.name for one in readings if one.trust == "unknown"]
            if lost and not allow_unknown:
                raise ValueError(
                    f"WordNet does not know {', '.join(map(repr, lost[:3]))} as kinds "
                    f"of things. Describe them, as in '{lost[0]}: a photo of ...'."
                )
            self._places = [reading.place for reading in readings]
            self.read_as_ = np.array([reading.how for reading in readings])
            self.trust_ = np.array([reading.trust for reading in readings])
            prototypes = self._through_head(readings, described, image, text)
            # The head's rows and features have means that say nothing of one another.
            plain = 0.0
        self.rows_mean_ = np.zeros(prototypes.shape[1])
        self._begin(names, prototypes, plain)
        return self

    def _through_head(
        self, readings: list[Reading], descriptions: Any, image: Any, text: Any
    ) -> np.ndarray:
        if not hasattr(image, "head"):
            raise ValueError(
                f"Image encoder {image.name!r} has no classifier head, and text "
                f"encoder {text.name!r} does not share its space. Use 'lite0' or "
                "'lite2', or a text encoder made for these features."
            )
        to_prototypes = NameMap(image.head()[0], text)
        self.cosine_scale_ = to_prototypes.learned.cosine_scale
        more = [descriptions.get(r.name) or saying(r) for r in readings]
        pairs = zip(readings, more, strict=True)
        return to_prototypes([plain_text(r.name, text) for r, text in pairs], readings)

    def _rows(self, X) -> np.ndarray:
        rows = np.asarray(X)
        return rows if rows.dtype == np.float64 else rows.astype(np.float32)

    def _learn(self, rows: np.ndarray, given: Mapping[int, str]) -> None:
        """Warn if photos hardly bear out names, unless some are given for all."""
        n = len(self.classes_)
        self.read_as_, self.trust_ = self.read_as_[:n], self.trust_[:n]
        if len(rows) > 1:
            self.rows_mean_ = to_unit(rows).mean(axis=0)
        why = doubt_in_names(
            rows,
            self.classes_[self._by_names(rows)],
            self.classes_.tolist(),
            getattr(self, "_places", [()] * n),  # not in a file
            self.trust_.tolist(),
            float(np.mean(self.model_.reliability_)) if self.adapted_ else 0.0,
        )
        self.weak_names_ = "" if set(given.values()) >= set(self.classes_) else why
        if self.weak_names_:
            warnings.warn(self.weak_names_, WeakNamesWarning, stacklevel=4)

    def _add_given(self, rows: np.ndarray, given: Mapping[int, str]) -> None:
        super()._add_given(rows, given)
        new = len(self.classes_) - len(self.trust_)
        self.read_as_ = np.append(self.read_as_, ["by the photos you gave"] * new)
        self.trust_ = np.append(self.trust_, ["given"] * new)

    def _chances(self, rows: np.ndarray) -> np.ndarray:
        rows = rows.astype(np.float32)
        if getattr(self, "adapted_", False):
            return super()._chances(rows)
        return softmax(self.cosine_scale_ * self._cosines(rows), axis=1)

    def _by_names(self, rows: np.ndarray) -> np.ndarray:
        return self._cosines(rows).argmax(axis=1)

    def _cosines(self, rows: np.ndarray) -> np.ndarray:
        """Return cosines with the prototypes, both less their means."""
        units = to_unit(to_unit(rows) - self.rows_mean_)
        return units @ centred(self.prototypes_).T

    def _likeness(self, rows: np.ndarray) -> np.ndarray:
        return to_unit(rows.astype(np.float32)) @ to_unit(self.prototypes_).T
