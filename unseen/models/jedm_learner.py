"""JEDM learning from a pile: equations (10) to (14), on sums only.

Letters as in jedm.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from unseen._linalg import nonzero, plus_diagonal, solve_positive
from unseen.competition import Competition
from unseen.models.jedm_solver import Codes
from unseen.models.scoring import LinearScorer
from unseen.rows.labelling import Labelling, Ranking, Selection
from unseen.rows.pile import Pile
from unseen.rows.scores import Scores
from unseen.rows.sums import Sums

if TYPE_CHECKING:
    from unseen.models.jedm import JEDM


class JEDMLearner:
    """JEDM in the middle of learning from a pile: D moves, V stays.

        B  (n_rows, p)   rows of the pile on the axes, centred
        Z  (N, d)        prototypes of the competing classes

        min_{D,C}  |B - C D|² + lam |Y Z - C|² + mu |D - D*|²             (10)

    over the self-labelled rows, with D* the dictionary before.
    """

    def __init__(
        self,
        model: JEDM,
        pile: Pile,
        competition: Competition,
        *,
        lam: float = 100.0,
        mu: float = 100.0,
        inner_steps: int = 4,
        moving_anchor: bool = True,
    ):
        self.competition = competition
        self.lam, self.mu = lam, mu
        self.inner_steps, self.moving_anchor = inner_steps, moving_anchor
        self.scaled = model._value("score_scaling") == "class_length"
        self.unit = model.unit_prototypes
        self.axes, self.V = model.axes_, model.compatibility_
        self.D = model._seen_components
        self.B, self.mean, self.A = model._view(pile, competition)
        self.Z = model._prototypes(self.A)
        self._score()

    def scores(self) -> Scores:
        """Return the scores of the pile."""
        return self._scores

    def labelling(self, ranking: Ranking) -> Labelling:
        """Rank by equation (8); report by scores scaled as ``score_scaling`` says."""
        return self._scores.labelling(ranking)

    def _score(self) -> None:
        """Score the pile: to rank its rows, and to report their labels."""
        reported = None if self.unit or not self.scaled else self._coef()
        self._scores = self.B.scores(
            self.Z @ self.D, reported=reported, unit_columns=self.scaled
        )

    def refit(self, selection: Selection) -> float:
        """Alternate (12) and (14); return the objective (10)."""
        chosen = self.B.sums(selection)
        anchor = self.D
        codes = update_pile_codes(chosen, self.D, self.Z, self.lam)
        for _ in range(self.inner_steps):
            if self.moving_anchor:
                anchor = self.D
            self.D = update_pile_dictionary(codes, anchor, self.mu)
            codes = update_pile_codes(chosen, self.D, self.Z, self.lam)
        self._score()
        return pile_objective(chosen, codes, self.D, self.Z, anchor, self.lam, self.mu)

    def scorer(self) -> LinearScorer:
        """Return the adapted scorer for rows to come."""
        coef = self._coef() / self._scores.lengths[:, None] @ self.axes.T
        return LinearScorer(coef, -coef @ self.mean)

    def _coef(self) -> np.ndarray:
        if not self.scaled or self.unit:
            return self.Z @ self.D
        W = self.V.T @ self.D  # (q, p): one row per embedding dimension
        return self.A @ (W / nonzero(linalg.norm(W, axis=1, keepdims=True)))


def update_pile_codes(chosen: Sums, D, Z, lam) -> Codes:
    """Equation (12): C = (B Dᵀ + lam Y Z) (D Dᵀ + lam I)⁻¹, as products."""
    both = solve_positive(plus_diagonal(D @ D.T, lam), np.hstack([D, lam * Z.T]))
    Pt, Qt = both[:, : D.shape[1]], both[:, D.shape[1] :]
    CtX = Pt @ chosen.gram + Qt @ chosen.class_sums
    CtY = Pt @ chosen.class_sums.T + Qt * chosen.counts
    return Codes(CtX @ Pt.T + CtY @ Qt.T, CtX, CtY)


def update_pile_dictionary(codes: Codes, anchor, mu) -> np.ndarray:
    """Equation (14): D = (CᵀC + mu I)⁻¹ (CᵀB + mu D*)."""
    left = plus_diagonal(codes.CtC.copy(), mu)
    return solve_positive(left, codes.CtX + mu * anchor)


def pile_objective(chosen: Sums, codes: Codes, D, Z, anchor, lam, mu) -> float:
    """Equation (10)."""
    reconstruction = (
        np.trace(chosen.gram) - 2 * np.vdot(codes.CtX, D) + np.vdot(codes.CtC, D @ D.T)
    )
    near_prototypes = (
        chosen.counts @ np.einsum("ij,ij->i", Z, Z)
        - 2 * np.vdot(codes.CtY, Z.T)
        + np.trace(codes.CtC)
    )
    moved = linalg.norm(D - anchor) ** 2
    return float(reconstruction + lam * near_prototypes + mu * moved)
