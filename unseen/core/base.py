"""The one base class: candidates, rows in, scores and labels out, learning from rows.

A model that meets rows on axes gives its parameters and

    _learn(seen)                     learn from the seen classes; sets fitted names
    _state()                         what unlabelled rows may move: ``coef_``
    _score(state, A)                 (coef, offset) on the axes, from codes of classes
    _refit(state, A, sums, lam, mu)  learn from self-labelled rows: (state, objective)

and, where it differs from the others,

    _embed(A)                        codes of classes, by default their embeddings:
                                     of unit length, less the mean of the seen or, in
                                     adapt, their own
    _codes(candidates, own_mean)     the same from the candidates as they are
    _reported(state, view)           (coef, offset) that labels are reported by
    _needs_rows()                    ``seen`` brings the rows: sums are not enough

A model with a space of its own gives ``_fit_sums(sums, table)``, which ends in
``_ready(table)``, ``_scorer(candidates)`` or ``_scoring(candidates)`` for new rows, and
``_adapt(unlabelled, candidates, given)``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

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
)
from unseen.core.given import (
    NONE_OF_THESE,
    Given,
    GivenRows,
    include,
    prototypes_of,
    read_given,
    whole_labels,
)
from unseen.core.linalg import inverse_lengths
from unseen.core.params import (
    check_rows,
    check_rows_and_labels,
    fit_context,
    not_finite,
)
from unseen.core.rows import (
    Rows,
    RowStream,
    StreamedUnlabelled,
    Unlabelled,
    checked_chunk,
    in_one_piece,
    is_stream,
    open_stream,
    root_module,
)
from unseen.core.sums import RunningSums, Sums, check_range, row_blocks, sum_rows


class Seen(NamedTuple):
    """What a solver gets of the seen classes, on the axes and centred."""

    sums: Sums
    A: np.ndarray  # (M, q) embeddings
    diagonal: bool  # whether the Gram matrix is
    table: ClassTable
    B: Any = None  # (n, p) rows, for models that need them
    codes: Any = None  # (n,) their class numbers


class View(NamedTuple):
    """Rows on the axes and codes of candidates; ``mean`` is the row taken away."""

    B: Rows
    A: np.ndarray
    mean: np.ndarray


class LinearScorer(NamedTuple):
    """One linear score per class: ``x @ coef.T + intercept``."""

    coef: np.ndarray
    intercept: np.ndarray


class LinearRule(NamedTuple):
    """Who competes, and how rows are scored: all that answers for new rows."""

    candidates: Candidates
    scorer: LinearScorer
    unit_rows: bool


@dataclass(frozen=True, eq=False, repr=False)
class Round:
    """What one round of self-training did.

    Attributes
    ----------
    rate : float
        Share of each predicted class that was kept.
    selected : ndarray of shape (n_competing,)
        Rows kept of each competing class.
    n_changed : int
        Rows whose reported label differs from the round before.
    objective : float
        Value of what the refit lowers, after it.
    labels : ndarray of shape (n_samples,) or None
        Labels after the round; not kept where the rows are not in memory.
    note : str
        What the model has to say of the round, if anything.
    n_rows : int or None
        How many unlabelled rows there are.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.core.base import Round
    >>> print(Round(0.5, np.array([2, 1]), 1, 0.0, None, n_rows=6))
    Kept 3 of 6 rows (rate 0.5); 1 label changed.
    """

    rate: float
    selected: np.ndarray
    n_changed: int
    objective: float
    labels: np.ndarray | None
    note: str = ""
    n_rows: int | None = None

    @classmethod
    def of_all(
        cls,
        candidates: Candidates,
        before: np.ndarray,
        codes: np.ndarray,
        objective: float = float("nan"),
        note: str = "",
    ) -> Round:
        """Return the round of a method that keeps every row; labels are by number."""
        counts = np.bincount(codes, minlength=len(candidates))
        changed, labels = int((before != codes).sum()), candidates.names[codes]
        objective = float(objective)
        return cls(1.0, candidates.count(counts), changed, objective, labels, note)

    @property
    def n_selected(self) -> int:
        """Rows kept in all."""
        return int(self.selected.sum())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __str__(self) -> str:
        n_rows = self.n_rows if self.labels is None else len(self.labels)
        message = (
            f"Kept {self.n_selected:,} of {n_rows:,} rows (rate "
            f"{self.rate:g}); {self.n_changed:,} "
            f"{'label' if self.n_changed == 1 else 'labels'} changed."
        )
        return f"{message} {self.note}".rstrip()


class Outcome(NamedTuple):
    """What a method says of unlabelled rows.

    ``codes`` (n,) number the class of every row among the distinct ones of
    ``rule.candidates``; ``confidence`` (n,) orders the rows, and with ``calibrated`` is
    the probability that the label is right. ``rule`` labels rows to come. ``also`` are
    further fitted names and their values.
    """

    codes: np.ndarray
    confidence: np.ndarray
    rounds: list[Round]
    rule: LinearRule
    calibrated: bool = False
    also: dict[str, Any] = {}


class ZeroShotClassifier(ClassifierMixin, BaseEstimator):
    """Base of all estimators: classes compete by their embeddings.

    The head of this file says what a model has to provide.
    """

    unit_rows = True
    whitening: float | None = None
    per_domain_centering = True

    _parameter_constraints: dict = {}
    # Parameters that change nothing that ``fit`` learns: a search fits once for all.
    _adapt_parameters: frozenset[str] = frozenset({"per_domain_centering"})

    # Fitted names; model files are checked by these types.
    _table: ClassTable
    _default: Candidates
    _running: RunningSums  # what partial_fit has summed so far
    _adapted: LinearRule | None
    coef_: np.ndarray
    axes_: np.ndarray
    mean_: np.ndarray
    embedding_mean_: np.ndarray
    labels_: np.ndarray
    reliability_: np.ndarray
    rounds_: list
    given_: Given
    novelty_: np.ndarray

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
            iterable of chunks, a Dask array or dataframe; models that need all rows at
            once say so.
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
        for stale in ("_running", "estimator_"):  # sums follow the parameters of now
            self.__dict__.pop(stale, None)
        X = in_one_piece(X) if self._needs_rows() else X
        if is_stream(X):
            return self._fit_stream(X, y, class_embeddings)
        # Whether numbers are finite shows in sums of squares: no pass of its own.
        rows, y = check_rows_and_labels(
            X, y, estimator=self, ensure_all_finite=self._needs_rows()
        )
        table, codes = encode(y, class_embeddings)
        sums = self._sums(rows, codes, len(table))
        own = ((rows, codes),) if self._needs_rows() else ()
        return self._fit_sums(sums, table, *own)._note_features(X)

    def _fit_stream(self, X, y, class_embeddings):
        running = RunningSums.of(class_embeddings, self.unit_rows)
        if root_module(X) == "dask":
            from unseen.core.dask_rows import head_of, sum_dask

            if isinstance(y, str):
                X, y = X.drop(columns=y), X[y]
            running, head = sum_dask(X, y, running), head_of(X)
        else:
            stream = open_stream(X, y)
            add_stream(running, stream, None if isinstance(y, str) else y)
            head = stream.head
        return self._fit_sums(*running.finish())._note_features(head)

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
        running = self._running.add(rows, y)
        if running.sums is not None and np.count_nonzero(running.sums.counts) > 1:
            self._fit_sums(*running.finish())._note_features(X)
        return self

    def _sums(self, X, codes, n_classes: int) -> Sums:
        """Return the sums of rows, scaled as this model scales them."""
        unit = self.unit_rows
        return check_range(sum_rows(X, codes, n_classes, unit_rows=unit, span=True), X)

    def _note_features(self, X):
        """Note the number of features, and their names if X is a frame."""
        validate_data(self, X, skip_check_array=True)
        return self

    def _needs_rows(self) -> bool:
        """Tell whether a fit needs the rows themselves, not only their sums."""
        return False

    def _fit_sums(self, sums: Sums, table: ClassTable, rows: tuple | None = None):
        """Fit from the sums; ``rows`` are (X, class numbers) for models that need them.

        Searches, streams and Dask share the sums.
        """
        seen, space = self._see(sums, table, rows)
        self._learn(seen)
        return self._settle(space, table)

    def _see(self, sums: Sums, table: ClassTable, rows: tuple | None = None):
        """Return what the solver gets, and (mean, axes, mean of embeddings)."""
        n_axes = None if self.n_axes == "all" else self.n_axes
        if self.whitening is None:
            reduced = sums.reduced(n_axes)
            on_axes, axes = reduced.sums, reduced.axes
        else:  # at unit mean square, so that ridges suit that suit rows of unit length
            reduced = sums.whitened(n_axes, self.whitening)
            square = np.trace(reduced.sums.gram) / reduced.sums.n_rows
            scale = 1 / np.sqrt(square) if square > 0 else 1.0
            on_axes, axes = reduced.sums.scaled(scale), reduced.axes * scale
        units = table.units()
        embedding_mean = sums.counts @ units / sums.n_rows
        A = (units - embedding_mean)[table.seen]
        diagonal = n_axes is not None and self.whitening is None
        seen = Seen(on_axes.for_classes(table.seen), A, diagonal, table)
        if rows is not None:
            X, codes = rows
            B = Unlabelled(X).on_axes(axes, self.unit_rows) - reduced.mean @ axes
            seen = seen._replace(B=B, codes=(np.cumsum(table.seen) - 1)[codes])
        return seen, (reduced.mean, axes, embedding_mean)

    def _settle(self, space: tuple, table: ClassTable):
        """Store where rows are met; the last step of a fit on axes."""
        self.mean_, self.axes_, self.embedding_mean_ = space
        return self._ready(table)

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
        """Who competes by default: the columns of ``decision_function``."""
        return self._default.columns

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
        return self._table.units(embeddings)

    # ---- scores and labels of new rows -----------------------------------------------

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
        return self._of_rows(X, classes, decisions)

    def predict(self, X, *, classes=None):
        """Return the best-scoring of the competing classes for every row.

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

    @available_if(lambda self: self._is_linear())
    def linear_rule(self, classes=None) -> LinearRule:
        """Return who competes and the linear scores that new rows are labelled by.

        Parameters
        ----------
        classes : optional
            Who competes; explained at ``decision_function``.

        Returns
        -------
        LinearRule
            ``candidates``, ``scorer`` with its ``coef`` and ``intercept``, and
            ``unit_rows``: whether rows get unit length first.
        """
        check_is_fitted(self)
        return self._rule(self._asked(classes))

    @available_if(lambda self: self._is_linear())
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

    def _of_rows(self, X, classes: Any, finish: Callable) -> Any:
        """Return ``finish(candidates, scores)`` of all rows, block by block."""
        check_is_fitted(self)
        candidates = self._asked(classes)
        answer = partial(answer_block, candidates, self._scoring(candidates), finish)
        if not is_stream(X):
            X = check_rows(self, X, reset=False, ensure_all_finite=False)
            blocks = row_blocks(len(X), X.shape[1], least=8 * len(candidates))
            if len(blocks) == 1:
                return answer(X)
            return np.concatenate([answer(X[here]) for here in blocks])
        if root_module(X) == "dask":
            from unseen.core.dask_rows import head_of, map_chunks

            head = head_of(X)
            validate_data(self, head, skip_check_array=True, reset=False)
            scores = np.zeros((1, len(candidates)), checked_chunk(head, "X").dtype)
            return map_chunks(X, answer, finish(candidates, scores))
        chunks = self._stream(X).blocks("scoring")
        return np.concatenate([answer(rows) for rows, _ in chunks])

    def _stream(self, X) -> RowStream:
        """Return X as a stream with the features of the fit."""
        stream = open_stream(X)
        validate_data(self, stream.head, skip_check_array=True, reset=False)
        return stream

    def _is_linear(self) -> bool:
        """Tell whether scores are a linear function of (unit) rows."""
        return True

    def _scoring(self, candidates: Candidates) -> Callable[[np.ndarray], np.ndarray]:
        """Return what makes scores of checked rows, one column per distinct class."""
        _, scorer, unit_rows = self._rule(candidates)
        return partial(linear_scores, scorer=scorer, unit_rows=unit_rows)

    def _rule(self, candidates: Candidates) -> LinearRule:
        """Score as adapted where a class was adapted to, else inductively."""
        scorer = self._scorer(candidates)
        if self._adapted is not None:
            theirs, adapted, _ = self._adapted
            place = theirs.find(candidates.names, candidates.embeddings)
            own = place >= 0
            scorer = LinearScorer(
                np.where(own[:, None], adapted.coef[place], scorer.coef),
                np.where(own, adapted.intercept[place], scorer.intercept),
            )
        return LinearRule(candidates, scorer, self.unit_rows)

    # ---- on axes ---------------------------------------------------------------------

    def _state(self) -> Any:
        """Return what unlabelled rows may move, as ``fit`` left it."""
        return self.coef_

    def _codes(self, candidates: Candidates, own_mean: bool) -> np.ndarray:
        """Return the codes of classes, less their own mean or that of the seen."""
        A = self._table.units(candidates.embeddings)
        return self._embed(A - (A.mean(axis=0) if own_mean else self.embedding_mean_))

    def _embed(self, A: np.ndarray) -> np.ndarray:
        """Return the codes of classes with these centred embeddings."""
        return A

    def _scorer(self, candidates: Candidates) -> LinearScorer:
        """Return the inductive scorer of the competing classes."""
        scorer = self._score(self._state(), self._codes(candidates, False))
        return self._in_features(scorer, self.mean_)

    def _in_features(self, scorer: tuple, mean: np.ndarray) -> LinearScorer:
        """Return a scorer on the axes, around a mean row, as one of rows."""
        coef = scorer[0] @ self.axes_.T
        return LinearScorer(coef, scorer[1] - coef @ mean)

    def _view(self, unlabelled: Unlabelled, candidates: Candidates) -> View:
        """Return rows on the axes and codes of the candidates, centred."""
        own = self.per_domain_centering
        mean = None if own else self.mean_
        B, mean = unlabelled.on(self.axes_, self.unit_rows, mean)
        return View(B, self._codes(candidates, own), mean)

    def _reported(self, state: Any, view: View) -> tuple[np.ndarray, np.ndarray]:
        """Return (coef, offset) that labels are reported by: mostly those that rank."""
        return self._score(state, view.A)

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
            Who competes; explained at ``decision_function``.
        given : mapping or Series of row number to class, or array-like, default=None
            Labels of some rows, from 0, which are certain; in an array, None, NaN and
            "" stand for rows without. Any class of the table may be named, also one
            that does not compete; where the method can, a name that no class has adds
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
            if classes is not None:
                raise ValueError(
                    f"classes={classes!r}, but given labels are all there is: they say "
                    "which classes compete. Leave classes out, or start from "
                    "prototypes."
                )
            self.fit_prototypes(prototypes_of(X, given))
        check_is_fitted(self)
        unlabelled, candidates = self._unlabelled(X), self._candidates(classes)
        self.__dict__.pop("given_", None)
        if given is None:
            return self._record(self._adapt(unlabelled, candidates, None))
        return self._adapt_given(unlabelled, candidates, given, alone)

    def _adapt_given(self, unlabelled, candidates: Candidates, given: Any, alone: bool):
        """Leave rows out that no class fits, adapt, and put them back."""
        n = len(unlabelled)
        rows, labels = read_given(given, n)
        fits = labels != NONE_OF_THESE
        kept = np.ones(n, dtype=bool)
        kept[rows[~fits]] = False
        if not kept.all():
            unlabelled = unlabelled.only(np.flatnonzero(kept))
        own, labels = (kept.cumsum() - 1)[rows[fits]], labels[fits]
        known = None
        if len(own):
            candidates, codes, new = include(
                candidates,
                labels,
                self._table,
                lambda at: self._describe(unlabelled, own[at], labels[at][0]),
            )
            known = GivenRows(np.full(int(kept.sum()), -1), new)
            known.codes[own] = codes
        self._record(self._adapt(unlabelled, candidates, known))

        def whole(found: np.ndarray) -> np.ndarray:
            return whole_labels(found, kept, rows[fits], labels)

        self.labels_ = whole(self.labels_)
        self.rounds_ = [
            replace(done, labels=whole(done.labels), n_rows=n)
            if done.labels is not None
            else done
            for done in self.rounds_
        ]
        for name in ("reliability_", "novelty_"):  # of rows that no class fits, certain
            if hasattr(self, name):
                certain = np.ones(n)
                certain[kept] = getattr(self, name)
                setattr(self, name, certain)
        self.reliability_[rows] = 1.0
        self.given_ = Given(rows, self.labels_[rows], alone)
        return self

    def _record(self, outcome: Outcome):
        """Store what ``adapt`` found."""
        codes, confidence, rounds, rule, calibrated, also = outcome
        codes, reliability = np.asarray(codes), np.array(confidence, dtype=np.float64)
        if not calibrated:
            reliability = reliability_by_rank(codes, reliability, rounds)
        self._adapted, self._default = rule, rule.candidates
        self.labels_, self.rounds_ = rule.candidates.names[codes], rounds
        self.reliability_ = reliability
        for name, value in also.items():
            setattr(self, name, value)
        return self

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

    def suggest(self, X, n: int) -> np.ndarray:
        """Return the unlabelled rows to ask a person about; see ``unseen.suggest``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that were adapted to.
        n : int

        Returns
        -------
        ndarray of int
            Row numbers; none that has a given label.
        """
        from unseen import suggest

        check_is_fitted(self, "labels_")
        given = self.given_.rows.tolist() if hasattr(self, "given_") else []
        asked = dict.fromkeys(given, NONE_OF_THESE)  # whatever it was
        return suggest(X, n, reliability=self.reliability_, given=asked)

    def _can_adapt(self) -> bool:
        """Tell whether the model learns from unlabelled rows."""
        return True

    def _streams(self) -> bool:
        """Tell whether ``adapt`` takes rows chunk by chunk."""
        return hasattr(self, "_score")

    def _unlabelled(self, X) -> Unlabelled:
        """Return the rows to adapt to, or say why they cannot be."""
        check_is_fitted(self)
        if isinstance(X, Unlabelled):
            return X
        X = X if self._streams() else in_one_piece(X)
        if root_module(X) == "dask":
            from unseen.core.dask_rows import DaskUnlabelled

            unlabelled = DaskUnlabelled(X)
            validate_data(self, unlabelled.head, skip_check_array=True, reset=False)
            return unlabelled
        if is_stream(X):
            return StreamedUnlabelled(self._stream(X))
        # On axes it shows whether the numbers are finite: no pass of its own.
        return Unlabelled(check_rows(self, X, reset=False, ensure_all_finite=False))

    def _adapt(
        self, unlabelled: Unlabelled, candidates: Candidates, given: GivenRows | None
    ) -> Outcome:
        """Take the means of the rows, and no labels: what plain models do."""
        if given is not None:
            name = type(self).__name__
            raise ValueError(
                f"{name} learns nothing from {len(given.rows)} given labels: its adapt "
                f"only centres the rows. Put rounds around it, SelfTraining({name}()), "
                "or use AnchoredSelfTraining."
            )
        view = self._view(unlabelled, candidates)
        scorer = self._reported(self._state(), view)
        [(codes, confidence)] = view.B.best(scorer)
        return Outcome(
            codes, confidence, [], self._adapted_rule(candidates, scorer, view)
        )

    def _adapted_rule(
        self, candidates: Candidates, scorer: tuple, view: View
    ) -> LinearRule:
        """Return the rule of new rows from a scorer on the axes of a view."""
        scorer = self._in_features(scorer, view.mean)
        return LinearRule(candidates, scorer, self.unit_rows)

    def _describe(self, unlabelled: Unlabelled, rows: np.ndarray, name: Any):
        """Return the embedding that would score the rows of a new class best, or raise.

        It has the length of other embeddings, all of them centred.
        """
        if not hasattr(self, "_score"):
            raise self._undescribed(name)
        some = unlabelled.only(rows)
        b = some.on_axes(self.axes_, self.unit_rows).mean(axis=0, dtype=np.float64)
        A = self._table.units() - self.embedding_mean_
        state, dims = self._state(), self._embed(np.eye(A.shape[1]))
        if hasattr(self, "_prototypes_on_axes"):
            scorers = self._prototypes_on_axes(state, dims)
        else:
            scorers = self._score(state, dims)[0]
        a = scorers @ (b - self.mean_ @ self.axes_)
        length, size = np.sqrt(np.mean(np.sum(A * A, axis=1))), np.linalg.norm(a)
        return self.embedding_mean_ + a * (length / size if size > 0 else 0.0)

    def _undescribed(self, name: Any) -> ValueError:
        """Return the error for a given class that needs a description."""
        return ValueError(
            f"given names the class {name!r}, which is not in the table, and "
            f"{type(self).__name__} needs a description of every class. Add it to the "
            "table, or use AnchoredSelfTraining or GuidedMixture."
        )


def add_stream(running: RunningSums, stream: RowStream, y: Any) -> None:
    """Add all rows of a stream, with the labels that come with them or with ``y``."""
    if (y is None) != stream.labelled:
        raise ValueError(
            f"{stream.what} comes {'with' if stream.labelled else 'without'} labels. "
            "Give y, or chunks that are pairs (rows, labels), but not both."
        )
    n_rows = 0
    for rows, labels in stream.blocks("summing"):
        own = labels if y is None else np.asarray(y[n_rows : n_rows + len(rows)])
        n_rows += len(rows)
        if len(own) == len(rows):
            running.add(rows, own)
    if y is not None and n_rows != len(y):
        raise ValueError(f"{stream.what} has {n_rows} rows, but y has {len(y)} labels.")


# ---- scores ------------------------------------------------------------------------


def linear_scores(X: np.ndarray, scorer: LinearScorer, unit_rows: bool) -> np.ndarray:
    """Return ``x @ coef.T + intercept`` with each row scaled to unit length or not."""
    with np.errstate(all="ignore"):  # what is not finite is told by answer_block
        scores = X @ scorer.coef.T.astype(X.dtype)
        if unit_rows:
            scores *= inverse_lengths(X)[:, None]
        scores += scorer.intercept.astype(X.dtype)
    return scores


def answer_block(
    candidates: Candidates, score: Callable, finish: Callable, X: np.ndarray
) -> np.ndarray:
    """Return ``finish(candidates, scores)`` of some rows."""
    return finish(candidates, finite(score(X), X))


def finite(scores: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the scores of rows X, or say why they are not finite."""
    if not np.isfinite(scores).all():
        raise not_finite(X)
    return scores


def decisions(candidates: Candidates, scores: np.ndarray) -> np.ndarray:
    """Return the scores, or one number per row where two classes compete."""
    scores = candidates.spread(scores)
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def best_names(candidates: Candidates, scores: np.ndarray) -> np.ndarray:
    """Return the name of the best-scoring class of every row."""
    return candidates.names[scores.argmax(axis=1)]


# ---- how sure ----------------------------------------------------------------------


def rank_within(
    codes: np.ndarray, confidence: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order rows by class, most confident first; ties keep the order of the rows.

    Returns (order, place of each ordered row in its class, size of each class).
    """
    order = np.lexsort((-confidence, codes))
    sizes = np.bincount(codes)
    first = np.cumsum(sizes) - sizes
    place = np.arange(len(codes)) - first[codes[order]]
    return order, place, sizes


def reliability_by_rank(
    codes: np.ndarray, confidence: np.ndarray, rounds: list[Round]
) -> np.ndarray:
    """Return a probability for methods whose scores have no scale.

        r_i   share of its class's rows that row i is not behind: 1 for the clearest
        s     one less the changes of labels per row, over all rounds

        p_i = r_i^(1/s - 1),   whose mean over the rows is s

    Labels that two answers share are more often right, and a share of that size is
    about what is right: with nothing held out, there is no better witness. The order of
    rows is the method's own. :class:`unseen.Calibrated` measures what is right on seen
    classes.
    """
    changed = sum(done.n_changed for done in rounds) / max(1, len(codes))
    share = 1 - changed if rounds else 0.5  # without rounds, one label in two
    share = min(max(share, 0.02), 0.98)  # never all, never none
    order, place, sizes = rank_within(codes, confidence)
    ranks = np.empty(len(codes))
    ranks[order] = 1 - place / sizes[codes[order]]
    return ranks ** (1 / share - 1)
