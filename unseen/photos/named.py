"""Class names become prototypes through the named classes that a classifier knows.

    W  (M, p)   rows of an image classifier's head, one per class it was taught
    S  (M, q)   texts of their names, as vectors      T  (N, q)  texts of our names
    k           a kernel on texts; two tables: word vectors, and ImageNet's tree

The rows, centred and of unit length, are prototypes of M classes with a name. Nodes of
the tree above them ("dog", "truck") are classes too, with the mean row of their
members. A kernel ridge learns the way from name to prototype,

    Z = k(T, S) (k(S, S) + λI)⁻¹ C

where kernel and λ are chosen by leaving out each of the M classes (without the nodes
above, which would give it away). Z starts :class:`AnchoredSelfTraining`, whose rounds
adapt it to unlabelled photos. No photo with a label is needed anywhere.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import linalg
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unseen.models.kernel_ridge import (
    EmbeddingScale,
    explained_share,
    fit_ridge,
    kernel,
    unit,
)
from unseen.naming.encoders import text_encoder
from unseen.naming.names import checked_descriptions, checked_names, joined
from unseen.naming.nouns import N_CLASSES, nouns
from unseen.photos.encoders import image_encoder
from unseen.storage import Storable
from unseen.transduction.anchored import AnchoredSelfTraining

__all__ = ["NamedPhotos", "PhotoRounds"]


# More of the pile stands in for labelled rows and its covariance is shrunk further:
# names are a better start than most, and piles of photos may be small.
FOR_PHOTOS = {"pile_share": 0.8, "pile_shrinkage": 1.0}


class PhotoRounds(AnchoredSelfTraining):
    """Anchored self-training from prototypes that notes when a row was first trusted.

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
    >>> int((model.first_trusted_ == 1).sum())
    59
    """

    def _adapt(self, pile, competition):
        """Teach the model on photos; ``first_trusted_`` is each row's first round."""
        self.first_trusted_ = np.zeros(len(pile), dtype=int)
        return super()._adapt(pile, competition)

    def _watch(self, number, selection):
        if number == 1:  # the last rounds are told
            self.first_trusted_[:] = 0
        rows = selection.rows
        fresh = rows[self.first_trusted_[rows] == 0]
        self.first_trusted_[fresh] = number


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
    labels_, second_ : ndarray of str
        Label of every photo of the pile, and the next best ('' if there is none).
    reliability_ : ndarray of float
        Probability of the label, roughly.
    first_trusted_ : ndarray of int
        Round in which a photo was first learned from; 0 if in none.
    projected_ : ndarray of str
        Labels by the prototypes alone, before adapting.
    rounds_ : list of Round
    adapted_ : bool
        Whether ``labels_`` are the adapted answer; a pile too small is not learned
        from.
    stopped_because_ : str

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
        self, names: Sequence[str], y=None, *, descriptions: Mapping | None = None
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
        else:
            self._learn(names, descriptions, image, text)
        self.classes_ = np.array(names)
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
        scores = model.predict_proba(X, classes=self.classes_.tolist())
        self.model_, self.labels_, self.rounds_ = model, model.labels_, model.rounds_
        self.second_ = second_best(scores, self.classes_)
        self.reliability_ = model.reliability_
        self.first_trusted_ = model.first_trusted_
        self.projected_ = self.classes_[cosine_answer(X, self.prototypes_)]
        self.adapted_ = model.adapted_
        self.stopped_because_ = model.stopped_because_
        return self

    def predict(self, X) -> np.ndarray:
        """Label photos, without learning from them."""
        check_is_fitted(self)
        return self.model_.predict(np.asarray(X, dtype=np.float32))

    def predict_proba(self, X) -> np.ndarray:
        """Return the probability of every class, in the order of ``classes_``."""
        check_is_fitted(self)
        rows = np.asarray(X, dtype=np.float32)
        return self.model_.predict_proba(rows, classes=self.classes_.tolist())

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

    def _learn(
        self, names: list[str], descriptions: dict[str, str], image, text
    ) -> None:
        if not hasattr(image, "head"):
            raise ValueError(
                f"Image encoder {image.name!r} has no classifier head, and text "
                f"encoder {text.name!r} does not share its space. Use 'lite0' or "
                "'lite2', or a text encoder made for these features."
            )
        C, texts, places = named_prototypes(image.head()[0])
        leaves = np.arange(len(C)) < N_CLASSES
        seen, widths = self._tables(text.encode(texts), places)
        scale = EmbeddingScale.of(seen[leaves], widths)
        S = scale(seen)
        chosen = fit_ridge([s[leaves] for s in S], C[leaves], self.kernels)
        K = kernel(chosen.kernel, S, S) + chosen.ridge * np.eye(len(C))
        alpha = linalg.solve(K, C, assume_a="pos")
        own, _ = self._tables(
            text.encode([joined(name, descriptions) for name in names]),
            [nouns().place_class(name, descriptions.get(name, "")) for name in names],
        )
        T = without_the_unknown(scale(own), own, widths, names)
        self.prototypes_ = kernel(chosen.kernel, T, S) @ alpha
        self.explained_ = explained_share(chosen.variance, C[leaves])
        self.kernel_, self.ridge_ = chosen.kernel, chosen.ridge

    def _tables(self, vectors, places) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return word vectors, and the tree's beside them, with their widths."""
        vectors = np.asarray(vectors, dtype=np.float64)
        if not self.tree:
            return vectors, (vectors.shape[1],)
        rows = nouns().vectors(places)
        return np.hstack([vectors, rows]), (vectors.shape[1], rows.shape[1])


def named_prototypes(head: np.ndarray) -> tuple[np.ndarray, list[str], list[list[int]]]:
    """Return prototypes, texts and places of ImageNet's classes and nodes above.

    Parameters
    ----------
    head : array of shape (1000, n_features)
        Rows of the classifier's last layer.

    Returns
    -------
    prototypes : ndarray
        Rows less their mean at unit length; for nodes, the mean of their members'.
    texts : list of str
        All words of every class.
    places : list of list of int
        Where each is in the tree.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.photos.named import named_prototypes
    >>> C, texts, places = named_prototypes(np.eye(1000, 3))
    >>> len(C), texts[207], places[207]
    (1849, 'golden retriever', [207])
    """
    head = np.asarray(head, dtype=np.float64)
    if len(head) != N_CLASSES:
        raise ValueError(
            f"The head has {len(head)} rows. Give an encoder that was taught the "
            f"{N_CLASSES} classes of ImageNet."
        )
    tree = nouns()
    C = unit(head - head.mean(axis=0))
    means = [C[tree.members[node]].mean(axis=0) for node in tree.inner]
    kept = [*range(N_CLASSES), *tree.inner]
    return np.vstack([C, *means]), [tree.words[k] for k in kept], [[k] for k in kept]


def without_the_unknown(
    tables: list[np.ndarray], own: np.ndarray, widths: tuple[int, ...], names: list[str]
) -> list[np.ndarray]:
    """Put a name where the average is, in each table that does not know it.

    One that no table knows is an error: its prototype would be made of nothing.
    """
    known = [
        np.any(part != 0, axis=1)
        for part in np.split(own, np.cumsum(widths)[:-1], axis=1)
    ]
    nowhere = ~np.any(known, axis=0)
    if nowhere.any():
        lost = ", ".join(repr(names[i]) for i in np.flatnonzero(nowhere)[:3])
        raise ValueError(
            f"Nothing is known of {lost}. Describe such a class in plain English words."
        )
    return [np.where(k[:, None], t, 0.0) for k, t in zip(known, tables, strict=True)]


def cosine_answer(X: np.ndarray, prototypes: np.ndarray) -> np.ndarray:
    """Return the class nearest by cosine, photos and prototypes less their means."""
    rows = unit(X)
    rows = rows - rows.mean(axis=0) if len(rows) > 1 else rows
    Z = unit(prototypes)
    Z = Z - Z.mean(axis=0) if len(Z) > 1 else Z
    return (rows @ unit(Z).T).argmax(axis=1)


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
