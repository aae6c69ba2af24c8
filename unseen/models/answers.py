"""What every estimator answers for new rows: scores, labels, and an ONNX file.

One method answers for all of them, ``linear_rule``; a model whose scores are not linear
has ``_scores`` of its own and no ``to_onnx``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from unseen._params import check_rows
from unseen._threads import one_thread
from unseen.competition import Competition
from unseen.models.few_rows import is_few, kept_rule
from unseen.models.scoring import (
    LinearRule,
    best_codes,
    best_names,
    decisions,
    linear_scores,
)
from unseen.rows.source import RowStream, is_stream, open_stream, root_module

SMALL_PRODUCT = 2**18  # multiplications that BLAS does on one thread anyway


def _is_linear(self) -> bool:
    return self._is_linear()


class Answers:
    """Scores and labels of rows in memory, from files and chunks, and of Dask."""

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
            frame or mapping of tables describes new ones. A frame may name known
            classes beside new ones; their rows are left blank (NaN), or repeat what
            they were fitted with.

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

    @available_if(_is_linear)
    def linear_rule(self, classes=None) -> LinearRule:
        """Return who competes and the linear scores that new rows are labelled by.

        Parameters
        ----------
        classes : optional
            Who competes; explained at ``decision_function``.

        Returns
        -------
        LinearRule
            ``competition``, ``scorer`` with its ``coef`` and ``intercept``, and
            ``unit_rows``: whether rows get unit length first.
        """
        check_is_fitted(self)
        return self._rule(self._competition(classes))

    @available_if(_is_linear)
    def to_onnx(self, path, *, classes=None):
        """Write the (adapted) classifier as an ONNX file.

        Parameters
        ----------
        path : path
        classes : optional
            Who competes; by default as ``predict`` has it.

        Returns
        -------
        Path
            The file written; :func:`unseen.onnx_export.export_onnx` describes it.
        """
        from unseen.onnx_export import export_onnx

        return export_onnx(self, path, classes=classes)

    # ---- for the estimators ------------------------------------------------------

    @abstractmethod
    def _competition(self, classes: Any) -> Competition:
        """Return who competes in a prediction."""

    @abstractmethod
    def _rule(self, competition: Competition) -> LinearRule:
        """Return how the competing classes are scored."""

    def _is_linear(self) -> bool:
        """Tell whether scores are a linear function of (unit) rows."""
        return True

    def _scores(self, X, competition: Competition) -> np.ndarray:
        """Return the scores of rows, one column per distinct class."""
        rule = self._rule(competition)
        return linear_scores(self._check_rows(X), rule.scorer, rule.unit_rows)

    def _in_blocks(self, X, classes: Any, finish: Callable) -> Any:
        """Return ``finish(competition, scores)`` of all rows, or block by block."""
        if classes is None and is_few(self, X) and self._keeps_rules():
            rule = kept_rule(self, X.dtype, self._own_rule)
            if X.size * len(rule.scorer.intercept) <= SMALL_PRODUCT:
                scores = linear_scores(X, rule.scorer, rule.unit_rows)
                return finish(rule.competition, scores)
        return self._of_many(X, classes, finish)

    @one_thread()
    def _own_rule(self) -> LinearRule:
        """Return how the classes are scored that compete by default."""
        return self._rule(self._competition(None))

    @one_thread()  # of BLAS; strips have all of them
    def _of_many(self, X, classes: Any, finish: Callable) -> Any:
        """Return the same where holding BLAS to one thread costs little beside it."""
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
        """Return ``finish(competition, scores)`` of rows in memory.

        Labels need no scores of all rows at once where scores are linear.
        """
        if finish is not best_names or not self._is_linear():
            return finish(competition, self._scores(X, competition))
        rule = self._rule(competition)
        codes = best_codes(self._check_rows(X), rule.scorer, rule.unit_rows)
        return competition.names[codes]

    def _keeps_rules(self) -> bool:
        """Tell whether a fitted model scores by its own rule, and nothing else."""
        own = type(self)
        plain = own._scores is Answers._scores and own._finished is Answers._finished
        return plain and hasattr(self, "classes_") and self._is_linear()

    def _check_stream(self, X) -> RowStream:
        """Return X as a stream with the features of the fit."""
        stream = open_stream(X)
        validate_data(self, stream.head, skip_check_array=True, reset=False)
        return stream

    def _check_rows(self, X) -> np.ndarray:
        # Whether the numbers are finite shows in the scores: no pass of its own.
        return check_rows(self, X, reset=False, ensure_all_finite=False)
