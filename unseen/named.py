"""Label items by class names alone: what photos and texts share.

    names → prototypes Z  (n_classes, n_features)
    items → rows X        (n_items, n_features)    → :class:`GuidedMixture` → labels

A subclass says how names become prototypes and items become rows, how probable each
class is for a row, and what else it learns from the rows. An item whose row is zero
says nothing, and gets no label.

A saved model knows what rows it was taught with:

    u_i  rows of unit length
    m_c  mean of the rows of class c, with the shares p_ic of every row in it
    d_i  min_c |u_i - m_c|²

A row is unlike what the model was taught with if its d is above that of 95 % of the
rows it was taught with, each of which is left out of the means it is held against; or
its whole class, for models that label classes they have not seen. Of ten sets of photos
4 to 8 % of one half are unlike the other half, and 26 to 100 % of other sets, but for
dishes, which a model of fruit takes for its own (``studies/unlike.py``).
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from unseen._words import how_many
from unseen.core.given import NONE_OF_THESE, read_given
from unseen.core.linalg import to_unit
from unseen.keep import load_model, save_model
from unseen.labels import label_table
from unseen.naming.encoders import Foreign, encoder_name, encoders
from unseen.transduction.guided_mixture import GuidedMixture

MOST = 4_000  # rows that are enough to remember
ENOUGH = 0.2  # share of rows that are unlike: more is said


class NamedItems(BaseEstimator):
    """Labels items by class names; the base of ``NamedPhotos`` and ``NamedTexts``."""

    _items: str  # what gets labels, for messages
    _encoders: dict[str, str]  # parameters that hold an encoder, and of what kind

    # What a subclass gives, of items and of rows.
    _rows: Callable[[Any], np.ndarray]
    _by_names: Callable[[np.ndarray], np.ndarray]  # number of the nearest prototype
    _likeness: Callable[[np.ndarray], np.ndarray]  # cosines with every class
    # Learns what is beside labels, once the mixture has adapted to the rows.
    _learn: Callable[[np.ndarray, Mapping[int, str]], None]

    def _begin(self, names: Any, prototypes: np.ndarray, plain: float = 0.5) -> None:
        self.classes_, self.prototypes_ = np.array(names), prototypes
        frame = pd.DataFrame(prototypes, index=self.classes_)
        self.model_ = GuidedMixture.from_prototypes(frame, plain=plain)

    def _chances(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of every class, in the order of ``classes_``."""
        chances = self.model_.predict_proba(rows)
        asked = getattr(self.model_, "competing_classes_", self.classes_)
        return chances[:, pd.Index(asked).get_indexer(self.classes_)]

    def _novelty(self, rows: np.ndarray) -> np.ndarray:
        return np.clip(1 - self._likeness(rows).max(axis=1, initial=-1), 0, 1)

    # A second thread of BLAS spins for longer than it helps.
    @threadpool_limits.wrap(limits=1, user_api="blas")
    def adapt(self, X, *, given=None):
        """Label items, and learn from them.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features), or sequence of str
            Features of photos; texts, or their vectors.
        given : mapping of row numbers to classes, or array-like, optional
            Labels of some items, which are certain. A name that no class has makes a
            new class; ``unseen.NONE_OF_THESE`` says that no class fits.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        rows = self._rows(X)
        says = np.asarray(rows.any(axis=1))
        known: dict[int, Any] = {}
        if given is not None:
            numbers, labels = read_given(given, len(rows))
            place, kept = np.cumsum(says) - 1, says[numbers]
            known = dict(zip(place[numbers[kept]].tolist(), labels[kept], strict=True))
        rows = rows[says]
        self.__dict__.pop("given_", None)
        model = self.model_
        n_named = len(model.classes_)  # without those that were given before
        self.classes_ = self.classes_[:n_named]
        self.prototypes_ = self.prototypes_[:n_named]
        if len(rows):
            model.adapt(rows, given=known or None)
            self.adapted_, self.rounds_ = bool(model.adapted_), model.rounds_
            self.stopped_because_ = model.stopped_because_
            if known:
                places = np.flatnonzero(says)[model.given_.rows]
                self.given_ = model.given_._replace(rows=places)
        else:
            self._begin(self.classes_, self.prototypes_, model.plain)
            self.adapted_, self.rounds_ = False, []
            self.stopped_because_ = f"No {self._items} say anything."
        self._learn(rows, known)
        best = self._by_names(rows)
        by_names = self.classes_[best]
        self._add_given(rows, known)
        chances = self.predict_proba(rows)
        self.taught_ = remember(rows, chances) if self.adapted_ else None
        if self.adapted_:
            labels, sure = model.labels_, model.reliability_
        else:  # too few: by the names alone
            labels, sure = by_names.astype(object), chances[np.arange(len(rows)), best]
            labels[list(known)] = list(known.values())
            labels = labels.astype(str)
        sure[list(known)] = 1.0
        since = np.zeros(len(labels), dtype=int)  # when a row got its label
        answers = [by_names, *(done.labels for done in self.rounds_)]
        for number, answer in enumerate(answers[:-1], start=1):
            since[answer != labels] = number
        self.labels_ = spread(labels, says, "")
        self.projected_ = spread(by_names, says, "")
        self.second_ = spread(second_best(chances, labels, self.classes_), says, "")
        self.reliability_ = spread(sure, says, np.nan)
        self.novelty_ = spread(self._novelty(rows), says, 1.0)
        self.first_trusted_ = spread(since, says, 0)
        return self

    def _add_given(self, rows: np.ndarray, given: Mapping[int, str]) -> None:
        """Take in the classes that no name, but rows given for them, describe.

        Their prototype lies to the mean prototype as their rows do to the mean row.
        """
        if not given:
            return
        centre = to_unit(self.prototypes_).mean(axis=0)
        units = to_unit(np.asarray(rows, dtype=np.float64))
        known = set(self.classes_.tolist())
        for name in self.model_.competing_classes_.tolist():
            if name not in known:
                own = units[[row for row, label in given.items() if label == name]]
                prototype = centre + own.mean(axis=0) - units.mean(axis=0)
                self.prototypes_ = np.vstack([self.prototypes_, prototype])
                self.classes_ = np.append(self.classes_, name)

    def answer(self, X=None) -> pd.DataFrame:
        """Return label, reliability, second choice and novelty of items, as a table.

        Parameters
        ----------
        X : as ``adapt`` takes it, optional
            Nothing is learned from these items; without them, the answers for those
            that were adapted to.

        Returns
        -------
        DataFrame
        """
        check_is_fitted(self)
        since: Any = 0
        if X is None:
            labels, second, sure = self.labels_, self.second_, self.reliability_
            novelty, since = self.novelty_, self.first_trusted_
        else:
            rows = self._rows(X)
            says = np.asarray(rows.any(axis=1))
            chances = self.predict_proba(rows)
            best = self.classes_[chances.argmax(axis=1)]
            labels = np.where(says, best, "")
            second = np.where(says, second_best(chances, best, self.classes_), "")
            sure = np.where(says, chances.max(axis=1, initial=0), np.nan)
            novelty = np.where(says, self._novelty(rows), 1.0)
        columns = {"label": labels, "reliability": sure, "second": second}
        return pd.DataFrame(columns | {"first_trusted": since, "novelty": novelty})

    def predict(self, X) -> np.ndarray:
        """Label items, without learning from them; '' for one that says nothing."""
        return self.answer(X)["label"].to_numpy(dtype=str)

    def predict_proba(self, X) -> np.ndarray:
        """Return the probability of every class, in the order of ``classes_``."""
        check_is_fitted(self)
        rows = self._rows(X)
        return self._chances(rows) if len(rows) else np.zeros((0, len(self.classes_)))

    def novelty(self, X) -> np.ndarray:
        """Return how little items are like any class, 0 to 1."""
        return self.answer(X)["novelty"].to_numpy(dtype=float)

    def unlike(self, X) -> np.ndarray:
        """Tell which items are unlike those that the model adapted to.

        About one in twenty is among items of the same kind. A model that did not adapt
        knows no items, and finds none unlike them.
        """
        check_is_fitted(self)
        rows = self._rows(X)
        taught = getattr(self, "taught_", None)
        if taught is None:
            return np.zeros(len(rows), dtype=bool)
        return taught.unlike(rows) & rows.any(axis=1)

    @property
    def message_(self) -> str:
        """Whether the answer was adapted to the items, and if not why, in a line."""
        check_is_fitted(self, "adapted_")
        why, items = self.stopped_because_, self._items
        if not self.adapted_:
            return f"Not adapted, by the names alone. {why}"
        n = int(np.isfinite(self.reliability_).sum())
        message = f"Adapted to {how_many(n, items[:-1])}. {why}"
        if n < 5 * len(self.classes_):  # each shapes the class it is then found sure of
            message += f" Fewer than 5 {items} per class: reliability is a guess, "
            message += "and mostly too high."
        return message

    def save(self, path):
        """Save this model as one file, which ``unseen.load_model`` reads.

        Encoders are saved by name: what is new must be encoded by one of that name.

        Parameters
        ----------
        path : path

        Returns
        -------
        Path
            The file written.
        """
        stored = copy.copy(self)
        for private in [key for key in vars(stored) if key.startswith("_")]:
            del stored.__dict__[private]
        for one in self._encoders:
            if getattr(self, one) is not None:
                setattr(stored, one, encoder_name(getattr(self, one)))
        return save_model(stored, path)

    def _loaded(self) -> None:
        """After loading: a file may name built-in encoders, and no other."""
        for one, kind in self._encoders.items():
            name = getattr(self, one)
            if name not in (None, "auto", *encoders(kind)):
                setattr(self, one, Foreign(name))


class LabelJob:
    """Items to label, and what labels them; :meth:`parts` yields tables of labels.

    Parameters
    ----------
    kind : type
        What labels them.
    classes : str, path, list, dict or DataFrame, optional
        What the classes are, unless ``model`` knows.
    model : path, optional
        A model saved before, instead of ``classes``: items get its answers as it is,
        nothing is adapted.
    given : mapping of str to str, optional
        Labels of some items by their ids, which are certain. A name that no class has
        makes a new class; ``unseen.NONE_OF_THESE`` says that no class fits.
    unknown : bool, default=False
        Set items apart that are like no class, as ``unseen.NONE_OF_THESE``.
    progress : callable, optional
        Called with the number of items done and in all.
    """

    items: str  # what gets labels, for messages
    fitted: Any  # a NamedItems
    skipped: list[tuple[str, str]]  # path and reason of files that hold no such item
    parts: Callable[[], Iterator[pd.DataFrame]]

    def __init__(
        self,
        kind: type,
        classes: Any,
        *,
        model: str | os.PathLike[str] | None = None,
        given: Mapping[str, str] | None = None,
        unknown: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        if (classes is None) == (model is None):
            raise ValueError(
                "Give either the classes or a saved model, which has them."
            )
        self.given, self.unknown, self.progress = dict(given or {}), unknown, progress
        self.adapts = model is None  # whether it learns from the items
        self.n_items = self.n_unlike = 0  # known after parts, as what follows
        self.weak_names, self.advice = "", ""  # why not to trust names; what is better
        self.readings: list[tuple[str, str, str]] = []  # name, trust, how it was read
        if model is not None:
            self.fitted = load_model(model)
            if not isinstance(self.fitted, kind):
                raise ValueError(
                    f"{model} is a {type(self.fitted).__name__}. Give a model that "
                    f"unseen label saved for {self.items}."
                )

    @property
    def adapted(self) -> bool:
        """Whether the answer was adapted to the items."""
        return self.adapts and bool(self.fitted.adapted_)

    @property
    def message(self) -> str:
        """Whether the answer was adapted, and if not why, in a line."""
        if self.adapts:
            return self.fitted.message_
        message = "The saved model labelled them without learning from them."
        foreign = unlike_message(self.n_unlike, self.n_items, self.items)
        return f"{message} {foreign}".rstrip()

    def answer(self, X: Any) -> pd.DataFrame:
        """Return what the model answers; a saved one says what it does not know."""
        if self.adapts:
            return self.fitted.answer(X)
        rows = self.fitted._rows(X)  # texts are read once
        unlike = self.fitted.unlike(rows)
        self.n_unlike += int(unlike.sum())
        return self.fitted.answer(rows).assign(unlike=np.where(unlike, "yes", ""))

    def frame(self) -> pd.DataFrame:
        """Return all labels as one table, whose ``attrs`` hold what else is known."""
        frame = pd.concat(list(self.parts()), ignore_index=True)
        frame.attrs |= {"message": self.message, "adapted": self.adapted}
        frame.attrs["skipped"] = self.skipped
        return frame

    def table(
        self, found: pd.DataFrame, ids: Sequence[str], **more: Any
    ) -> pd.DataFrame:
        """Return answers as a table of labels, in which given ones are certain."""
        found = found.reset_index(drop=True)
        if self.given:
            mine = np.array([self.given.get(key, "") for key in ids], dtype=object)
            rows = mine != ""
            found.loc[rows & (found["second"] == mine), "second"] = ""
            found.loc[rows, "label"], found.loc[rows, "reliability"] = mine[rows], 1.0
            more["given"] = mine.astype(str)
        return label_table(found.pop("label").to_numpy(), ids=ids, **found, **more)


def refuse_lost(lost: Collection[str], why: str) -> None:
    """Raise if a label is given for an item that is not there."""
    if lost:
        raise ValueError(
            f"A label is given for {min(lost)!r}, but {why} "
            f"({how_many(len(lost), 'such label')}). Write ids as in the table of "
            "labels."
        )


def set_apart(found: pd.DataFrame, most: float) -> pd.Series:
    """Label answers of more novelty as none of these; the label becomes the second."""
    apart = (found["label"] != "") & (found["novelty"] > most)
    found.loc[apart, "second"] = found.loc[apart, "label"]
    found.loc[apart, "label"] = NONE_OF_THESE
    return apart


def spread(values: np.ndarray, where: np.ndarray, empty: Any) -> np.ndarray:
    """Return values at their places, and something empty at all others."""
    whole = np.full(len(where), empty, dtype=values.dtype)
    whole[where] = values
    return whole


def second_best(chances: np.ndarray, labels: Any, names: np.ndarray) -> np.ndarray:
    """Return the most probable class other than the label; '' if one competes."""
    if chances.shape[1] < 2:
        return np.full(len(chances), "", dtype=names.dtype)
    own = pd.Index(names).get_indexer(pd.Index(np.asarray(labels)))
    others, labelled = chances.copy(), own >= 0  # some are none of these
    others[labelled, own[labelled]] = -1
    return names[others.argmax(axis=1)]


# ---- what a model was taught with ----------------------------------------------------


class Taught(NamedTuple):
    """What rows a model was taught with: means of classes, and the usual distance."""

    means: np.ndarray
    usual: float

    def unlike(self, X: Any) -> np.ndarray:
        """Tell which rows are unlike those."""
        found = np.zeros(len(X), dtype=bool)
        for at in range(0, len(X), MOST):
            rows = to_unit(np.asarray(X[at : at + MOST], np.float32))
            found[at : at + MOST] = distances(rows, self.means).min(axis=1) > self.usual
        return found


def remember(X: Any, shares: np.ndarray, *, whole_classes: bool = False) -> Taught:
    """Remember rows by their shares in classes, (n_rows, n_classes)."""
    some = np.linspace(0, len(X) - 1, min(len(X), MOST)).astype(int)
    rows = to_unit(np.asarray(X[some], dtype=np.float32))
    shares = shares[some][:, shares[some].sum(axis=0) > 1e-6].astype(np.float32)
    sizes = shares.sum(axis=0)
    means = (shares.T @ rows) / sizes[:, None]
    far = distances(rows, means)
    if whole_classes:
        far[shares > 0] = np.inf
    else:  # from the mean of all others: the factor follows from the row's own share
        far *= (sizes / np.maximum(sizes - shares, 1e-9)) ** 2
    return Taught(means, float(np.quantile(far.min(axis=1), 0.95)))


def distances(rows: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return squared distances, (n_rows, n_classes)."""
    lengths = (rows**2).sum(axis=1)[:, None] + (means**2).sum(axis=1)
    return np.maximum(lengths - 2 * rows @ means.T, 0)


def unlike_message(n_unlike: int, n: int, items: str) -> str:
    """Return what is to be said where many rows are unlike; "" where few are."""
    if n_unlike <= ENOUGH * n:
        return ""
    return (
        f"{n_unlike:,} of {n:,} {items} are unlike those that the model learned "
        "from (column unlike). Do not trust their labels, whatever their reliability."
    )
