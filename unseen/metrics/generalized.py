"""Mixed piles: seen and unseen classes compete, and both sides count the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from unseen.metrics.accuracy import per_class_accuracy
from unseen.metrics.checks import check_labels, check_scores, check_truth

__all__ = ["ausuc", "generalized_scores", "harmonic_mean", "told_side_scores"]


def harmonic_mean(seen: float, unseen: float) -> float:
    """Harmonic mean of the accuracies on seen and unseen classes (generalized ZSL).

    Parameters
    ----------
    seen, unseen : float
        Per-class accuracies from 0 to 1, with all classes competing.

    Returns
    -------
    float
        ``2 * seen * unseen / (seen + unseen)``, 0 if both are 0.

    Examples
    --------
    >>> from unseen.metrics import harmonic_mean
    >>> round(harmonic_mean(0.8, 0.2), 2)
    0.32
    """
    for name, value in (("seen", seen), ("unseen", unseen)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} is {value!r}. Give an accuracy from 0 to 1.")
    total = seen + unseen
    return float(2 * seen * unseen / total) if total else 0.0


def ausuc(
    y_true: ArrayLike,
    scores: ArrayLike | pd.DataFrame,
    *,
    seen: ArrayLike,
    classes: ArrayLike | None = None,
) -> float:
    """Area under the curve of seen against unseen accuracy (generalized ZSL).

    A number taken off the scores of all seen classes trades accuracy on them for
    accuracy on unseen ones. This is the area under all such trades, so that nobody has
    to choose the number; both accuracies are per class, with all classes competing.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes, some of them seen and some unseen.
    scores : array or DataFrame of shape (n_samples, n_competing)
        One column per class, larger is better.
    seen : array of classes
        Those among the columns that were seen.
    classes : array of shape (n_competing,), optional
        The class of each column; not needed for a DataFrame.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    Chao, Changpinyo, Gong and Sha, An empirical study and analysis of generalized
    zero-shot learning for object recognition in the wild, ECCV 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> from unseen.metrics import ausuc
    >>> scores = pd.DataFrame({"zebra": [0.9, 0.8], "okapi": [0.1, 0.7]})
    >>> ausuc(["zebra", "okapi"], scores, seen=["zebra"])
    1.0
    """
    scores, names = check_scores(scores, classes)
    y_true, columns = check_truth(y_true, scores, names)
    known = names.isin(check_labels("seen", seen))
    theirs = known[columns]
    if not theirs.any() or theirs.all():
        lacks = "unseen" if theirs.all() else "seen"
        raise ValueError(f"No row of y_true is of a class that is {lacks}. Give both.")
    hit = np.zeros(len(scores), dtype=bool)
    best = {}
    for kind in (True, False):
        group = np.flatnonzero(known == kind)
        best[kind] = scores[:, group].max(axis=1)
        named = group[scores[:, group].argmax(axis=1)]
        hit |= (theirs == kind) & (named == columns)
    lead = best[True] - best[False]  # of the seen classes over the unseen ones
    _, codes, sizes = np.unique(y_true, return_inverse=True, return_counts=True)
    n_classes = {kind: len(np.unique(codes[theirs == kind])) for kind in (True, False)}
    weight = hit / sizes[codes] / np.where(theirs, n_classes[True], n_classes[False])
    # As the number grows, rows go over to unseen classes in the order of their lead.
    steps, place = np.unique(lead, return_inverse=True)
    lost, won = (
        np.bincount(place, weights=weight * (theirs == kind), minlength=len(steps))
        for kind in (True, False)
    )
    on_seen = np.append(lost.sum(), lost.sum() - lost.cumsum())
    on_unseen = np.append(0.0, won.cumsum())
    heights = (on_seen[1:] + on_seen[:-1]) / 2
    return float(heights @ np.diff(on_unseen))


def generalized_scores(
    y_true: ArrayLike,
    scores: ArrayLike | pd.DataFrame,
    *,
    seen: ArrayLike,
    classes: ArrayLike | None = None,
) -> dict[str, float]:
    """Score labels of a mixed pile, in which seen and unseen classes compete.

    Parameters
    ----------
    y_true, scores, seen, classes
        As for :func:`ausuc`. The best score of a row is its label.

    Returns
    -------
    dict
        ``U`` and ``S``, per-class accuracy on rows of unseen and of seen classes;
        ``H``, their harmonic mean; ``AUSUC``.

    Examples
    --------
    >>> import pandas as pd
    >>> from unseen.metrics import generalized_scores
    >>> scores = pd.DataFrame({"zebra": [0.9, 0.8], "okapi": [0.1, 0.7]})
    >>> generalized_scores(["zebra", "okapi"], scores, seen=["zebra"])
    {'U': 0.0, 'S': 1.0, 'H': 0.0, 'AUSUC': 1.0}
    """
    values, names = check_scores(scores, classes)
    area = ausuc(y_true, values, seen=seen, classes=names)  # refuses one side alone
    labels = names.to_numpy()[values.argmax(axis=1)]
    return both_sides(y_true, labels, labels, seen) | {"AUSUC": area}


def told_side_scores(
    y_true: ArrayLike,
    scores: ArrayLike | pd.DataFrame,
    *,
    seen: ArrayLike,
    classes: ArrayLike | None = None,
) -> dict[str, float]:
    """Score a mixed pile as if each row came with its side, seen or unseen.

    Much easier than :func:`generalized_scores`, and no number of generalized zero-shot
    learning: who knows the side of a row knows half of the answer.

    Parameters
    ----------
    y_true, scores, seen, classes
        As for :func:`ausuc`.

    Returns
    -------
    dict
        ``told_U``, ``told_S`` and their harmonic mean ``told_H``.

    Examples
    --------
    >>> import pandas as pd
    >>> from unseen.metrics import told_side_scores
    >>> scores = pd.DataFrame({"zebra": [0.9, 0.8], "okapi": [0.1, 0.7]})
    >>> told_side_scores(["zebra", "okapi"], scores, seen=["zebra"])
    {'told_U': 1.0, 'told_S': 1.0, 'told_H': 1.0}
    """
    values, names = check_scores(scores, classes)
    known = names.isin(check_labels("seen", seen))
    if known.all() or not known.any():
        raise ValueError("The columns of scores are all of one side. Give both sides.")
    best = {
        kind: names[known == kind].to_numpy()[values[:, known == kind].argmax(axis=1)]
        for kind in (True, False)
    }
    found = both_sides(y_true, best[True], best[False], seen)
    return {f"told_{name}": value for name, value in found.items()}


def both_sides(y_true, for_seen, for_unseen, seen) -> dict[str, float]:
    """Return U, S and H of the labels that rows of seen and unseen classes got."""
    truth = check_labels("y_true", y_true)
    theirs = np.isin(truth, np.asarray(seen))
    if theirs.all() or not theirs.any():
        lacks = "unseen" if theirs.all() else "seen"
        raise ValueError(f"No row of y_true is of a class that is {lacks}. Give both.")
    U = per_class_accuracy(truth[~theirs], for_unseen[~theirs])
    S = per_class_accuracy(truth[theirs], for_seen[theirs])
    return {"U": U, "S": S, "H": harmonic_mean(S, U)}
