"""Why a row got its label, and what the rows have against the class table.

    t_a, t_b  embeddings of label and runner-up        b  a row, on the axes
    Z(t)      prototype that the ridge makes of t      m  class means after the rounds
    S(b; m) = Σ q b m - Σ q m²/2

The margin of a label is a path from the runner-up's embedding to its own, in sixteen
steps, plus what the rows taught:

    S(b; m_a) - S(b; m_b) = Σ_j ∫ ∂S(b; Z(t)) / ∂t_j dt_j
                            + [S(b; m_a) - S(b; Z_a)] - [S(b; m_b) - S(b; Z_b)]

A cell of the table is contradicted if it stands out among the seen classes, by z_j
standard deviations, and moving it back alone would bring the prototype nearer to where
the rows have the class: z_j² (J_j·d)² / (|J_j|² |d|²) with d = m - Z, J_j = ∂Z/∂t_j.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from unseen.core.base import ZeroShotClassifier
from unseen.core.classes import Candidates
from unseen.models.kernel_ridge import INTERCEPT, average_prototypes, kernel
from unseen.transduction.anchored_open import gaussian_scores


class Explanation(NamedTuple):
    """What speaks for the labels of rows, against their runners-up.

    Attributes
    ----------
    labels, runners_up : ndarray of shape (n_samples,)
    margins : ndarray of shape (n_samples,)
        How far the label's score is ahead.
    contributions : ndarray of shape (n_samples, n_dims)
        What every column of the class table adds to the margin.
    taught : ndarray of shape (n_samples,)
        What the unlabelled rows taught, and a seen class's own: the rest of the margin.
    columns : ndarray of shape (n_dims,)
        Names of the columns, or their numbers.
    """

    labels: np.ndarray
    runners_up: np.ndarray
    margins: np.ndarray
    contributions: np.ndarray
    taught: np.ndarray
    columns: np.ndarray

    def table(self, row: int, n_top: int = 10) -> pd.DataFrame:
        """Return the columns that say most about a row, for or against its label."""
        own = self.contributions[row]
        top = np.argsort(-np.abs(own), kind="stable")[:n_top]
        numbered = np.issubdtype(self.columns.dtype, np.integer)  # they have no names
        names = [f"column {c}" if numbered else str(c) for c in self.columns[top]]
        said = dict(zip(names, own[top], strict=True))
        if len(own) > len(top):
            said[f"{len(own) - len(top)} other columns"] = own.sum() - own[top].sum()
        said["what the unlabelled rows taught"] = self.taught[row]
        return pd.DataFrame({"evidence": said.keys(), "contribution": said.values()})


class ClassExplanation(NamedTuple):
    """What is said of a class: its nearest seen ones, and cells the rows contradict.

    ``nearest`` has columns ``class`` and ``likeness``; ``doubts`` has ``column``,
    ``doubt`` (the larger, the odder the cell and the more the rows would gain) and
    ``should`` (``more`` or ``less``).
    """

    name: Any
    nearest: pd.DataFrame
    doubts: pd.DataFrame


class Explains(ZeroShotClassifier):
    """The part of anchored self-training that says why."""

    def explain(self, X, *, classes=None, columns=None) -> Explanation:
        """Say what speaks for the label of every row, column by column of the table.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A few rows: each is gone through on its own.
        classes : optional
            The candidates; by default as in ``predict``.
        columns : array-like of shape (n_dims,), optional
            Names of the columns of the class table.

        Returns
        -------
        Explanation
            Contributions and ``taught`` sum to the margin but for the sixteen steps.
        """
        check_is_fitted(self)
        candidates, unlabelled = self._asked(classes), self._unlabelled(X)
        if len(candidates) < 2:
            raise ValueError(
                "There is only one candidate, so there is nothing to explain."
            )
        F = self._of_rows(X, candidates, lambda candidates, scores: scores)
        ab = np.argsort(-F, axis=1, kind="stable")[:, :2]
        B = unlabelled.around(self.mean_, self.axes_, self.unit_rows)
        q, T = self._present_metric(), self._scale(candidates.embeddings)
        Z = self._from_embeddings(T)
        learned = F - gaussian_scores(B, Z, q)
        found = np.zeros((len(B), self.class_embeddings_.shape[1]))
        for row, b, (to, start) in zip(found, B, ab, strict=True):
            for share in (np.arange(16) + 0.5) / 16:
                here = [t[[start]] + share * (t[[to]] - t[[start]]) for t in T]
                g = q * (b - self._from_embeddings(here))
                row += self._slopes(here, g)[0] / 16
            row *= np.hstack([t[to] - t[start] for t in T])
        ahead, taught = (np.take_along_axis(S, ab, axis=1) for S in (F, learned))
        labels, runners_up = candidates.names[ab].T
        return Explanation(
            labels,
            runners_up,
            ahead[:, 0] - ahead[:, 1],
            found,
            taught[:, 0] - taught[:, 1],
            self._column_names(columns),
        )

    def explain_class(self, name, *, n_top=10, columns=None) -> ClassExplanation:
        """Say which seen classes are like a class, and what the rows have against it.

        Parameters
        ----------
        name : class name
            One of ``competing_classes_``.
        n_top : int, default=10
        columns : array-like of shape (n_dims,), optional
            Names of the columns of the class table.

        Returns
        -------
        ClassExplanation
            ``doubts`` is empty before ``adapt``, and for a class that was seen.
        """
        check_is_fitted(self)
        competing = self._asked(None)
        own = np.array([other == name for other in competing.names], dtype=bool)
        alone = competing.only(own) if own.any() else self._asked([name])
        T = self._scale(alone.embeddings)
        likeness = kernel("rbf", T, self._seen_embeddings)[0] - INTERCEPT
        order = np.argsort(-likeness, kind="stable")
        order = order[self._seen_names[order] != name][:n_top]
        names = self._seen_names[order]
        nearest = pd.DataFrame({"class": names, "likeness": likeness[order]})
        doubt, way = self._doubts(alone, T)
        should, names = np.where(way > 0, "more", "less"), self._column_names(columns)
        doubts = pd.DataFrame({"column": names, "doubt": doubt, "should": should})
        doubts = doubts.sort_values("doubt", ascending=False, kind="stable")[:n_top]
        doubts = doubts[doubts["doubt"] > 0].reset_index(drop=True)
        return ClassExplanation(name, nearest, doubts)

    def _column_names(self, columns) -> np.ndarray:
        n = self.class_embeddings_.shape[1]
        names = np.arange(n) if columns is None else np.asarray(columns)
        if names.shape != (n,):
            raise ValueError(
                f"columns has shape {names.shape}. Give a name for each of the {n} "
                "columns of the class table."
            )
        return names

    def _slopes(self, T: list[np.ndarray], g: np.ndarray) -> np.ndarray:
        """Return ∂(g·Z)/∂t at one embedding for every row of g."""
        P = average_prototypes(self._weights, T, self._seen_embeddings)[0]
        length = max(float(np.linalg.norm(P)), 1e-150)
        g = (g - np.outer(g @ P / length**2, P)) * (self._length / length)
        linear, rbf = (g @ self._weights[name].T for name in ("linear", "rbf"))
        slopes = []
        for t, S in zip(T, self._seen_embeddings, strict=True):
            near = rbf * np.exp(-np.sum((t - S) ** 2, axis=1) / 2)
            slopes.append((linear + near) @ S - near.sum(axis=1)[:, None] * t)
        return np.hstack(slopes) / 2 / len(T)

    def _doubts(self, alone: Candidates, T) -> tuple[np.ndarray, np.ndarray]:
        """Return how much the rows have against each cell, and which way it goes."""
        none = np.zeros(self.class_embeddings_.shape[1])
        if self._adapted is None or not self.adapted_:
            return none, none
        (place,) = self._adapted.candidates.find(alone.names, alone.embeddings)
        if place < 0 or np.isin(alone.names[0], self._seen_names):
            return none, none
        coef = self._adapted.scorer.coef[place]
        m = np.linalg.lstsq(self.axes_, coef, rcond=None)[0]
        d = m - self._from_embeddings(T)[0]
        J = self._slopes(T, np.eye(len(d)))  # one row of g per axis gives all of it
        along, size = d @ J, np.sum(J * J, axis=0)
        gain = along**2 / np.maximum(size, 1e-300) / max(float(d @ d), 1e-300)
        t, S = np.hstack(T)[0], np.hstack(self._seen_embeddings)
        odd = (t - S.mean(axis=0)) / np.maximum(S.std(axis=0), 1e-12)
        return np.where(along * odd < 0, gain * odd**2, 0.0), np.sign(along)
