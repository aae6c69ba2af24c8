"""Why a row got its label, and what the pile has against the class table.

    t_a, t_b  embeddings of label and runner-up        b  a row, on the axes
    Z(t)      prototype that the ridge makes of t      m  class means after the rounds
    S(b; m) = Σ q b m - Σ q m²/2

The margin of a label is a path from the runner-up's embedding to its own, plus what
the pile taught:

    S(b; m_a) - S(b; m_b) = Σ_j ∫ ∂S(b; Z(t)) / ∂t_j dt_j
                            + [S(b; m_a) - S(b; Z_a)] - [S(b; m_b) - S(b; Z_b)]

with t going straight from t_b to t_a, in sixteen steps. A cell of the table is
contradicted if it stands out among the seen classes, by z_j standard deviations, and
moving it back alone would bring the prototype nearer to where the pile has the class:

    z_j² (J_j·d)² / (|J_j|² |d|²)          d = m - Z,  J_j = ∂Z/∂t_j
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from unseen.core.base import finite
from unseen.core.classes import Candidates
from unseen.models.kernel_ridge import INTERCEPT, average_prototypes, kernel
from unseen.transduction.anchored_rounds import AnchoredRounds

N_STEPS = 16


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
        What the pile taught, and a seen class's own rows: the rest of the margin.
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
        values = [*own[top]]
        if len(own) > len(top):
            names.append(f"{len(own) - len(top)} other columns")
            values.append(own.sum() - own[top].sum())
        names.append("what the pile taught")
        values.append(self.taught[row])
        return pd.DataFrame({"evidence": names, "contribution": values})


class ClassExplanation(NamedTuple):
    """What is said of a class: its nearest seen ones, and cells the pile contradicts.

    ``nearest`` has columns ``class`` and ``likeness``; ``doubts`` has ``column``,
    ``doubt`` (the larger, the odder the cell and the more the pile would gain) and
    ``should`` (``more`` or ``less``).
    """

    name: Any
    nearest: pd.DataFrame
    doubts: pd.DataFrame


class Explains(AnchoredRounds):
    """The part of the estimator that says why."""

    def explain(self, X, *, classes=None, columns=None) -> Explanation:
        """Say what speaks for the label of every row, column by column of the table.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A few rows: each is gone through on its own.
        classes : optional
            Who competes; by default as in ``predict``.
        columns : array-like of shape (n_dims,), optional
            Names of the columns of the class table.

        Returns
        -------
        Explanation
            Contributions and ``taught`` sum to the margin but for the sixteen steps.

        Examples
        --------
        >>> import numpy as np
        >>> from unseen import AnchoredSelfTraining
        >>> rng = np.random.default_rng(0)
        >>> A, y = rng.uniform(size=(12, 6)), np.repeat(np.arange(12), 30)
        >>> X = (A @ rng.normal(size=(6, 15)))[y] + 0.5 * rng.normal(size=(360, 15))
        >>> model = AnchoredSelfTraining().fit(X[y < 9], y[y < 9], class_embeddings=A)
        >>> why = model.adapt(X[y >= 9]).explain(X[-3:])
        >>> whole = why.contributions.sum(axis=1) + why.taught
        >>> bool(np.allclose(whole, why.margins, rtol=0.01, atol=0.01))
        True
        """
        check_is_fitted(self)
        competition = self._asked(classes)
        if len(competition) < 2:
            raise ValueError("One class competes, so nothing speaks for it or against.")
        pile = self._unlabelled(X)
        F = finite(self._scoring(competition)(pile.X), pile.X)
        order = np.argsort(-F, axis=1, kind="stable")
        rows, (first, second) = np.arange(len(F)), order[:, :2].T
        B = pile.on_axes(self.axes_, self.unit_rows) - self.mean_ @ self.axes_
        q = self._present_metric()
        T = self._scale(competition.embeddings)
        Z = self._from_embeddings(T)
        at_prototypes = B @ (Z * q).T - np.sum(q * Z * Z, axis=1) / 2
        learned = F - at_prototypes
        found = np.array(
            [
                self._along(b, [t[[i]] for t in T], [t[[j]] for t in T], q)
                for b, i, j in zip(B, first, second, strict=True)
            ]
        )
        return Explanation(
            competition.names[first],
            competition.names[second],
            F[rows, first] - F[rows, second],
            found,
            learned[rows, first] - learned[rows, second],
            self._column_names(columns),
        )

    def explain_class(self, name, *, n_top=10, columns=None) -> ClassExplanation:
        """Say which seen classes are like a class, and what the pile has against it.

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
        competition = self._alone(name)
        T = self._scale(competition.embeddings)
        likeness = kernel("rbf", T, self._seen_embeddings)[0] - INTERCEPT
        order = np.argsort(-likeness, kind="stable")
        order = order[self._seen_names[order] != name][:n_top]
        nearest = pd.DataFrame(
            {"class": self._seen_names[order], "likeness": likeness[order]}
        )
        doubt, way = self._doubts(competition, T)
        top = np.argsort(-doubt, kind="stable")[:n_top]
        doubts = pd.DataFrame(
            {
                "column": self._column_names(columns)[top],
                "doubt": doubt[top],
                "should": np.where(way[top] > 0, "more", "less"),
            }
        )
        return ClassExplanation(name, nearest, doubts[doubts["doubt"] > 0])

    def _alone(self, name) -> Candidates:
        """Return one class, as it competes: new ones stand in no fitted table."""
        competing = self._asked(None)
        own = np.array([other == name for other in competing.names], dtype=bool)
        return competing.only(own) if own.any() else self._asked([name])

    def _column_names(self, columns) -> np.ndarray:
        n = self.class_embeddings_.shape[1]
        names = np.arange(n) if columns is None else np.asarray(columns)
        if names.shape != (n,):
            raise ValueError(
                f"columns has shape {names.shape}. Give a name for each of the {n} "
                "columns of the class table."
            )
        return names

    def _from_embeddings(self, T: list[np.ndarray]) -> np.ndarray:
        """Return prototypes as the embeddings alone make them."""
        return self._lengthen(
            average_prototypes(self._weights, T, self._seen_embeddings)
        )

    def _along(self, b, to: list, start: list, q) -> np.ndarray:
        """Return the integral of ∂S/∂t over the way between two embeddings."""
        total = [np.zeros(t.shape[1]) for t in to]
        for step in (np.arange(N_STEPS) + 0.5) / N_STEPS:
            T = [s + step * (t - s) for s, t in zip(start, to, strict=True)]
            Z = self._from_embeddings(T)[0]
            slopes = self._slopes(T, (q * (b - Z))[None])
            for k, slope in enumerate(slopes):
                total[k] += slope[0] / N_STEPS
        ways = [t[0] - s[0] for s, t in zip(start, to, strict=True)]
        return np.concatenate([s * way for s, way in zip(total, ways, strict=True)])

    def _slopes(self, T: list[np.ndarray], g: np.ndarray) -> list[np.ndarray]:
        """Return ∂(g·Z)/∂t at one embedding for every row of g, table by table."""
        P = average_prototypes(self._weights, T, self._seen_embeddings)[0]
        length = max(float(np.linalg.norm(P)), 1e-150)
        u = P / length
        g = (g - (g @ u)[:, None] * u) * (self._length / length)
        slopes = []
        for t, S in zip(T, self._seen_embeddings, strict=True):
            here = np.zeros((len(g), t.shape[1]))
            for name, W in self._weights.items():
                pull = g @ W.T  # (n, M): what a kernel value of each seen class adds
                if name == "rbf":
                    k = np.exp(-np.sum((t[0] - S) ** 2, axis=1) / 2)
                    here += (pull * k) @ S - (pull * k).sum(axis=1)[:, None] * t[0]
                else:
                    here += pull @ S
            slopes.append(here / len(self._weights) / len(T))
        return slopes

    def _doubts(self, competition: Candidates, T) -> tuple[np.ndarray, np.ndarray]:
        """Return how much the pile has against each cell, and which way it goes."""
        none = np.zeros(self.class_embeddings_.shape[1])
        if self._adapted is None or not self.adapted_:
            return none, none
        place = self._adapted.candidates.find(competition.names, competition.embeddings)
        if place[0] < 0 or np.isin(competition.names[0], self._seen_names):
            return none, none
        coef = self._adapted.scorer.coef[place[0]]
        gram = self.axes_.T @ self.axes_
        d = np.linalg.solve(gram, coef @ self.axes_) - self._from_embeddings(T)[0]
        # One row of g per axis gives all of J.
        J = np.hstack(self._slopes(T, np.eye(len(d))))
        along, size = d @ J, np.sum(J * J, axis=0)
        gain = along**2 / np.maximum(size, 1e-300) / max(float(d @ d), 1e-300)
        t, S = np.hstack(T)[0], np.hstack(self._seen_embeddings)
        odd = (t - S.mean(axis=0)) / np.maximum(S.std(axis=0), 1e-12)
        return np.where(along * odd < 0, gain * odd**2, 0.0), np.sign(along)
