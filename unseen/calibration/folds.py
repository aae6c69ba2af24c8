"""Folds that hold out classes and rows, and what a model does on them.

In turn, a part of the seen classes plays the unseen ones, and a share of the rows of
the others plays rows to come. A model fitted on what is left meets three piles:

    mixed   all held-out rows; all classes compete
    pure    the rows of the held-out classes; these compete
    open    four of five held-out classes compete; a fifth of the rows is foreign, half
            of them of the fifth class, which nobody knows, half of classes learned from
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

from unseen._words import short_list
from unseen.calibration.trust import (
    Answer,
    log_mean_exp,
    log_relative_sizes,
    logit_of,
    row_spread,
)
from unseen.core.classes import ClassTable
from unseen.model_selection.folds import as_frame, deal_classes
from unseen.progress import counted
from unseen.transduction.anchored_rounds import WeakStartWarning


class CalibrationFold(NamedTuple):
    """A model fitted without some classes and rows, and those rows.

    ``names`` are all classes of the fold, ``codes`` the true one of every row, and
    ``seen`` says which classes the model learned from. ``F0`` are the scores of all
    classes before any adapting.
    """

    model: Any
    X: np.ndarray
    codes: np.ndarray
    names: np.ndarray
    seen: np.ndarray
    F0: np.ndarray


class OpenPile(NamedTuple):
    """A pile with foreign rows: the answer, and who is known without being on offer.

    ``F_others`` are the scores of classes that the model learned from and that were
    not on offer, ``others``, before any adapting.
    """

    X: np.ndarray
    answer: Answer
    F_others: np.ndarray
    others: np.ndarray
    foreign: np.ndarray


def make_folds(
    estimator: Any, X, codes, table: ClassTable, deal: Any, seen_rows: float
) -> list[CalibrationFold]:
    """Fit the estimator once per fold; ``table`` and ``codes`` are of seen classes."""
    random = np.random.default_rng(deal.random_state)
    folds, n = [], len(table)
    for number in range(deal.n_repeats):
        seed = None if deal.random_state is None else deal.random_state + number
        for held_out in counted("folds", deal_classes(n, deal.n_folds, seed)):
            seen = np.ones(n, dtype=bool)
            seen[held_out] = False
            out = ~seen[codes] | some_rows(codes, seen_rows, random)
            model = clone(estimator).fit(
                X[~out], table.names[codes[~out]], class_embeddings=as_frame(table)
            )
            rows = X[out]
            F0 = scores_of(model, rows, table.names)
            folds.append(
                CalibrationFold(model, rows, codes[out], table.names, seen, F0)
            )
    return folds


def some_rows(codes: np.ndarray, share: float, random) -> np.ndarray:
    """Choose a share of the rows of every class, at random; at least one stays."""
    chosen = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        own = random.permutation(np.flatnonzero(codes == code))
        n = min(max(1, round(share * len(own))), len(own) - 1)
        chosen[own[:n]] = True
    return chosen


def scores_of(model: Any, X, classes) -> np.ndarray:
    """Return one column of scores per class, also if two compete."""
    F = np.asarray(model.decision_function(X, classes=classes), dtype=np.float64)
    return np.column_stack([-F / 2, F / 2]) if F.ndim == 1 else F


def answer_pile(model: Any, X, F0: np.ndarray, names, classes, **given) -> Answer:
    """Adapt the model to a pile, if it adapts; return its labels and scores.

    ``names`` are those of the columns of F0. Classes that the model dropped as absent
    have no score: no row is theirs.
    """
    if not hasattr(model, "adapt"):
        return Answer(names, F0.argmax(axis=1), F0, F0)
    model.adapt(X, classes=classes, **given)
    more = model.competing_classes_[~np.isin(model.competing_classes_, names)]
    if len(more):
        raise ValueError(
            f"given names {short_list(more)}, which does not compete. Calibrated needs "
            "all classes beforehand: name them in classes=, new ones with embeddings."
        )
    kept = np.isin(names, model.competing_classes_)
    if kept.all():
        F = scores_of(model, X, classes)
    else:
        F = np.full(F0.shape, -np.inf)
        F[:, kept] = scores_of(model, X, None)
    codes = pd.Index(names).get_indexer(model.labels_)  # -1: given as none of these
    return Answer(names, np.where(codes < 0, F.argmax(axis=1), codes), F, F0)


def answer_fold(fold: CalibrationFold, X, F0: np.ndarray, names) -> Answer:
    """Answer for a pile of a fold; a weak start there is no news of the user's pile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakStartWarning)
        return answer_pile(fold.model, X, F0, names, names)


def on_scale(answer: Answer, raw: bool) -> Answer:
    """Return an answer with scores in units of their spread, unless they have one."""
    if raw:
        return answer
    F, F0 = (M / row_spread(M) for M in (answer.F, answer.F0))
    return answer._replace(F=F, F0=F0)


def mixed_pile(fold: CalibrationFold) -> Answer:
    """Let the model answer for all held-out rows, all classes competing."""
    return answer_fold(fold, fold.X, fold.F0, fold.names)


def pure_pile(fold: CalibrationFold) -> tuple[Answer, np.ndarray]:
    """Let the model answer for the held-out classes' rows; return the truth too."""
    own = ~fold.seen[fold.codes]
    there = np.flatnonzero(~fold.seen)
    names, F0 = fold.names[there], fold.F0[own][:, there]
    answer = answer_fold(fold, fold.X[own], F0, names)
    return answer, np.searchsorted(there, fold.codes[own])


def open_pile(fold: CalibrationFold, seed: int) -> OpenPile:
    """Let the model answer for a pile with foreign rows."""
    random = np.random.default_rng([seed, 20])
    held_out = random.permutation(np.flatnonzero(~fold.seen))
    n_unknown = max(1, len(held_out) // 5) if len(held_out) > 2 else 0
    there = np.sort(held_out[n_unknown:])
    own = np.flatnonzero(np.isin(fold.codes, there))
    strange = np.flatnonzero(np.isin(fold.codes, held_out[:n_unknown]))
    known = np.flatnonzero(fold.seen[fold.codes])
    some = [random.permutation(s)[: max(1, len(own) // 8)] for s in (strange, known)]
    rows = np.concatenate([own, *some])
    names, F0, X = fold.names[there], fold.F0[rows], fold.X[rows]
    answer = answer_fold(fold, X, F0[:, there], names)
    foreign = np.arange(len(rows)) >= len(own)
    return OpenPile(X, answer, F0[:, fold.seen], fold.names[fold.seen], foreign)


def novelty_evidence(model: Any, pile: OpenPile, reliability: np.ndarray):
    """Return what speaks for a row being of no class on offer, a column each.

    The seen classes against those on offer; a broad background against those, and
    against the best of them; how reliable the label is; and the length of the row.
    Differences are of logarithms of *means* over classes, so that the number of
    classes does not matter. Where there is a background, also what was said of the row
    before foreign rows could teach anything: background against the best class and
    against the label, on prototypes alone; and the size of the class, as foreign rows
    make it larger.
    """
    X, F, F0 = pile.X, pile.answer.F, pile.answer.F0
    unclear = -logit_of(np.log(np.maximum(reliability, 1e-300)))
    if hasattr(model, "background_evidence"):
        offered = log_mean_exp(F[:, np.isfinite(F).all(axis=0)])
        broad, length, early = model.background_evidence(X).T
        known = len(pile.others) > 0
        seen = log_mean_exp(scores_of(model, X, pile.others)) if known else broad
        ratios = [broad - offered, broad - F.max(axis=1), seen - offered]
        codes = pile.answer.codes
        own = F0[np.arange(len(F0)), codes]
        before = [early - F0.max(axis=1), early - own, log_relative_sizes(codes)]
        return np.column_stack([*ratios, unclear, length, *before])
    spread = row_spread(np.hstack([F0, pile.F_others]))
    start = log_mean_exp(F0 / spread)
    known = pile.F_others.shape[1] > 0
    seen = log_mean_exp(pile.F_others / spread) if known else start
    best = F.max(axis=1) / row_spread(F)
    return np.column_stack([seen - start, -start, -best, unclear, log_lengths(X)])


def log_lengths(X: np.ndarray) -> np.ndarray:
    """Return the logarithm of each row's length, also where its square has no number.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.calibration.folds import log_lengths
    >>> log_lengths(np.array([[3e-300, 4e-300], [3e300, 4e300]])).round(1)
    array([-689.2,  692.4])
    """
    X = np.asarray(X, dtype=np.float64)
    top = np.maximum(np.abs(X).max(axis=1), 1e-300)
    lengths = np.linalg.norm(X / top[:, None], axis=1)  # at least 1, or all is zero
    return np.log(top) + np.log(np.maximum(lengths, 1))
