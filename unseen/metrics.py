"""How good the labels are: every class counts the same, however many rows it has."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

__all__ = [
    "ausuc",
    "confusion",
    "harmonic_mean",
    "per_class_accuracy",
    "top_k_accuracy",
]


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
    >>> from unseen.metrics import per_class_accuracy
    >>> y_true = ["zebra", "zebra", "zebra", "okapi"]
    >>> per_class_accuracy(y_true, ["zebra", "zebra", "zebra", "zebra"])
    0.5
    """
    y_true, y_pred = _check_pair(y_true, y_pred)
    return _mean_per_class(y_true, y_true == y_pred)


def top_k_accuracy(
    y_true: ArrayLike,
    scores: ArrayLike | pd.DataFrame,
    *,
    k: int = 5,
    classes: ArrayLike | None = None,
) -> float:
    """Share of rows whose class is among the ``k`` best scored, averaged per class.

    Of equal scores the earlier column comes first, as with ``argmax``, so that ``k=1``
    is the per-class accuracy of the predictions.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes.
    scores : array or DataFrame of shape (n_samples, n_competing)
        One column per class, larger is better. One dimension, as scikit-learn gives for
        two classes, holds the scores of the second.
    k : int, default=5
        How many of the best classes count, at most as many as compete.
    classes : array of shape (n_competing,), optional
        The class of each column, such as ``competing_classes_``. Not needed for a
        DataFrame, whose columns are the classes.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.metrics import top_k_accuracy
    >>> scores = np.array([[0.6, 0.3, 0.1], [0.5, 0.1, 0.4]])
    >>> names = ["zebra", "okapi", "tapir"]
    >>> top_k_accuracy(["zebra", "tapir"], scores, k=1, classes=names)
    0.5
    >>> top_k_accuracy(["zebra", "tapir"], scores, k=2, classes=names)
    1.0
    """
    scores, classes = _check_scores(scores, classes)
    if not isinstance(k, int | np.integer) or not 1 <= k <= len(classes):
        raise ValueError(
            f"k is {k!r}, but {len(classes)} classes compete. "
            f"Give a whole number from 1 to {len(classes)}."
        )
    y_true, columns = _check_truth(y_true, scores, classes)
    own = scores[np.arange(len(scores)), columns][:, None]
    earlier = np.arange(scores.shape[1]) < columns[:, None]
    n_ahead = ((scores > own) | ((scores == own) & earlier)).sum(axis=1)
    return _mean_per_class(y_true, n_ahead < k)


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
    scores, names = _check_scores(scores, classes)
    y_true, columns = _check_truth(y_true, scores, names)
    known = names.isin(_check_labels("seen", seen))
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


def confusion(
    y_true: ArrayLike, y_pred: ArrayLike, *, classes: Sequence | ArrayLike | None = None
) -> pd.DataFrame:
    """Count how often each true class (row) was given each label (column).

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,)
        True and predicted classes, both names or both numbers.
    classes : array, optional
        The classes to list and their order; it must hold every label that occurs. By
        default those that occur, sorted.

    Returns
    -------
    DataFrame of int
        Rows are true classes, columns predicted ones.

    Examples
    --------
    >>> from unseen.metrics import confusion
    >>> confusion(["zebra", "okapi", "okapi"], ["zebra", "okapi", "zebra"])
    predicted  okapi  zebra
    true
    okapi          1      1
    zebra          0      1
    """
    y_true, y_pred = _check_pair(y_true, y_pred)
    found = np.unique(np.concatenate([y_true, y_pred]))
    labels = found if classes is None else _check_labels("classes", classes)
    if len(np.unique(labels)) < len(labels):
        raise ValueError(f"classes names one twice: {labels.tolist()}. Name each once.")
    missing = found[~np.isin(found, labels)]
    if len(missing):
        raise ValueError(
            f"The labels hold {missing.tolist()[0]!r}, which is not among classes. "
            "List every class that occurs."
        )
    names, n = pd.Index(labels), len(labels)
    cells = names.get_indexer(pd.Index(y_true)) * n + names.get_indexer(
        pd.Index(y_pred)
    )
    return pd.DataFrame(
        np.bincount(cells, minlength=n * n).reshape(n, n),
        index=pd.Index(labels, name="true"),
        columns=pd.Index(labels, name="predicted"),
    )


def _mean_per_class(y_true: np.ndarray, hits: np.ndarray) -> float:
    _, codes = np.unique(y_true, return_inverse=True)
    return float(np.mean(np.bincount(codes, weights=hits) / np.bincount(codes)))


def _check_truth(
    y_true: ArrayLike, scores: np.ndarray, classes: pd.Index
) -> tuple[np.ndarray, np.ndarray]:
    """Return the true classes and the columns of scores that stand for them."""
    y_true = _check_labels("y_true", y_true)
    if len(y_true) != len(scores):
        raise ValueError(
            f"y_true has {len(y_true)} labels, but scores has {len(scores)} rows. "
            "Give one row of scores per label."
        )
    columns = classes.get_indexer(pd.Index(y_true))
    if (columns < 0).any():
        raise ValueError(
            f"y_true holds {y_true[columns < 0].tolist()[0]!r}, which no column of "
            f"scores stands for. The columns stand for {classes[:5].tolist()}"
            f"{'...' if len(classes) > 5 else ''}."
        )
    return y_true, columns


def _check_pair(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    true, pred = _check_labels("y_true", y_true), _check_labels("y_pred", y_pred)
    if len(true) != len(pred):
        raise ValueError(
            f"y_true has {len(true)} labels and y_pred {len(pred)}. "
            "Give one prediction per true label."
        )
    if (true.dtype.kind == "U") != (pred.dtype.kind == "U"):
        raise TypeError(
            f"y_true holds {true.tolist()[0]!r} and y_pred {pred.tolist()[0]!r}. "
            "Give class names in both or numbers in both."
        )
    return true, pred


def _check_labels(name: str, labels: ArrayLike) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            f"{name} has shape {labels.shape}. Give one dimension of labels, not empty."
        )
    if pd.isna(labels).any():
        raise ValueError(f"{name} holds a missing value. Give a class for every row.")
    if labels.dtype.kind == "O":
        texts = [isinstance(label, str) for label in labels]
        if any(texts) and not all(texts):
            raise TypeError(f"{name} mixes names and numbers. Give one kind of label.")
        return np.array(labels.tolist())
    return labels


def _check_scores(
    scores: ArrayLike | pd.DataFrame, classes: ArrayLike | None
) -> tuple[np.ndarray, pd.Index]:
    if classes is None:
        if not isinstance(scores, pd.DataFrame):
            raise ValueError(
                f"scores is a {type(scores).__name__} without class names. "
                "Give classes, one per column, or a DataFrame."
            )
        classes = scores.columns
    names = pd.Index(_check_labels("classes", classes))
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
        raise ValueError(f"Two columns of scores stand for {again!r}. Give one each.")
    if values.dtype.kind not in "fiub" or np.isnan(values).any():
        raise ValueError("scores holds NaN or something that is no number. Mend it.")
    return values, names
