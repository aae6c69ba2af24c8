"""Label texts by class names alone.

    names, descriptions, phrasings → vectors → mean per class  Z_c  (d,)
    texts → vectors x_i  (d,)     → :class:`GuidedMixture`: names guide the clusters

How little a text is like any class is its novelty, from soft labels R (n, c) and the
mean m of all learned texts, all rows of unit length:

    μ_c = unit(Σ_i R_ic (x_i - m)),  R ∝ √p      novelty(x) = 1 - max_c unit(x - m)·μ_c
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from unseen.core.linalg import to_unit
from unseen.named import NamedItems
from unseen.naming.classes import checked_names, spoken
from unseen.naming.encoders import (
    check_same,
    encode_texts,
    encoder_name,
    find_encoder,
    identity,
)

FOREIGN = 0.67  # novelty of a text of no class; see the guide for what it costs


class NamedTexts(NamedItems):
    """Label texts by class names alone.

    Parameters
    ----------
    encoder : str, path, callable or Encoder, default='wordllama'
        What turns texts and names into vectors; see
        :func:`unseen.naming.find_encoder`.
    template : str, default=''
        A sentence with ``{}`` where a class name goes, such as
        ``'this text is about {}'``; '' takes names as they are.

    Attributes
    ----------
    classes_ : ndarray of str
        The names.
    prototypes_ : ndarray of shape (n_classes, n_features)
        What each name, with its descriptions and phrasings, says on average.
    labels_, second_ : ndarray of str
        Label of every text, and the next best; '' for a text that says nothing.
    reliability_ : ndarray of float
        Estimated chance that the label is right; NaN where there is none.
    novelty_ : ndarray of float
        How little a text is like any class, 0 to 1.
    first_trusted_ : ndarray of int
        Round since which a text has its label; 0 if the names alone gave it.
    projected_ : ndarray of str
        Labels by the names alone, before adapting.
    rounds_ : list of Round
    adapted_ : bool
        Whether ``labels_`` are the adapted answer; too few texts are not learned from.
    stopped_because_ : str
    encoder_version_ : str
        Which encoder it is, and which version, if it has one. Texts are read by no
        other.
    means_, mean_ : ndarray
        What novelty is measured by.

    Examples
    --------
    >>> from unseen.texts import NamedTexts, load_demo_texts
    >>> demo = load_demo_texts()
    >>> model = NamedTexts().fit(demo.classes).adapt(demo.texts)
    >>> bool((model.labels_ == demo.truth).mean() > 0.7)
    True
    >>> model.predict(["how long do I bake the bread?"]).tolist()
    ['cooking']
    """

    _items, _encoders = "texts", {"encoder": "text"}

    def __init__(self, encoder="wordllama", *, template=""):
        self.encoder = encoder
        self.template = template

    def fit(
        self,
        names: Sequence[str],
        y=None,
        *,
        descriptions: Mapping[str, Any] | None = None,
    ) -> NamedTexts:
        """Turn names into prototypes.

        Parameters
        ----------
        names : sequence of str
            One per class. Words joined by underscores, hyphens or capitals are read
            apart.
        y : None
            Ignored; here for scikit-learn's sake.
        descriptions : mapping of str to str or list of str, optional
            What some names mean, or texts that such a class might hold; several are
            given as a list, or in one text with ``|`` between them. The name and each
            of them count the same.

        Returns
        -------
        self
        """
        more: dict[str, list[str]] = {}
        for key, value in (descriptions or {}).items():
            parts = value.split("|") if isinstance(value, str) else map(str, value)
            more[key] = [part.strip() for part in parts if part.strip()]
        names = checked_names(names, descriptions=more)
        template = self.template or "{}"
        if template.count("{}") != 1 or template.count("{") != 1:
            raise ValueError(
                f"template is {template!r}. Write {{}} once, where the name of a class "
                "goes: 'this text is about {}'."
            )
        said = [[template.format(spoken(name)), *more.get(name, [])] for name in names]
        rows = to_unit(self._encode([*chain(*said)]).astype(np.float64))
        ends = np.cumsum([len(own) for own in said])[:-1]
        prototypes = np.array([own.mean(axis=0) for own in np.split(rows, ends)])
        silent = [n for n, row in zip(names, prototypes, strict=True) if not row.any()]
        if silent:
            raise ValueError(
                f"{', '.join(map(repr, silent[:3]))} has no meaning for the encoder "
                f"{encoder_name(self._encoder())!r}. Describe it in English: "
                f"'{silent[0]}: ...'."
            )
        self.encoder_version_ = identity(self._encoder())
        self._begin(names, prototypes)
        self._measure_by_names()
        return self

    def _measure_by_names(self) -> None:
        """Measure novelty by the prototypes, as long as no text was learned from."""
        self.means_ = to_unit(self.prototypes_)
        self.mean_ = np.zeros(self.means_.shape[1])

    def _learn(self, rows: np.ndarray, given: Mapping[int, str]) -> None:
        if not self.adapted_:
            self._measure_by_names()
            return
        self.mean_ = rows.mean(axis=0, dtype=np.float64)
        soft = np.sqrt(self._chances(rows))  # doubtful texts shape no class much
        soft /= soft.sum(axis=1, keepdims=True)
        self.means_ = to_unit(soft.T @ (rows - self.mean_))

    def _by_names(self, rows: np.ndarray) -> np.ndarray:
        return (rows @ to_unit(self.prototypes_).T).argmax(axis=1)

    def _likeness(self, rows: np.ndarray) -> np.ndarray:
        return to_unit(rows - self.mean_) @ self.means_.T

    def _encoder(self) -> Any:
        if getattr(self, "_found", (None, None))[0] is not self.encoder:
            self._found = self.encoder, find_encoder(self.encoder)
        return self._found[1]

    def _encode(self, texts: Sequence[str]) -> np.ndarray:
        return encode_texts(self._encoder(), texts)

    def _rows(self, X) -> np.ndarray:
        """Return unit rows of texts, or of their vectors."""
        if isinstance(X, str):
            raise TypeError("X is one text. Give a list of texts.")
        n_features = self.prototypes_.shape[1]
        if not (isinstance(X, np.ndarray) and X.ndim == 2):
            X = list(X)
            if strange := [text for text in X if not isinstance(text, str)]:
                raise TypeError(
                    f"X holds {strange[0]!r}, which is not a text. Give a list of "
                    "texts, or an array with one vector per row."
                )
            if X:  # a saved model may be older than what is there under a name
                known = getattr(self, "encoder_version_", "")
                check_same(self._encoder(), known, "the model was taught")
            X = self._encode(X) if X else np.zeros((0, n_features))
        if X.shape[1] != n_features:
            raise ValueError(
                f"Vectors have {X.shape[1]} numbers, but those of the names have "
                f"{n_features}. Use one encoder for both."
            )
        return to_unit(X if X.dtype == np.float64 else X.astype(np.float32))
