"""Bilinear models in the middle of learning from a pile.

    B  (n_rows, p)   the pile on the axes, centred
    A  (N, q)        codes of the competing classes, centred as the model says

The protocol of a learner, which ``rounds.py`` and ``SelfTraining`` rely on:

    competition           who competes; labels are numbers of its classes
    labelling(ranking)    label every row, and rank the rows of a label
    refit(selection)      learn from these rows under their labels; return the objective
    scorer()              one linear scorer per class, for rows to come
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from unseen._linalg import solve_ridge
from unseen.models.scoring import LinearScorer
from unseen.rows.labelling import Labelling, Ranking
from unseen.rows.pile import Pile
from unseen.rows.scores import Scores

if TYPE_CHECKING:
    from unseen.models.bilinear import BilinearClassifier
    from unseen.models.maps import PrototypeClassifier


class ViewLearner:
    """The part of a learner that bilinear models share: scores on the view."""

    def __init__(self, model: BilinearClassifier, pile: Pile, competition):
        self.competition = competition
        self.axes = model.axes_
        self.B, self.mean, self.A = model._view(pile, competition)

    @abstractmethod
    def coef(self) -> np.ndarray:
        """Return one scorer per class on the axes, as learned so far."""

    def scores(self) -> Scores:
        """Return the scores of the pile."""
        return self.B.scores(self.coef())

    def labelling(self, ranking: Ranking) -> Labelling:
        """Label and rank the pile."""
        return self.scores().labelling(ranking)

    def scorer(self) -> LinearScorer:
        """Return the adapted scorer for rows to come."""
        coef = self.coef() @ self.axes.T
        return LinearScorer(coef, -coef @ self.mean)


class RowMapLearner(ViewLearner):
    """A map of rows in the middle of learning from a pile: it moves, codes stay.

        B  (n_rows, p)   self-labelled rows of the pile on the axes
        Z  (N, k)        codes of the competing classes

        min_P  lam |B P - Y Z|² + mu |P - P*|²

    The paper's two baselines: rows sit near the code of their label, and the map
    stays near P*, the one before.
    """

    def __init__(self, model, pile, competition, lam, mu):
        super().__init__(model, pile, competition)
        self.lam, self.mu = lam, mu
        self.P, self.Z = model.coef_, self.A

    def coef(self) -> np.ndarray:
        """Return one scorer per class on the axes."""
        return self.Z @ self.P.T

    def refit(self, selection) -> float:
        """Learn from self-labelled rows; return the objective."""
        chosen = self.B.sums(selection)
        before, target = self.P, chosen.class_sums.T @ self.Z
        right = self.lam * target + self.mu * before
        self.P = P = solve_ridge(self.lam * chosen.gram, self.mu, right)
        near = (
            np.vdot(chosen.gram @ P, P)
            - 2 * np.vdot(target, P)
            + chosen.counts @ np.einsum("ij,ij->i", self.Z, self.Z)
        )
        return float(self.lam * near + self.mu * linalg.norm(P - before) ** 2)


class LabelFitLearner(ViewLearner):
    """A map that fits labels, in the middle of learning from a pile.

        B  (n_rows, p)   self-labelled rows of the pile on the axes
        Y  (n_rows, N)   their labels in 0/1
        T  (N, q)        embeddings of the competing classes

        min_W  |B W Tᵀ - Y|² + lam |B W - Y T|² + mu |W - W*|²

    The fit of the labels, plus the paper's two baselines: rows sit near the
    embedding of their label, and the map stays near W*, the one before.

        BᵀB W (TᵀT + lam I) + mu W = (1 + lam) BᵀY T + mu W*

    which two eigendecompositions turn into a division.
    """

    def __init__(self, model, pile, competition, lam, mu):
        super().__init__(model, pile, competition)
        self.lam, self.mu, self.W = lam, mu, model.coef_
        # TᵀT + lam I has at most N values other than lam: a thin SVD tells all.
        _, sizes, self.Q = linalg.svd(self.A, full_matrices=False)
        self.squares = sizes**2

    def coef(self) -> np.ndarray:
        """Return one scorer per class on the axes."""
        return self.A @ self.W.T

    def refit(self, selection) -> float:
        """Learn from self-labelled rows; return the objective."""
        chosen = self.B.sums(selection)
        G, S, T, before = chosen.gram, chosen.class_sums.T, self.A, self.W
        right = (1 + self.lam) * S @ T + self.mu * before
        values, U = linalg.eigh(G)
        values = np.maximum(values, 0)[:, None]
        right = U.T @ right
        inside = right @ self.Q.T  # in the span of the embeddings, and outside of it
        solved = inside / (values * (self.squares + self.lam) + self.mu)
        outside = (right - inside @ self.Q) / (values * self.lam + self.mu)
        self.W = W = U @ (solved @ self.Q + outside)
        fit, near = W @ T.T, W
        return float(
            np.vdot(G @ fit, fit)
            - 2 * np.vdot(S, fit)
            + chosen.n_rows
            + self.lam
            * (
                np.vdot(G @ near, near)
                - 2 * np.vdot(S @ T, near)
                + chosen.counts @ np.einsum("ij,ij->i", T, T)
            )
            + self.mu * linalg.norm(W - before) ** 2
        )


class OffsetLearner(ViewLearner):
    """The part of a learner whose classes add something of their own to the score."""

    @abstractmethod
    def offset(self) -> np.ndarray:
        """Return what is added to the scores of each class."""

    def scores(self) -> Scores:
        """Return the scores of the pile."""
        return self.B.scores(self.coef(), offset=self.offset())

    def scorer(self) -> LinearScorer:
        """Return the adapted scorer for rows to come."""
        coef, intercept = super().scorer()
        return LinearScorer(coef, intercept + self.offset())


class PrototypeLearner(OffsetLearner):
    """A map of classes in the middle of learning from a pile: prototypes move.

        min_W  lam |B - Y Z Wᵀ|² + mu |W - W*|²

    over the self-labelled rows B: each sits near the prototype of its label, and
    the map stays near W*, the one before.
    """

    def __init__(self, model: PrototypeClassifier, pile, competition, lam, mu):
        super().__init__(model, pile, competition)
        self.lam, self.mu, self.W = lam, mu, model.coef_
        self.finish = model._finish

    def coef(self) -> np.ndarray:
        """Return one scorer per class on the axes."""
        return self.finish(self.A @ self.W.T)[0]

    def offset(self) -> np.ndarray:
        """Return what is added to the scores of each class."""
        return self.finish(self.A @ self.W.T)[1]

    def refit(self, selection) -> float:
        """Learn from self-labelled rows; return the objective."""
        chosen = self.B.sums(selection)
        T, C, before = self.A, chosen.class_sums, self.W
        TtT = T.T @ (T * chosen.counts[:, None])
        right = self.lam * T.T @ C + self.mu * before.T
        self.W = W = solve_ridge(self.lam * TtT, self.mu, right).T
        near = np.trace(chosen.gram) - 2 * np.vdot(C.T @ T, W) + np.vdot(W @ TtT, W)
        return float(self.lam * near + self.mu * linalg.norm(W - before) ** 2)
