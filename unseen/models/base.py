"""What every zero-shot classifier shares: who competes, scores, and answers.

A model file provides its objective, its solver and ``_scorer``: from class
embeddings to one linear scorer per class. Everything per row is here.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from unseen._params import (
    check_rows,
    check_rows_and_labels,
    fit_context,
)
from unseen.class_table import (
    ClassTable,
    Competition,
    EqualDescriptionsWarning,
    encode,
    unit_blocks,
)
from unseen.rows.labelled import RunningSums, sum_stream
from unseen.rows.pile import Pile, StreamedPile, check_range, not_finite
from unseen.rows.source import (
    RowStream,
    is_stream,
    open_stream,
    root_module,
)
from unseen.rows.sums import Sums, inverse_lengths, sum_rows
from unseen.storage import Storable

SCORED_ELEMENTS = 2**16  # numbers that are scored at a time: they stay in the cache
ROWS_PER_CLASS = 8  # fewer would unpack the coefficients too often


class LinearScorer(NamedTuple):
    """One linear score per class: ``x @ coef.T + intercept``.

    ``coef`` has shape (n_classes, n_features), ``intercept`` (n_classes,).
    """

    coef: np.ndarray
    intercept: np.ndarray


class ZeroShotClassifier(Storable, ClassifierMixin, BaseEstimator):
    """Base of the zero-shot models: classes compete by their embeddings."""

    def decision_function(self, X, *, classes=None):
        """Score every row against every competing class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream
            Files, chunks and Dask collections are scored block by block; Dask gives
            Dask arrays back.
        classes : None, str, list of names, or table, default=None
            Who competes. By default the unseen classes, or all if none is unseen;
            after ``adapt`` those it was given. ``"all"``, ``"seen"`` and
            ``"unseen"`` name groups, a 1-D list names classes, and a 2-D array,
            frame or mapping of tables describes new ones.

        Returns
        -------
        ndarray of shape (n_samples, n_competing) or (n_samples,)
            One column per competing class, in order; if two compete, one number
            per row, positive for the second. Classes with equal descriptions have
            equal scores.
        """
        return self._in_blocks(X, classes, decisions)

    def predict(self, X, *, classes=None):
        """Return the best-scoring of the competing classes for every row.

        ``classes`` is explained at ``decision_function``. Of classes with equal
        descriptions the first in the table takes all rows.
        """
        return self._in_blocks(X, classes, best_names)

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether ``fit`` came to its end."""
        return hasattr(self, "classes_")

    def __sklearn_tags__(self):
        """Declare that float32 stays float32 and rows are dense."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    # ---- for the model files -------------------------------------------------

    def _scorer(self, competition: Competition) -> LinearScorer:
        """Return the inductive scorer of the competing classes."""
        raise TypeError(f"{type(self).__name__} provides no scorer.")

    def _unit_rows(self) -> bool:
        """Tell whether rows are scaled to unit length before they are scored."""
        return False

    def _sums(self, X, codes, n_classes: int) -> Sums:
        """Return the sums of rows, scaled as this model scales them."""
        return check_range(
            sum_rows(X, codes, n_classes, unit_rows=self._unit_rows()), X
        )

    def _check_training(self, X, y, class_embeddings, *, ensure_all_finite=True):
        """Return checked rows, the class table and class numbers; store nothing."""
        if is_stream(X) and not isinstance(X, np.memmap):
            raise TypeError(
                f"{type(self).__name__} needs all rows at once, but X is a "
                f"{type(X).__name__}. Give an array, or a model that learns from sums."
            )
        rows, y = check_rows_and_labels(
            X, y, estimator=self, ensure_all_finite=ensure_all_finite
        )
        return rows, *encode(y, class_embeddings)

    def _store_table(self, X, table: ClassTable) -> None:
        """Store what all fitted models hold; the last step of a ``fit``.

        X is what the caller gave: a frame names its features.
        """
        validate_data(self, X, skip_check_array=True)  # sets names and number
        self._table = table
        self.classes_ = table.names
        self.class_embeddings_ = table.embeddings
        self.unseen_classes_ = table.names[~table.seen]
        self._set_competition(self._compete(None))
        self._warn_of_twins(self._default)
        self._adapted: tuple[Competition, LinearScorer] | None = None
        for stale in ("labels_", "reliability_", "rounds_"):
            self.__dict__.pop(stale, None)

    def _set_competition(self, competition: Competition) -> None:
        self._default = competition
        self.competing_classes_ = competition.columns

    def _competition(self, classes: Any) -> Competition:
        """Return who competes in a prediction: by default as in the last adapt."""
        if classes is None:
            return self._default
        return classes if isinstance(classes, Competition) else self._compete(classes)

    def _compete(self, classes: Any) -> Competition:
        """Return who competes; warn, once for all rows, of those that compete as one.

        Of the default ones ``fit`` has warned already.
        """
        competition = self._table.competition(classes, self._seen_as)
        if classes is not None:
            self._warn_of_twins(competition)
        return competition

    def _warn_of_twins(self, competition: Competition) -> None:
        if competition.offered is not None:
            warnings.warn(
                f"{type(self).__name__}: {competition.message()}",
                EqualDescriptionsWarning,
                stacklevel=2,
            )

    def _seen_as(self, names: np.ndarray, embeddings: np.ndarray) -> np.ndarray:
        """Return what this model sees of classes; equal rows are one class to it."""
        return unit_blocks(embeddings, self._table.widths)

    def _check_rows(self, X) -> np.ndarray:
        # Whether the numbers are finite shows in the scores: no pass of its own.
        return check_rows(self, X, reset=False, ensure_all_finite=False)

    def _check_pile(self, X, *, ensure_all_finite: bool = True) -> Any:
        """Return the pile. On axes it shows whether it is finite: such need no pass."""
        check_is_fitted(self)
        if isinstance(X, Pile):
            return X
        if root_module(X) == "dask":
            from unseen.rows.distributed_rows import DaskPile

            return DaskPile(self, X)
        if is_stream(X):
            return StreamedPile(self._check_stream(X))
        rows = check_rows(self, X, reset=False, ensure_all_finite=ensure_all_finite)
        return Pile(rows)

    def _scores(self, X, competition: Competition) -> np.ndarray:
        """Return the scores of rows, one column per distinct class."""
        X = self._check_rows(X)
        scorer = self._current_scorer(competition)
        return linear_scores(X, scorer, self._unit_rows())

    def _in_blocks(self, X, classes: Any, finish: Callable) -> Any:
        """Return ``finish(competition, scores)`` of all rows, or block by block."""
        check_is_fitted(self)
        competition = self._competition(classes)
        if not is_stream(X):
            return self._finished(X, competition, finish)
        if root_module(X) == "dask":
            from unseen.rows.distributed import score_dask

            return score_dask(self, X, competition, finish)
        stream = self._check_stream(X)
        blocks = (stream.as_given(block) for block, _ in stream.blocks("scoring"))
        return np.concatenate([self._finished(b, competition, finish) for b in blocks])

    def _finished(self, X, competition: Competition, finish: Callable) -> np.ndarray:
        """Return ``finish(competition, scores)`` of rows in memory."""
        return finish(competition, self._scores(X, competition))

    def _check_stream(self, X) -> RowStream:
        """Return X as a stream with the features of the fit."""
        stream = open_stream(X)
        validate_data(self, stream.head, skip_check_array=True, reset=False)
        return stream

    def _current_scorer(self, competition: Competition) -> LinearScorer:
        """Return scorers: adapted where a class was adapted to, else inductive."""
        scorer = self._scorer(competition)
        if self._adapted is None:
            return scorer
        theirs, adapted = self._adapted
        place = theirs.find(competition.names, competition.embeddings)
        own = place >= 0
        return LinearScorer(
            np.where(own[:, None], adapted.coef[place], scorer.coef),
            np.where(own, adapted.intercept[place], scorer.intercept),
        )


class FromSums(ZeroShotClassifier):
    """Base of the models that see sums and never rows: they stream, and share them."""

    _running: tuple  # what partial_fit has summed so far

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, class_embeddings=None):
        """Learn from rows of seen classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream
            A memory map, the path of a ``.npy`` or parquet file, an HDF5 dataset, a
            pyarrow dataset, any iterable of chunks, a Dask array or dataframe.
        y : array-like of shape (n_samples,)
            Class names, or row numbers of the table if that is an array. For parquet
            also the name of a column; None if chunks are pairs (rows, labels).
        class_embeddings : DataFrame, array, mapping of tables or None, default=None
            One row per class, seen and unseen; several tables are fused. Without it
            every class is its own indicator, and the model an ordinary classifier.

        Returns
        -------
        self
        """
        self.__dict__.pop("_running", None)
        if is_stream(X):
            made = sum_stream(X, y, class_embeddings, unit_rows=self._unit_rows())
            return self._fit_sums(*made)
        # Whether the numbers are finite shows in sums of squares: no pass of its own.
        rows, table, codes = self._check_training(
            X, y, class_embeddings, ensure_all_finite=False
        )
        return self._fit_sums(self._sums(rows, codes, len(table)), table, X)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, *, class_embeddings=None):
        """Add the sums of a chunk, and learn from all chunks so far.

        Every call solves anew. To solve once, give all chunks to ``fit``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, default=None
            Class names of all chunks, where there is no table; in the first call.
        class_embeddings : optional
            As for ``fit``; in the first call.

        Returns
        -------
        self
            Unfitted until rows of two classes came.
        """
        if class_embeddings is None and classes is not None:
            names = np.unique(classes)
            class_embeddings = pd.DataFrame(np.eye(len(names)), index=names)
        rows, y = check_rows_and_labels(X, y, estimator=self)
        if hasattr(self, "_running"):
            running = RunningSums.of(self._running)
        else:
            running = RunningSums(class_embeddings, unit_rows=self._unit_rows())
        if running.n_features not in (None, rows.shape[1]):
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is "
                f"expecting {running.n_features} features as input, as in the chunks "
                "before."
            )
        running.add(rows, y)
        if running.n_met > 1:
            sums, table = running.finish()
            self._fit_sums(sums, table, X)
        self._running = running.state()
        return self

    @abstractmethod
    def _fit_sums(self, sums: Sums, table: ClassTable, X):
        """Fit from the sums alone; X only names the features. Return self."""


def decisions(competition: Competition, scores: np.ndarray) -> np.ndarray:
    """Return the scores, or one number per row where two classes compete."""
    scores = competition.spread(scores)
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def best_names(competition: Competition, scores: np.ndarray) -> np.ndarray:
    """Return the name of the best-scoring class of every row."""
    return competition.names[scores.argmax(axis=1)]


def linear_scores(X: np.ndarray, scorer: LinearScorer, unit_rows: bool) -> np.ndarray:
    """Return ``x @ coef.T + intercept`` with each row scaled to unit length or not."""
    scores = np.empty((len(X), len(scorer.intercept)), dtype=X.dtype)
    for here, block in score_blocks(X, scorer, unit_rows):
        scores[here] = block
    return scores


def best_codes(X: np.ndarray, scorer: LinearScorer, unit_rows: bool) -> np.ndarray:
    """Return the number of the best-scoring class of every row; scores are not kept."""
    codes = np.empty(len(X), dtype=np.intp)
    for here, block in score_blocks(X, scorer, unit_rows):
        block.argmax(axis=1, out=codes[here])
    return codes


def score_blocks(
    X: np.ndarray, scorer: LinearScorer, unit_rows: bool
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the scores of a block of rows, and which; the next takes their place.

    Blocks small enough for the cache, so that neither the lengths of the rows nor what
    is made of the scores costs a second journey through memory, and X is not copied.
    """
    coef = np.asarray(scorer.coef.T, dtype=X.dtype, order="F")
    intercept = scorer.intercept.astype(X.dtype)
    step = max(1, SCORED_ELEMENTS // X.shape[1], ROWS_PER_CLASS * len(intercept))
    room = np.empty((min(step, len(X)), len(intercept)), dtype=X.dtype)
    for start in range(0, len(X), step):
        here = slice(start, start + step)
        rows = X[here]
        with np.errstate(all="ignore"):  # what is not finite is told below
            block = np.matmul(rows, coef, out=room[: len(rows)])
            if unit_rows:
                block *= inverse_lengths(rows)[:, None]
            block += intercept
        if not np.isfinite(block).all():
            raise not_finite(X)
        yield here, block
