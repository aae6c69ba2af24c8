"""How good labels are, on mixed rows too, and how far stated probabilities hold.

Every class counts the same, however many rows it has. Generalized zero-shot learning,
where seen and unseen classes compete, weighs both sides the same. Calibration compares
what was stated as reliability with what is right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from unseen._words import short_list


def per_class_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean recall over the classes of ``y_true``; large classes weigh no more.

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,)
        True and predicted classes, both names or both numbers.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from unseen import per_class_accuracy
    >>> y_true = ["zebra", "zebra", "zebra", "okapi"]
    >>> per_class_accuracy(y_true, ["zebra", "zebra", "zebra", "zebra"])
    0.5
    """
    y_true, y_pred = check_pair(y_true, y_pred)
    _, codes = np.unique(y_true, return_inverse=True)
    right = np.bincount(codes, weights=y_true == y_pred)
    return float(np.mean(right / np.bincount(codes)))


# ---- seen and unseen classes compete -------------------------------------------------


def generalized_scores(
    y_true: ArrayLike,
    scores: ArrayLike | pd.DataFrame,
    *,
    seen: ArrayLike,
    classes: ArrayLike | None = None,
) -> dict[str, float]:
    """Score labels of mixed rows, where seen and unseen classes are candidates.

    Subtract a number from the scores of all seen classes, and they lose accuracy while
    unseen ones gain. AUSUC is the area under the curve of all such trades, so that
    nobody has to choose the number.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes, some of them seen and some unseen.
    scores : array or DataFrame of shape (n_samples, n_competing)
        One column per class, larger is better. The best score of a row is its label.
    seen : array of classes
        Those among the columns that were seen.
    classes : array of shape (n_competing,), optional
        The class of each column; not needed for a DataFrame.

    Returns
    -------
    dict
        ``U`` and ``S``, per-class accuracy on rows of unseen and of seen classes;
        ``H = 2 S U / (S + U)``, their harmonic mean; ``AUSUC``, the area.

    References
    ----------
    Chao, Changpinyo, Gong and Sha, An empirical study and analysis of generalized
    zero-shot learning for object recognition in the wild, ECCV 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> from unseen import generalized_scores
    >>> scores = pd.DataFrame({"zebra": [0.9, 0.8], "okapi": [0.1, 0.7]})
    >>> generalized_scores(["zebra", "okapi"], scores, seen=["zebra"])
    {'U': 0.0, 'S': 1.0, 'H': 0.0, 'AUSUC': 1.0}
    """
    values, names = check_scores(scores, classes)
    y_true = check_labels("y_true", y_true)
    check_consistent_length(y_true, values)
    columns = names.get_indexer(pd.Index(y_true))
    if (columns < 0).any():
        raise ValueError(
            f"y_true holds {y_true[columns < 0].tolist()[0]!r}, which no column of "
            f"scores stands for. The columns stand for {short_list(names)}."
        )
    known = names.isin(check_labels("seen", seen))
    labels = names.to_numpy()[values.argmax(axis=1)]
    found = both_sides(y_true, labels, labels, seen)
    lead, on_seen, on_unseen = trade_of(values, columns, known)
    # As the number grows, rows go over to unseen classes in the order of their lead.
    _, place = np.unique(lead, return_inverse=True)
    lost, won = (np.bincount(place, weights=one) for one in (on_seen, on_unseen))
    S = np.append(lost.sum(), lost.sum() - lost.cumsum())
    return found | {"AUSUC": float((S[1:] + S[:-1]) / 2 @ won)}


def both_sides(y_true, for_seen, for_unseen, seen) -> dict[str, float]:
    """Return U, S and H of the labels that rows of seen and unseen classes got."""
    truth = check_labels("y_true", y_true)
    theirs = np.isin(truth, np.asarray(seen))
    if theirs.all() or not theirs.any():
        lacks = "unseen" if theirs.all() else "seen"
        raise ValueError(f"No row of y_true is of a {lacks} class. Give rows of both.")
    U = per_class_accuracy(truth[~theirs], for_unseen[~theirs])
    S = per_class_accuracy(truth[theirs], for_seen[theirs])
    return {"U": U, "S": S, "H": 2 * S * U / (S + U) if S + U else 0.0}


class Trade(NamedTuple):
    """What a handicap of seen classes trades: their lead over unseen ones, row by row.

    ``on_seen`` and ``on_unseen`` are what a row adds to its side's per-class accuracy
    if it goes to the best class of that side.
    """

    lead: np.ndarray
    on_seen: np.ndarray
    on_unseen: np.ndarray

    def harmonic_means(self, handicaps: np.ndarray) -> np.ndarray:
        """Return the harmonic mean of both accuracies at every handicap."""
        stays = self.lead > np.asarray(handicaps)[:, None]
        S, U = stays @ self.on_seen, ~stays @ self.on_unseen
        return 2 * S * U / np.maximum(S + U, 1e-300)


def trade_of(F: np.ndarray, codes: np.ndarray, seen: np.ndarray) -> Trade:
    """Return the trade of rows with scores F, true codes, and who was seen."""
    sizes = np.bincount(codes, minlength=len(seen))
    best, worth = [], []
    for side in (seen, ~seen):
        group = np.flatnonzero(side)
        hit = group[F[:, group].argmax(axis=1)] == codes
        best.append(F[:, group].max(axis=1))
        worth.append(hit / sizes[codes] / max(1, np.count_nonzero(sizes[side])))
    return Trade(best[0] - best[1], *worth)


# ---- what is stated and what is right ------------------------------------------------


def reliability_curve(right: ArrayLike, reliability: ArrayLike) -> pd.DataFrame:
    """Compare reliability with the share that is right, in 15 bins of equal width.

    Parameters
    ----------
    right : array of bool of shape (n_samples,)
        Whether each label is right.
    reliability : array of shape (n_samples,)
        The estimated chance of that.

    Returns
    -------
    DataFrame
        ``rows``, ``stated`` and ``right`` (means) of every bin that holds rows.

    Examples
    --------
    >>> from unseen import reliability_curve
    >>> reliability_curve([True, False, True], [0.9, 0.9, 0.2])
       rows  stated  right
    0     1     0.2    1.0
    1     2     0.9    0.5
    """
    right, stated = _checked(right, reliability)
    bins = np.minimum((stated * 15).astype(int), 14)
    frame = pd.DataFrame({"rows": 1, "stated": stated, "right": right.astype(float)})
    how = {"rows": "sum", "stated": "mean", "right": "mean"}
    return frame.groupby(bins).agg(how).reset_index(drop=True)


def expected_calibration_error(right: ArrayLike, reliability: ArrayLike) -> float:
    """Return how far reliability is from the share that is right, on average.

    Parameters
    ----------
    right, reliability
        As for :func:`reliability_curve`.

    Returns
    -------
    float
        The gap between stated and right, bin by bin, weighed by rows; 0 is best.

    Examples
    --------
    >>> from unseen import expected_calibration_error
    >>> round(expected_calibration_error([True, False], [0.8, 0.8]), 6)
    0.3
    """
    curve = reliability_curve(right, reliability)
    gap = (curve["stated"] - curve["right"]).abs()
    return float(np.average(gap, weights=curve["rows"]))


def risk_coverage(right: ArrayLike, reliability: ArrayLike) -> pd.DataFrame:
    """Say how right the most reliable rows are, for every share of rows kept.

    Parameters
    ----------
    right, reliability
        As for :func:`reliability_curve`.

    Returns
    -------
    DataFrame
        ``coverage``, the share of rows kept; ``right``, the share of these that are
        right; ``reliability``, the least kept. Rows of equal reliability go together.

    Examples
    --------
    >>> from unseen import risk_coverage
    >>> risk_coverage([True, False, True], [0.9, 0.2, 0.9])
       coverage     right  reliability
    0  0.666667  1.000000          0.9
    1  1.000000  0.666667          0.2
    """
    right, stated = _checked(right, reliability)
    levels, place = np.unique(-stated, return_inverse=True)
    kept, hits = np.bincount(place).cumsum(), np.bincount(place, right).cumsum()
    columns = {"coverage": kept / len(right), "right": hits / kept}
    return pd.DataFrame({**columns, "reliability": -levels})


def _checked(right: ArrayLike, reliability: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    right, stated = np.asarray(right), np.asarray(reliability, dtype=np.float64)
    if right.ndim != 1 or right.shape != stated.shape or not right.size:
        raise ValueError(
            f"right has shape {right.shape} and reliability {stated.shape}. Give one "
            "of each for every row."
        )
    bad = ~((stated >= 0) & (stated <= 1))
    if bad.any():
        raise ValueError(
            f"reliability holds {stated[bad][0]!r}. Give probabilities from 0 to 1."
        )
    return right.astype(bool), stated


# ---- what metrics may be given -------------------------------------------------------


def check_pair(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return true and predicted labels as arrays of one kind and length."""
    true, pred = check_labels("y_true", y_true), check_labels("y_pred", y_pred)
    check_consistent_length(true, pred)
    if (true.dtype.kind == "U") != (pred.dtype.kind == "U"):
        raise TypeError(
            f"y_true holds {true.tolist()[0]!r} and y_pred {pred.tolist()[0]!r}. "
            "Give class names in both or numbers in both."
        )
    return true, pred


def check_labels(name: str, labels: ArrayLike) -> np.ndarray:
    """Return labels as one dimension of names or of numbers."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            f"{name} has shape {labels.shape}. Give one dimension of labels, not empty."
        )
    if pd.isna(labels).any():
        raise ValueError(f"{name} holds a missing value. Give a class for every row.")
    return np.array(labels.tolist()) if labels.dtype.kind == "O" else labels


def check_scores(
    scores: ArrayLike | pd.DataFrame, classes: ArrayLike | None
) -> tuple[np.ndarray, pd.Index]:
    """Return scores as a matrix, and the class of every column."""
    if classes is None:
        if not isinstance(scores, pd.DataFrame):
            raise ValueError(
                f"scores is a {type(scores).__name__} without class names. "
                "Give classes, one per column, or a DataFrame."
            )
        classes = scores.columns
    names = pd.Index(check_labels("classes", classes))
    values = np.asarray(scores)
    if values.ndim == 1 and len(names) == 2:
        values = np.column_stack([-values, values])
    if values.ndim != 2 or values.shape[1] != len(names):
        raise ValueError(
            f"scores has shape {values.shape}, but there are {len(names)} classes. "
            "Give one column per class."
        )
    if not names.is_unique:
        again = names[names.duplicated()][0]
        raise ValueError(f"Two columns of scores are for {again!r}. Keep one.")
    if values.dtype.kind not in "fiub" or np.isnan(values).any():
        raise ValueError("scores holds NaN or something that is not a number. Mend it.")
    return values, names
