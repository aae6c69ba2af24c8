"""How far stated probabilities can be believed: calibration and risk."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

__all__ = ["expected_calibration_error", "reliability_curve", "risk_coverage"]


def reliability_curve(
    right: ArrayLike, reliability: ArrayLike, *, n_bins: int = 15
) -> pd.DataFrame:
    """Compare what was stated with what was right, in bins of equal width.

    Parameters
    ----------
    right : array of bool of shape (n_samples,)
        Whether each label is right.
    reliability : array of shape (n_samples,)
        The probability that was stated for it.
    n_bins : int, default=15

    Returns
    -------
    DataFrame
        ``rows``, ``stated`` and ``right`` (means) of every bin that holds rows.

    Examples
    --------
    >>> from unseen.metrics import reliability_curve
    >>> reliability_curve([True, False, True], [0.9, 0.9, 0.2], n_bins=2)
       rows  stated  right
    0     1     0.2    1.0
    1     2     0.9    0.5
    """
    right, stated = _checked(right, reliability)
    if n_bins < 1:
        raise ValueError(f"n_bins is {n_bins}. Give 1 or more.")
    bins = np.minimum((stated * n_bins).astype(int), n_bins - 1)
    frame = pd.DataFrame({"stated": stated, "right": right.astype(float)})
    made = frame.groupby(bins).mean()
    made.insert(0, "rows", frame.groupby(bins).size())
    return made.reset_index(drop=True)


def expected_calibration_error(
    right: ArrayLike, reliability: ArrayLike, *, n_bins: int = 15
) -> float:
    """Return how far stated probabilities are off, on average over rows.

    Parameters
    ----------
    right, reliability, n_bins
        As for :func:`reliability_curve`.

    Returns
    -------
    float
        The gap between stated and right, bin by bin, weighed by rows; 0 is best.

    Examples
    --------
    >>> from unseen.metrics import expected_calibration_error
    >>> round(expected_calibration_error([True, False], [0.8, 0.8]), 6)
    0.3
    """
    curve = reliability_curve(right, reliability, n_bins=n_bins)
    gap = (curve["stated"] - curve["right"]).abs()
    return float((gap * curve["rows"]).sum() / curve["rows"].sum())


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
    >>> from unseen.metrics import risk_coverage
    >>> risk_coverage([True, False, True], [0.9, 0.2, 0.9])
       coverage     right  reliability
    0  0.666667  1.000000          0.9
    1  1.000000  0.666667          0.2
    """
    right, stated = _checked(right, reliability)
    order = np.argsort(-stated, kind="stable")
    sorted_, hits = stated[order], np.cumsum(right[order])
    last = np.append(np.flatnonzero(np.diff(sorted_)), len(sorted_) - 1)
    return pd.DataFrame(
        {
            "coverage": (last + 1) / len(sorted_),
            "right": hits[last] / (last + 1),
            "reliability": sorted_[last],
        }
    )


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
