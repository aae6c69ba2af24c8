"""Why a row got its label, column by column of the class table.

    t_a, t_b  embeddings of label and runner-up        b  a row, on the axes
    Z(t)      prototype that the ridge makes of t      m  class means after the rounds
    S(b; m) = Σ q b m - Σ q m²/2

The margin of a label is a path from the runner-up's embedding to its own, in sixteen
steps, plus what the rows taught:

    S(b; m_a) - S(b; m_b) = Σ_j ∫ ∂S(b; Z(t)) / ∂t_j dt_j
                            + [S(b; m_a) - S(b; Z_a)] - [S(b; m_b) - S(b; Z_b)]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from unseen.core.base import ZeroShotClassifier
from unseen.models.kernel_ridge import average_prototypes
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
        n = self.class_embeddings_.shape[1]
        named = np.arange(n) if columns is None else np.asarray(columns)
        if named.shape != (n,):
            raise ValueError(
                f"columns has shape {named.shape}. Give a name for each of the {n} "
                "columns of the class table."
            )
        F = self._of_rows(X, candidates, lambda candidates, scores: scores)
        ab = np.argsort(-F, axis=1, kind="stable")[:, :2]
        B = unlabelled.around(self.mean_, self.axes_, self.unit_rows)
        q, T = self._present_metric(), self._scale(candidates.embeddings)
        Z = self._from_embeddings(T)
        learned = F - gaussian_scores(B, Z, q)
        found = np.zeros((len(B), n))
        for row, b, (to, start) in zip(found, B, ab, strict=True):
            for share in (np.arange(16) + 0.5) / 16:
                here = [t[[start]] + share * (t[[to]] - t[[start]]) for t in T]
                g = q * (b - self._from_embeddings(here))
                row += self._slope(here, g[0]) / 16
            row *= np.hstack([t[to] - t[start] for t in T])
        ahead, taught = (np.take_along_axis(S, ab, axis=1) for S in (F, learned))
        labels, runners_up = candidates.names[ab].T
        margins, taught = ahead[:, 0] - ahead[:, 1], taught[:, 0] - taught[:, 1]
        return Explanation(labels, runners_up, margins, found, taught, named)

    def _slope(self, T: list[np.ndarray], g: np.ndarray) -> np.ndarray:
        """Return ∂(g·Z)/∂t at one embedding."""
        P = average_prototypes(self._weights, T, self._seen_embeddings)[0]
        length = max(float(np.linalg.norm(P)), 1e-150)
        g = (g - g @ P / length**2 * P) * (self._length / length)
        linear, rbf = (self._weights[name] @ g for name in ("linear", "rbf"))
        slopes = []
        for t, S in zip(T, self._seen_embeddings, strict=True):
            near = rbf * np.exp(-np.sum((t - S) ** 2, axis=1) / 2)
            slopes.append((linear + near) @ S - near.sum() * t[0])
        return np.hstack(slopes) / 2 / len(T)
