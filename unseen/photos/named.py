"""Label photos by class names alone.

    names → readings → prototypes (prototypes.py) → :class:`AnchoredSelfTraining`

whose rounds adapt the prototypes to unlabelled photos. No photo with a label is needed
anywhere.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unseen.models.kernel_ridge import unit
from unseen.naming.encoders import text_encoder
from unseen.naming.names import checked_descriptions, checked_names, joined
from unseen.naming.reading import Reading, plain_text, read_names
from unseen.photos.doubt import WeakNamesWarning, weak_names
from unseen.photos.encoders import image_encoder
from unseen.photos.prototypes import NameMap, centred
from unseen.storage import Storable
from unseen.transduction.anchored import AnchoredSelfTraining

__all__ = ["NamedPhotos", "PhotoRounds"]

CLIP_SCALE = 100.0  # what CLIP was trained with


# More of the pile stands in for labelled rows and its covariance is shrunk further:
# names are a better start than most, and piles of photos may be small.
FOR_PHOTOS = {"pile_share": 0.8, "pile_shrinkage": 1.0}


class PhotoRounds(AnchoredSelfTraining):
    """Anchored self-training that notes since which round a row has its label.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.photos.named import PhotoRounds
    >>> rng = np.random.default_rng(0)
    >>> Z, truth = rng.normal(size=(3, 20)), np.repeat([0, 1, 2], 100)
    >>> X = Z[truth] + rng.normal(size=(300, 20))
    >>> named = Z + 0.5 * rng.normal(size=Z.shape)  # what names say
    >>> model = PhotoRounds.from_prototypes(named, pile_share=0.8, pile_shrinkage=1.0)
    >>> model = model.adapt(X)
    >>> bool((model.first_trusted_ == 0).mean() > 0.5)  # the names had them right
    True
    """

    def _record(self, answer):
        """Store the answer, and in ``first_trusted_`` since which round rows have it.

        0 is for labels that the names alone gave.
        """
        super()._record(answer)
        self.first_trusted_ = np.zeros(len(self.labels_), dtype=int)
        for number, told in enumerate(self.rounds_[:-1], start=1):
            self.first_trusted_[told.labels != self.labels_] = number + 1
        return self


class NamedPhotos(Storable, BaseEstimator):
    """Label photos by class names alone.

    Parameters
    ----------
    image_encoder : str or ImageEncoder, default='lite0'
        What made the features: one with a ``head`` that knows ImageNet's 1,000 classes,
        or one whose features are comparable with the text encoder's vectors (CLIP).
    text_encoder : str or TextEncoder, default='wordllama'
        What reads the names.
    tree : bool, default=True
        Place names in WordNet's tree above ImageNet's classes, too.
    kernels : sequence of {'linear', 'rbf'}, default=('linear', 'rbf')
        Kernels on texts to choose from.

    Attributes
    ----------
    classes_ : ndarray of str
        The names.
    prototypes_ : ndarray of shape (n_classes, n_features)
        What each name should look like.
    explained_ : float
        Share of the variance of ImageNet's prototypes that names explain for classes
        left out; NaN where nothing had to be learned.
    kernel_, ridge_ : str, float
        What leaving classes out chose.
    cosine_scale_ : float
        Scale on which cosines become probabilities, by leaving classes out.
    read_as_, trust_ : ndarray of str
        How each name was read, and how far to trust that; see
        :class:`unseen.naming.Reading`.
    labels_, second_ : ndarray of str
        Label of every photo of the pile, and the next best ('' if there is none).
    reliability_ : ndarray of float
        Probability of the label, roughly.
    first_trusted_ : ndarray of int
        Round since which a photo has its label; 0 if the names alone gave it.
    projected_ : ndarray of str
        Labels by the prototypes alone, before adapting.
    rounds_ : list of Round
    adapted_ : bool
        Whether ``labels_`` are the adapted answer; a pile too small is not learned
        from.
    stopped_because_ : str
    weak_names_ : str
        Why the names say too little about these photos; "" if they do not.

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

    def __init__(
        self,
        image_encoder="lite0",
        text_encoder="wordllama",
        *,
        tree=True,
        kernels=("linear", "rbf"),
    ):
        self.image_encoder = image_encoder
        self.text_encoder = text_encoder
        self.tree = tree
        self.kernels = kernels

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
            Take names that are no English noun, too, by their letters alone.

        Returns
        -------
        self
        """
        names = checked_names(names)
        descriptions = checked_descriptions(descriptions, names)
        image, text = self._encoders()
        if text.space is not None and text.space == image.name:
            texts = [joined(name, descriptions) for name in names]
            self.prototypes_ = np.asarray(text.encode(texts), dtype=np.float64)
            self.explained_, self.kernel_, self.ridge_ = np.nan, "", 0.0
            self.cosine_scale_ = CLIP_SCALE
            self.read_as_ = np.full(len(names), "by the text encoder")
            self.trust_ = np.full(len(names), "")
            self._places: list[tuple[int, ...]] = [()] * len(names)
        else:
            readings = read_names(names, descriptions)
            if self.tree and not allow_unknown:
                refuse_unknown(readings)
            self._places = [reading.place for reading in readings]
            self.read_as_ = np.array([reading.how for reading in readings])
            self.trust_ = np.array([reading.trust for reading in readings])
            self._learn(readings, descriptions, image, text)
        self.classes_ = np.array(names)
        self.pile_mean_ = np.zeros(self.prototypes_.shape[1])
        frame = pd.DataFrame(self.prototypes_, index=names)
        self.model_ = PhotoRounds.from_prototypes(frame, **FOR_PHOTOS)
        return self

    def adapt(self, X) -> NamedPhotos:
        """Label photos, and let the prototypes learn from them.

        Parameters
        ----------
        X : array-like of shape (n_photos, n_features)
            Features by the image encoder.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        X = np.asarray(X)
        X = X if X.dtype == np.float64 else X.astype(np.float32)
        frame = pd.DataFrame(self.prototypes_, index=self.classes_)
        model = PhotoRounds.from_prototypes(frame, **FOR_PHOTOS).adapt(X)
        self.model_, self.labels_, self.rounds_ = model, model.labels_, model.rounds_
        self.adapted_ = model.adapted_
        self.stopped_because_ = model.stopped_because_
        self.pile_mean_ = unit(X).mean(axis=0) if len(X) > 1 else self.pile_mean_
        self.projected_ = self.classes_[self._cosines(X).argmax(axis=1)]
        chances = self.predict_proba(X)
        own = model.reliability_ if self.adapted_ else chances.max(axis=1)
        self.reliability_ = own
        self.second_ = second_best(chances, self.classes_)
        self.first_trusted_ = model.first_trusted_
        self.weak_names_ = weak_names(
            X,
            self.projected_,
            self.classes_.tolist(),
            getattr(self, "_places", [()] * len(self.classes_)),  # not in a file
            getattr(self, "trust_", self.classes_).tolist(),
        )
        if self.weak_names_:
            warnings.warn(self.weak_names_, WeakNamesWarning, stacklevel=2)
        return self

    def predict(self, X) -> np.ndarray:
        """Label photos, without learning from them."""
        check_is_fitted(self)
        return self.model_.predict(np.asarray(X, dtype=np.float32))

    def predict_proba(self, X) -> np.ndarray:
        """Return the probability of every class, in the order of ``classes_``."""
        check_is_fitted(self)
        rows = np.asarray(X, dtype=np.float32)
        # Models of an older state have no scale of their own.
        if not getattr(self, "adapted_", False) and hasattr(self, "cosine_scale_"):
            return softmax(self.cosine_scale_ * self._cosines(rows), axis=1)
        return self.model_.predict_proba(rows, classes=self.classes_.tolist())

    def _cosines(self, X) -> np.ndarray:
        """Return cosines with the prototypes, both less their means."""
        return unit(unit(X) - self.pile_mean_) @ centred(self.prototypes_).T

    @property
    def message_(self) -> str:
        """Whether the answer was adapted to the photos, and if not why, in a line."""
        check_is_fitted(self, "adapted_")
        if self.adapted_:
            return f"Adapted to {len(self.labels_):,} photos. {self.stopped_because_}"
        return f"Not adapted, by the names alone. {self.stopped_because_}"

    def save(self, path):
        """Save this model as one file, which ``unseen.load`` reads.

        Encoders are saved by name: new photos must be encoded by one of that name.

        Parameters
        ----------
        path : path

        Returns
        -------
        Path
            The file written.
        """
        stored = copy.copy(self)
        stored.__dict__.pop("_places", None)
        for one in ("image_encoder", "text_encoder"):
            encoder = getattr(self, one)
            setattr(stored, one, getattr(encoder, "name", encoder))
        return Storable.save(stored, path)

    def to_onnx(self, path, *, classes=None):
        """Write the classifier of features as an ONNX file.

        Parameters
        ----------
        path : path
        classes : list of str, optional
            Who competes; by default all classes.

        Returns
        -------
        Path
            The file written.
        """
        check_is_fitted(self)
        return self.model_.to_onnx(path, classes=classes)

    def _encoders(self) -> tuple[Any, Any]:
        image, text = self.image_encoder, self.text_encoder
        image = image_encoder(image) if isinstance(image, str) else image
        return image, text_encoder(text) if isinstance(text, str) else text

    def _learn(self, readings: list[Reading], descriptions, image, text) -> None:
        if not hasattr(image, "head"):
            raise ValueError(
                f"Image encoder {image.name!r} has no classifier head, and text "
                f"encoder {text.name!r} does not share its space. Use 'lite0' or "
                "'lite2', or a text encoder made for these features."
            )
        names = [reading.name for reading in readings]
        to_prototypes = NameMap(image.head()[0], text, self.tree, self.kernels)
        self.prototypes_ = to_prototypes(
            [plain_text(name, descriptions.get(name, "")) for name in names],
            [reading.place for reading in readings],
            names,
        )
        learned = to_prototypes.learned
        self.explained_, self.cosine_scale_ = learned.explained, learned.cosine_scale
        self.kernel_, self.ridge_ = learned.kernel, learned.ridge


def refuse_unknown(readings: list[Reading]) -> None:
    """Raise if a name has no place among English nouns."""
    lost = [reading.name for reading in readings if reading.trust == "unknown"]
    if lost:
        raise ValueError(
            f"{', '.join(map(repr, lost[:3]))} is no English noun for a kind of thing. "
            f"Describe it: '{lost[0]}: a ...', or allow unknown names "
            "(--allow-unknown), which are then read by their letters alone."
        )


def second_best(scores: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Return the name with the second largest score of every row; '' if one competes.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.photos.named import second_best
    >>> second_best(np.array([[0.1, 0.2, 0.7]]), np.array(["a", "b", "c"]))
    array(['b'], dtype='<U1')
    """
    if scores.shape[1] < 2:
        return np.full(len(scores), "")
    return names[np.argpartition(scores, -2, axis=1)[:, -2]]
