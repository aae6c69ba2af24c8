"""The one base class: candidates, rows in, scores and labels out, learning from rows.

A model gives its parameters and

    _fit_sums(sums, table, rows=None)
                                     learn from sums; ends in ``_ready(table)``
    _scorer(candidates)              a ``LinearScorer`` of rows; where scores are not
                                     linear, ``_rule(candidates)``, a function of rows
    _adapt(unlabelled, candidates, given)
                                     what it makes of unlabelled rows: an ``Outcome``

and, where it differs from the others,

    _needs_rows()                    ``_fit_sums`` gets (rows, their codes) as ``rows``
    _streams()                       ``_adapt`` takes rows chunk by chunk
    _seen_as(names, embeddings)      equal rows of this compete as one class
    _describe(unlabelled, rows, name)
                                     the embedding of a class that only rows describe
    _lend(unlabelled, candidates)    where other methods start from it

Most models meet rows on axes: ``unseen/core/on_axes.py`` asks less of them.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from unseen.core.classes import (
    Candidates,
    ClassTable,
    EqualDescriptionsWarning,
    encode,
    places,
)
from unseen.core.given import adapt_given, prototypes_of
from unseen.core.linalg import to_unit
from unseen.core.outcome import LinearRule, LinearScorer, Outcome, reliability_by_rank
from unseen.core.params import (
    bounds_of,
    check_rows,
    check_rows_and_labels,
    fit_context,
    not_finite,
)
from unseen.core.rows import Unlabelled, in_one_piece, is_stream, open_stream
from unseen.core.start import Start
from unseen.core.sums import RunningSums, sum_rows


class ZeroShotClassifier(ClassifierMixin, BaseEstimator):
    """Base of all estimators: classes compete by their embeddings.

    The head of this file says what a model has to provide.
    """

    unit_rows = True

    # Parameters that change nothing that ``fit`` learns: a search fits once for all.
    _adapt_parameters: frozenset[str] = frozenset({"per_domain_centering"})

    _own_rows = False  # whether a seen class is placed by rows of its own, too
    _adapted: Any  # the LinearRule that ``adapt`` left, or None

    def __init_subclass__(cls, **kwargs) -> None:
        """Take what the parameters may be from their annotations."""
        super().__init_subclass__(**kwargs)
        if "_parameter_constraints" not in vars(cls):
            cls._parameter_constraints = bounds_of(cls)

    def __sklearn_tags__(self):
        """Declare that sparse rows will do, where sums are enough."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._needs_rows()
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether ``fit`` came to its end."""
        return hasattr(self, "classes_")

    # ---- learning from the seen classes ----------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, *, class_embeddings=None):
        """Learn from rows of seen classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream
            A memory map, the path of a ``.npy`` or parquet file, an HDF5 dataset, any
            iterable of chunks, a Dask array or dataframe, a sparse matrix; models that
            need all rows at once say so.
        y : array-like of shape (n_samples,)
            Class names, or row numbers of the table if that is an array. For parquet
            also the name of a column; None if chunks are pairs (rows, labels).
        class_embeddings : DataFrame, array, mapping or None, default=None
            One row per class, seen and unseen: a table, a mapping of names to vectors,
            or a mapping of several tables, which are fused. Without it every class is
            its own indicator, and the model an ordinary classifier.

        Returns
        -------
        self
        """
        for stale in ("_running", "estimator_"):  # sums follow the parameters of now
            self.__dict__.pop(stale, None)
        X = in_one_piece(X) if self._needs_rows() else X
        if is_stream(X):
            stream = open_stream(X, y)
            running = RunningSums.of(class_embeddings, self.unit_rows)
            sums, table = stream.summed(y, running).finish()
            return self._fit_sums(sums, table)._note_features(stream.head)
        # Whether numbers are finite shows in sums of squares: no pass of its own.
        rows, y = check_rows_and_labels(
            X, y, estimator=self, ensure_all_finite=self._needs_rows()
        )
        table, codes = encode(y, class_embeddings)
        how = {"unit_rows": self.unit_rows, "span": True}
        sums = sum_rows(rows, codes, len(table), **how)
        own = (rows, codes) if self._needs_rows() else None
        return self._fit_sums(sums, table, own)._note_features(X)

    @available_if(lambda self: not self._needs_rows())
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
        first = not hasattr(self, "_running")
        rows, y = check_rows_and_labels(X, y, self, reset=first)
        if first:
            self._running = RunningSums.of(class_embeddings, self.unit_rows)
        running = self._running = self._running.add(rows, y)
        if running.sums is not None and np.count_nonzero(running.sums.counts) > 1:
            self._fit_sums(*running.finish())._note_features(X)
        return self

    def _note_features(self, X):
        """Note the number of features, and their names if X is a frame."""
        validate_data(self, X, skip_check_array=True)
        return self

    def _needs_rows(self) -> bool:
        """Tell whether a fit needs the rows themselves, not only their sums."""
        return False

    def _ready(self, table: ClassTable, *, warn: bool = True):
        """Store what all fitted models hold; the last step of a ``fit``."""
        self._table = table
        self.classes_, self.class_embeddings_ = table.names, table.embeddings
        self.unseen_classes_ = table.names[~table.seen]
        self._default = self._candidates(None)
        self._adapted = None
        if warn:
            self._warn_of_twins(self._default)
        for stale in ("labels_", "reliability_", "rounds_", "given_"):
            self.__dict__.pop(stale, None)
        return self

    # ---- who competes ----------------------------------------------------------------

    @property
    def competing_classes_(self) -> np.ndarray:
        """The default candidates: the columns of ``decision_function``."""
        return self._default.columns

    @property
    def _seen_names(self) -> np.ndarray:
        """Names of the seen classes."""
        return self._table.names[self._table.seen]

    def _candidates(self, classes: Any) -> Candidates:
        """Return who competes; warn of those that compete as one."""
        if isinstance(classes, Candidates):
            return classes
        candidates = self._table.candidates(classes, self._seen_as)
        if classes is not None:  # else ``fit`` has warned already
            self._warn_of_twins(candidates)
        return candidates

    def _asked(self, classes: Any) -> Candidates:
        """Return who competes in a prediction: by default as in the last adapt."""
        return self._default if classes is None else self._candidates(classes)

    def _warn_of_twins(self, candidates: Candidates) -> None:
        if not candidates.all_differ:
            warnings.warn(
                f"{type(self).__name__}: {candidates.message()}",
                EqualDescriptionsWarning,
                stacklevel=2,
            )

    def _seen_as(self, names: np.ndarray, embeddings: np.ndarray) -> np.ndarray:
        """Return what this model sees of classes; equal rows are one class to it."""
        units, known = self._table.units(embeddings), self._seen_names
        if not self._own_rows or not len(known):
            return units
        return np.column_stack([units, (places(names, known) + 1) / len(known)])

    # ---- scores and labels of new rows -----------------------------------------------

    def decision_function(self, X, *, classes=None):
        """Score every row against every candidate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream
            Files, chunks and Dask collections are scored block by block; Dask gives
            Dask arrays back.
        classes : None, str, list of names, or table, default=None
            The candidates. By default the unseen classes, or all if none is unseen;
            after ``adapt`` those it was given. ``"all"``, ``"seen"`` and
            ``"unseen"`` name groups, a 1-D list names classes, and a 2-D array,
            frame or mapping of tables describes new ones. A frame may name known
            classes beside new ones; their rows are left blank (NaN), or repeat what
            they were fitted with.

        Returns
        -------
        ndarray of shape (n_samples, n_competing) or (n_samples,)
            One column per candidate, in order; of two candidates, one number
            per row, positive for the second. Classes with equal descriptions have
            equal scores.
        """
        return self._of_rows(X, classes, decisions)

    def predict(self, X, *, classes=None):
        """Return the best-scoring candidate for every row.

        ``classes`` is explained at ``decision_function``. Of classes with equal
        descriptions the first in the table takes all rows.
        """
        return self._of_rows(X, classes, best_names)

    @available_if(lambda self: hasattr(self, "_probabilities"))
    def predict_proba(self, X, *, classes=None):
        """Return the probability of every competing class for every row.

        ``classes`` is explained at ``decision_function``. Classes with equal
        descriptions share one probability, which each of them shows: only then do
        rows sum to more than 1.
        """
        return self._of_rows(X, classes, self._probabilities)

    def to_onnx(self, path, *, classes=None):
        """Write the (adapted) classifier as an ONNX file.

        Parameters
        ----------
        path : path
        classes : optional
            The candidates; by default as in ``predict``.

        Returns
        -------
        Path
            The file written; :func:`unseen.onnx_export.export_onnx` describes it.
        """
        from unseen.onnx_export import export_onnx

        return export_onnx(self, path, classes=classes)

    def _of_rows(self, X, classes: Any, finish: Callable) -> Any:
        """Return ``finish(candidates, scores)`` of all rows, block by block."""
        check_is_fitted(self)
        candidates = self._asked(classes)
        answer = partial(answer_block, candidates, self._rule(candidates), finish)
        return self._checked(X).answers(answer, len(candidates))

    def _checked(self, X) -> Unlabelled:
        """Return rows with the features of the fit, wherever they are."""
        if is_stream(X):
            stream = open_stream(X)
            validate_data(self, stream.head, skip_check_array=True, reset=False)
            return stream
        # In scores it shows whether the numbers are finite: no pass of its own.
        return Unlabelled(check_rows(self, X, reset=False, ensure_all_finite=False))

    def _rule(self, candidates: Candidates) -> Any:
        """Return what makes scores of checked rows, one column per distinct class.

        As adapted where a class was adapted to, else inductively.
        """
        met = (place := self._met(candidates)) >= 0
        if not met.any():
            return LinearRule(candidates, self._scorer(candidates), self.unit_rows)
        coef, intercept = (part[place] for part in self._adapted.scorer)
        if not met.all():
            others = self._scorer(candidates)
            coef = np.where(met[:, None], coef, others.coef)
            intercept = np.where(met, intercept, others.intercept)
        scorer = LinearScorer(coef, intercept)
        return LinearRule(candidates, scorer, self._adapted.unit_rows)

    def _met(self, candidates: Candidates) -> np.ndarray:
        """Return which of the classes adapted to each one is; -1 for none."""
        if self._adapted is None:
            return np.full(len(candidates), -1)
        return self._adapted.candidates.find(candidates)

    # ---- learning from unlabelled rows -----------------------------------------------

    @available_if(lambda self: self._can_adapt())
    @fit_context(prefer_skip_nested_validation=False)
    def adapt(self, X, *, classes=None, given=None):
        """Learn from unlabelled rows.

        Starts from what ``fit`` learned, whatever was adapted to before.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream
            Files, chunks and Dask collections where the method can go through the rows
            block by block; others say so. With ``given``, a stream is met twice.
        classes : None, str, list of names, or table, default=None
            The candidates; explained at ``decision_function``.
        given : mapping or Series of row number to class, or array-like, default=None
            Labels of some rows, from 0, which are certain; in an array, None, NaN and
            "" mean no label. Any class of the table may be named, also one
            that is not a candidate; where the method can, a name that no class has adds
            a class whose prototype is its rows. ``unseen.NONE_OF_THESE`` says that no
            class fits: the row has that label, -1 if classes are numbers, and nothing
            is learned from it. A method that takes prototypes needs no other start:
            ``GuidedMixture().adapt(X, given=...)``.

        Returns
        -------
        self
            With ``labels_``, ``reliability_`` and ``rounds_``; and ``given_``, if
            labels were given.
        """
        alone = given is not None and hasattr(self, "fit_prototypes")
        if alone and self.__sklearn_is_fitted__():
            alone = hasattr(self, "given_") and self.given_.alone
        if alone:
            self.fit_prototypes(prototypes_of(X, given))
        check_is_fitted(self)
        unlabelled, candidates = self._unlabelled(X), self._candidates(classes)
        self.__dict__.pop("given_", None)
        if given is None:
            return self._record(self._adapt(unlabelled, candidates, None))
        return adapt_given(self, unlabelled, candidates, given, alone)

    def _record(self, outcome: Outcome):
        """Store what ``adapt`` found."""
        codes, confidence, rounds, rule, calibrated = outcome
        codes, reliability = np.asarray(codes), np.array(confidence, dtype=np.float64)
        if not calibrated:
            reliability = reliability_by_rank(codes, reliability, rounds)
        self._adapted, self._default = rule, rule.candidates
        self.labels_, self.rounds_ = rule.candidates.names[codes], rounds
        self.reliability_ = reliability
        return self

    def _can_adapt(self) -> bool:
        """Tell whether the model learns from unlabelled rows."""
        return True

    def _streams(self) -> bool:
        """Tell whether ``adapt`` takes rows chunk by chunk."""
        return False

    def _unlabelled(self, X) -> Unlabelled:
        """Return the rows to adapt to, or say why they cannot be."""
        check_is_fitted(self)
        if type(X) is Unlabelled:
            return X
        return self._checked(X if self._streams() else in_one_piece(X))

    def _describe(self, unlabelled: Unlabelled, rows: np.ndarray, name: Any):
        """Return the embedding that would score the rows of a new class best."""
        raise ValueError(
            f"given names the class {name!r}, which is not in the table, and "
            f"{type(self).__name__} needs a description of every class. Add it to the "
            "table, or use AnchoredSelfTraining or GuidedMixture."
        )

    def _lend(self, unlabelled: Unlabelled, candidates: Candidates) -> Start:
        """Return where other methods start: here at scores alone, in unit rows."""
        scores, rows = self._rule(candidates)(unlabelled.X), to_unit(unlabelled.X)
        mean = rows.mean(axis=0, dtype=np.float64)
        rows = rows - mean
        return Start.of_scores(candidates, rows, scores, mean=mean)

    # ---- afterwards ------------------------------------------------------------------

    def save(self, path):
        """Save this model as one file, which ``unseen.load_model`` reads.

        Parameters
        ----------
        path : path
            Where to; the file appears whole or not at all.

        Returns
        -------
        Path
            The file written.
        """
        from unseen.keep import save_model

        return save_model(self, path)


def answer_block(
    candidates: Candidates, score: Callable, finish: Callable, X: np.ndarray
) -> np.ndarray:
    """Return ``finish(candidates, scores)`` of some rows; scores are finite."""
    scores = score(X)
    if not np.isfinite(scores).all():
        raise not_finite(X)
    return finish(candidates, scores)


def decisions(candidates: Candidates, scores: np.ndarray) -> np.ndarray:
    """Return the scores, or one number per row where two classes compete."""
    scores = candidates.spread(scores)
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def best_names(candidates: Candidates, scores: np.ndarray) -> np.ndarray:
    """Return the name of the best-scoring class of every row."""
    return candidates.names[scores.argmax(axis=1)]
