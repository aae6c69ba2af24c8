r"""A plain classifier that learns from labels, the given and the reliable ones.

    X  (n, p)   features, all rows; used at unit length and with a spread of 1
    y  (n,)     labels it learns from; some rows may have none

    W, b = logistic regression of y on X                         (scikit-learn, C = 1)
    T    = argmin Σ_i -log softmax((W x_i + b) / T)_{y_i}        each i left out of W, b

Temperature and agreement come from folds: every row is answered by a student that has
not learned from it. The agreement tells how well labels are imitated. How many answers
are *right*, only rows that a person checked can tell, and only rows that were drawn at
random stand for others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unseen._linalg import unit_rows
from unseen._onnxruntime import import_onnxruntime
from unseen.asking import estimate_accuracy
from unseen.asking.accuracy import AccuracyEstimate
from unseen.competition import Competition
from unseen.models.given import NONE_OF_THESE
from unseen.models.scoring import LinearRule, LinearScorer
from unseen.onnx_export import export_onnx

__all__ = ["Selection", "Student", "StudentFile", "choose", "judge", "left_out_answers"]

FOLDS = 5
FEWEST, FEWEST_PER_CLASS = 10, 2  # labels; a class of one cannot be left out and found
COLDEST, HOTTEST = 0.05, 20.0


class Selection(NamedTuple):
    """What a student learns from.

    Attributes
    ----------
    labels : ndarray of str
        Of every row; "" where it learns nothing.
    given : ndarray of bool
        Rows of which a person said what they are, or that they are of no class.
    left_out : dict
        How many rows it does not learn from, by reason.
    """

    labels: np.ndarray
    given: np.ndarray
    left_out: dict[str, int]


def choose(table: pd.DataFrame, min_reliability: float = 0.8) -> Selection:
    """Choose what to learn from: given labels, and those that are reliable enough.

    Parameters
    ----------
    table : DataFrame
        Of labels; a column ``given`` tells which are a person's.
    min_reliability : float, default=0.8

    Examples
    --------
    >>> from unseen.labels import label_table
    >>> from unseen.student import choose
    >>> sure = [0.9] * 12 + [0.3]
    >>> chosen = choose(label_table(["okapi", "zebra"] * 6 + ["okapi"],
    ...                             reliability=sure))
    >>> chosen.left_out
    {'are less reliable than 0.8': 1}
    """
    labels = table["label"].to_numpy().astype(str)
    given = np.zeros(len(table), bool)
    if "given" in table:
        given = (table["given"] != "").to_numpy()
    sure = table["reliability"].to_numpy(float)
    none = np.isin(labels, ["", NONE_OF_THESE])
    enough = given | (np.nan_to_num(sure, nan=-1.0) >= min_reliability)
    if min_reliability <= 0:
        enough[:] = True
    kept = ~none & enough
    names, counts = np.unique(labels[kept], return_counts=True)
    rare = kept & np.isin(labels, names[counts < FEWEST_PER_CLASS])
    reasons = {
        "have no class": none,
        f"are less reliable than {min_reliability:g}": ~none & ~enough,
        "are the only one of their class": rare,
    }
    kept &= ~rare
    check_enough(labels[kept], min_reliability)
    left_out = {why: int(rows.sum()) for why, rows in reasons.items() if rows.any()}
    return Selection(np.where(kept, labels, ""), given, left_out)


def check_enough(labels: np.ndarray, min_reliability: float) -> None:
    """Raise if nothing can be learned from these labels."""
    names = np.unique(labels)
    remedy = f"Lower --min-reliability ({min_reliability:g}), or give more labels."
    if len(labels) < FEWEST:
        raise ValueError(
            f"There are {len(labels)} labels to learn from, and fewer than {FEWEST} "
            f"teach nothing. {remedy}"
        )
    if len(names) < 2:
        raise ValueError(
            f"All {len(labels)} labels to learn from are {str(names[0])!r}, and two "
            f"classes are needed. {remedy}"
        )


class Student(ClassifierMixin, BaseEstimator):
    """Logistic regression on features of unit length, with calibrated probabilities.

    Parameters
    ----------
    random_state : int, default=0
        Deals rows into folds.

    Attributes
    ----------
    classes_ : ndarray of str
    coef_, intercept_ : ndarray of shape (n_classes, n_features), (n_classes,)
        Scores ``x @ coef_.T + intercept_`` of rows of unit length; their softmax are
        probabilities, calibrated on the labels.
    temperature_ : float
    left_out_labels_ : ndarray of shape (n,)
        What students say of the rows they have not learned from.
    agreement_ : float
        How many of these are the labels of the rows. It tells how well labels are
        imitated, not how right they are.

    Examples
    --------
    >>> from unseen.photos.bundled import load_photos
    >>> from unseen.student import Student
    >>> photos = load_photos()
    >>> student = Student().fit(photos.features[::2], photos.truth[::2])
    >>> bool(student.score(photos.features[1::2], photos.truth[1::2]) > 0.8)
    True
    """

    def __init__(self, random_state=0):
        self.random_state = random_state

    def fit(self, X, y) -> Student:
        """Learn from features and labels.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        X, y = checked_rows(X), np.asarray(y)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows, but y has {len(y)}. Give as many.")
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2 or np.bincount(codes).min() < FEWEST_PER_CLASS:
            raise ValueError(
                f"y has {len(self.classes_)} classes, the smallest of "
                f"{np.bincount(codes).min()}. Give two classes or more, of two each."
            )
        rows = unit_rows(X)
        scale = 1 / max(float(rows.std(axis=0).mean()), 1e-9)
        folds = deal(codes, self.random_state)
        held = np.empty((len(rows), len(self.classes_)))
        for fold in np.unique(folds):
            coef, intercept = logistic(rows[folds != fold], codes[folds != fold], scale)
            held[folds == fold] = rows[folds == fold] @ coef.T + intercept
        self.temperature_ = best_temperature(held, codes)
        self.left_out_labels_ = self.classes_[held.argmax(axis=1)]
        self.agreement_ = float(np.mean(held.argmax(axis=1) == codes))
        coef, intercept = logistic(rows, codes, scale)
        self.coef_ = coef / self.temperature_
        self.intercept_ = intercept / self.temperature_
        self.n_features_in_ = rows.shape[1]
        return self

    def scores(self, X) -> np.ndarray:
        """Return the logarithm of every class's odds, but for a number per row."""
        check_is_fitted(self)
        rows = checked_rows(X)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {rows.shape[1]} features, but the student learned from "
                f"{self.n_features_in_}. Use the same encoder."
            )
        return unit_rows(rows) @ self.coef_.T + self.intercept_

    def predict(self, X) -> np.ndarray:
        """Label rows."""
        return self.classes_[self.scores(X).argmax(axis=1)]

    def predict_proba(self, X) -> np.ndarray:
        """Return the probability of every class, in the order of ``classes_``."""
        return softmax(self.scores(X), axis=1)

    def linear_rule(self, classes: Any = None) -> LinearRule:
        """Return who competes and how rows are scored; all classes always compete."""
        check_is_fitted(self)
        competition = Competition(self.classes_, np.eye(len(self.classes_)))
        return LinearRule(competition, LinearScorer(self.coef_, self.intercept_), True)

    def to_onnx(self, path: str | os.PathLike[str], **about: str) -> Path:
        """Write the student as an ONNX file: scores, labels and probabilities.

        Parameters
        ----------
        path : path
        **about : str
            Noted in the file, such as the encoder of the features.

        Returns
        -------
        Path
            The file written.
        """
        check_is_fitted(self)
        about["classes"] = json.dumps(self.classes_.tolist())
        return export_onnx(self, path, probabilities=True, about=about)


class StudentFile:
    """A student read from an ONNX file; onnxruntime runs it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from unseen.student import Student, StudentFile
    >>> X, y = np.eye(2).repeat(6, axis=0), np.repeat(["okapi", "zebra"], 6)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Student().fit(X, y).to_onnx(Path(folder) / "student.onnx")
    ...     StudentFile(path).predict(X[5:7]).tolist()
    ['okapi', 'zebra']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        runtime = import_onnxruntime(str(path))
        content = Path(path).read_bytes()
        try:
            self._session = runtime.InferenceSession(
                content, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # of classes that onnxruntime does not export
            raise ValueError(f"{path}: onnxruntime cannot read it. {error}") from error
        made = self._session.get_modelmeta()
        self.about: dict[str, str] = dict(made.custom_metadata_map)
        outputs = [out.name for out in self._session.get_outputs()]
        if "probabilities" not in outputs or "classes" not in self.about:
            raise ValueError(
                f"{path}: is no student; it answers with {', '.join(outputs)}. Give a "
                "file that unseen train wrote."
            )
        self.classes_ = np.array(json.loads(self.about["classes"]))
        self.n_features_in_ = int(self._session.get_inputs()[0].shape[1])

    def predict_proba(self, X) -> np.ndarray:
        """Return the probability of every class, in the order of ``classes_``."""
        X = np.asarray(X, dtype=np.float32)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has shape {X.shape}, but the student learned from rows of "
                f"{self.n_features_in_} features. Use the same encoder."
            )
        return self._session.run(["probabilities"], {"features": X})[0]

    def predict(self, X) -> np.ndarray:
        """Label rows."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def left_out_answers(
    student: Student, X: np.ndarray, learned: np.ndarray
) -> np.ndarray:
    """Return a label of every row, by a student that has not learned from it.

    Parameters
    ----------
    student : Student
        Fitted on the rows of X with an entry in ``learned``, in that order.
    X : ndarray of shape (n, n_features)
    learned : ndarray of shape (n,)
        The labels it learned from; "" for the others.
    """
    answers = student.predict(X).astype(object)
    answers[learned != ""] = student.left_out_labels_
    return answers


def judge(
    answers: np.ndarray, checked: Mapping[int, str], drawn: Iterable[int]
) -> AccuracyEstimate:
    """Estimate how many rows a student labels right, from rows a person checked.

    Parameters
    ----------
    answers : ndarray of shape (n,)
        From :func:`left_out_answers`.
    checked : mapping of row to label
        By a person; ``unseen.NONE_OF_THESE`` is a label that no student gives.
    drawn : iterable of int
        Those that were drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.student import judge
    >>> answers = np.array(["okapi", "zebra"] * 50, dtype=object)
    >>> checked = {row: answers[row] for row in range(40)} | {40: "none of these"}
    >>> round(judge(answers, checked, range(41)).accuracy, 2)
    0.98
    """
    return estimate_accuracy(answers, dict(checked), drawn=drawn)


# ---- parts ---------------------------------------------------------------------------


def checked_rows(X: Any) -> np.ndarray:
    """Return features as an array of numbers, or say what is wrong."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}. Give one row of features each.")
    if not np.isfinite(X).all():
        row = int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
        raise ValueError(f"Row {row} of X holds a value that is no number. Fill it.")
    return X


def deal(codes: np.ndarray, random_state: int) -> np.ndarray:
    """Return a fold for every row; rows of one class go to different ones in turn.

    So each student has met every class that it is asked about.
    """
    random = np.random.default_rng(random_state)
    order = random.permutation(len(codes))
    place = pd.Series(codes[order]).groupby(codes[order]).cumcount().to_numpy()
    folds = np.empty(len(codes), dtype=int)
    start = random.integers(FOLDS, size=codes.max() + 1)
    folds[order] = (place + start[codes[order]]) % FOLDS
    return folds


def logistic(
    rows: np.ndarray, codes: np.ndarray, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients and intercepts of every class, for unscaled rows."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=2000).fit(rows * scale, codes)
    coef, intercept = model.coef_ * scale, model.intercept_
    if len(coef) == 1:  # scikit-learn keeps one row for two classes
        coef = np.vstack([np.zeros_like(coef), coef])
        intercept = np.append(0.0, intercept)
    return coef, intercept


def best_temperature(scores: np.ndarray, codes: np.ndarray) -> float:
    """Return the temperature at which left-out labels are the most probable."""
    from scipy.optimize import minimize_scalar

    def loss(log_temperature: float) -> float:
        chances = log_softmax(scores / np.exp(log_temperature), axis=1)
        return -float(chances[np.arange(len(codes)), codes].mean())

    bounds = np.log(COLDEST), np.log(HOTTEST)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
