"""What every zero-shot classifier shares: who competes, scores, and answers.

A model file provides its objective, its solver and ``_scorer``: from class
embeddings to one linear scorer per class. Everything per row is here.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from unseen._documented import Documented
from unseen._params import (
    check_rows,
    check_rows_and_labels,
    fit_context,
)
from unseen._threads import one_thread
from unseen.class_table import ClassTable, encode, unit_blocks
from unseen.competition import Competition, EqualDescriptionsWarning
from unseen.models.answers import Answers
from unseen.models.scoring import LinearRule, LinearScorer
from unseen.rows.labelled import RunningSums, sum_stream
from unseen.rows.pile import Pile, StreamedPile, check_range
from unseen.rows.source import in_one_piece, is_stream, root_module
from unseen.rows.sums import Sums, sum_rows
from unseen.storage import Storable


class ZeroShotClassifier(Answers, Storable, Documented, ClassifierMixin, BaseEstimator):
    """Base of the zero-shot models: classes compete by their embeddings."""

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether ``fit`` came to its end."""
        return hasattr(self, "classes_")

    def __sklearn_tags__(self):
        """Declare that rows are dense."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    # ---- for the model files -------------------------------------------------

    def _scorer(self, competition: Competition) -> LinearScorer:
        """Return the inductive scorer of the competing classes."""
        raise TypeError(f"{type(self).__name__} provides no scorer.")

    def _streams_piles(self) -> bool:
        """Tell whether ``adapt`` takes a pile chunk by chunk."""
        return False

    def _unit_rows(self) -> bool:
        """Tell whether rows are scaled to unit length before they are scored."""
        return False

    def _sums(self, X, codes, n_classes: int, *, span: bool = True) -> Sums:
        """Return the sums of rows, scaled as this model scales them."""
        unit = self._unit_rows()
        return check_range(sum_rows(X, codes, n_classes, unit_rows=unit, span=span), X)

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
        self._adapted: LinearRule | None = None
        for stale in ("labels_", "reliability_", "rounds_", "given_"):
            self.__dict__.pop(stale, None)

    def _record(self, answer):
        self._set_competition(answer.competition)
        return super()._record(answer)

    def _set_competition(self, competition: Competition) -> None:
        self._default = competition
        self.competing_classes_ = competition.columns

    def _competition(self, classes: Any) -> Competition:
        """Return who competes in a prediction: by default as in the last adapt."""
        if classes is None:
            return self._default
        return self._compete(classes)

    def _compete(self, classes: Any) -> Competition:
        """Return who competes; warn, once for all rows, of those that compete as one.

        Of the default ones ``fit`` has warned already.
        """
        if isinstance(classes, Competition):
            return classes
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

    def _check_pile(self, X) -> Any:
        # On axes it shows whether the numbers are finite: no pass of its own.
        check_is_fitted(self)
        if isinstance(X, Pile):
            return X
        X = X if self._streams_piles() else in_one_piece(X)
        if root_module(X) == "dask":
            from unseen.rows.distributed_rows import DaskPile

            return DaskPile(self, X)
        if is_stream(X):
            return StreamedPile(self._check_stream(X))
        return Pile(check_rows(self, X, reset=False, ensure_all_finite=False))

    def _rule(self, competition: Competition) -> LinearRule:
        """Score as adapted where a class was adapted to, else inductively."""
        scorer = self._scorer(competition)
        if self._adapted is not None:
            theirs, adapted, _ = self._adapted
            place = theirs.find(competition.names, competition.embeddings)
            own = place >= 0
            scorer = LinearScorer(
                np.where(own[:, None], adapted.coef[place], scorer.coef),
                np.where(own, adapted.intercept[place], scorer.intercept),
            )
        return LinearRule(competition, scorer, self._unit_rows())


class FromSums(ZeroShotClassifier):
    """Base of the models that see sums and never rows: they stream, and share them."""

    _running: tuple  # what partial_fit has summed so far

    @one_thread()  # of BLAS; strips have all of them
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
        if np.count_nonzero(running.add(rows, y).counts) > 1:
            sums, table = running.finish()
            self._fit_sums(sums, table, X)
        self._running = running.state()
        return self

    @abstractmethod
    def _fit_sums(self, sums: Sums, table: ClassTable, X):
        """Fit from the sums alone; X only names the features. Return self."""
