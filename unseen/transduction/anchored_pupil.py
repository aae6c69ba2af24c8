"""The rounds of anchored self-training: class means that the pile may move.

    B  (n, r)   rows of the pile, whitened        Z  (N, r)  prototypes
    m  (N, r)   class means, at first Z           v  (r,)    their prior variances

    L_ic = b_i·m_c - |m_c|²/2 + log π_c,   R = softmax(L)
    m_c = (Σ_i R_ic b_i + κ_c Z_c / v) / (Σ_i R_ic + κ_c / v)

κ_c is κ, or as much more as keeps m_c within the radius. At rate 1 this is EM; what
it maximises,

    J = Σ_i log Σ_c exp L_ic + prior_rows Σ_c log π_c - κ/2 Σ_cj (m - Z)²_cj / v_j

never falls.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, softmax

from unseen.class_table import Competition


def gaussian_scores(B: np.ndarray, m: np.ndarray, q: np.ndarray | float = 1.0):
    """Return Σ q b m - Σ q m²/2 for every row and class."""
    return B @ (m * q).T - np.sum(q * m * m, axis=1) / 2


def checked_prior(prior, competition: Competition) -> np.ndarray | None:
    """Return known class sizes as shares of the distinct classes, or None."""
    if prior is None:
        return None
    if isinstance(prior, str):
        return np.full(len(competition), 1 / len(competition))
    n_classes = len(competition.columns)
    prior = np.asarray(prior, dtype=np.float64)
    if prior.shape != (n_classes,) or not (prior > 0).all():
        raise ValueError(
            f"class_prior has shape {prior.shape}; give one positive number for each "
            f"of the {n_classes} competing classes."
        )
    return competition.merge(prior) / prior.sum()


class AnchoredPupil:
    """The model in the middle of learning from a pile: class means move."""

    def __init__(
        self,
        B: np.ndarray,
        competition: Competition,
        Z: np.ndarray,
        variances: np.ndarray,
        *,
        own_rows: np.ndarray,
        kappa: float,
        radius: float | None,
        soft: bool,
        prior_rows: float | None,
        class_prior: np.ndarray | None,
        q: np.ndarray | float = 1.0,
    ):
        self.B, self.competition, self.Z, self.m = B, competition, Z, Z
        self.variances, self.own_rows = variances, own_rows
        self.kappa, self.radius, self.soft = kappa, radius, soft
        self.prior_rows, self.class_prior = prior_rows, class_prior
        self.log_prior = np.zeros(len(Z))
        self.movement, self.n_held = 0.0, 0
        self._begin(q)

    def _begin(self, q: np.ndarray | float) -> None:
        """Score the pile by the prototypes, directions weighted by q."""
        self.L = gaussian_scores(self.B, self.Z, q)
        self._look()

    def _look(self) -> None:
        """Find the posteriors of all rows, and their likelihood, in one go."""
        self.R, evidence = posteriors(self.scores())
        self._evidence = evidence.sum()

    def scores(self) -> np.ndarray:
        """Return log likelihood plus log prior, up to what a row's classes share."""
        return self.L + self.log_prior

    def answer(self) -> np.ndarray:
        """Return the log likelihoods: estimated class sizes steer, but do not judge.

        Sizes that are known do judge.
        """
        return self.L + self.known_prior()

    def known_prior(self) -> np.ndarray:
        """Return the log prior that known class sizes impose, else zeros."""
        if self.class_prior is None:
            return np.zeros(len(self.Z))
        return self.log_prior

    def refit(self, rows: np.ndarray, labels: np.ndarray) -> float:
        """Take anchored means of the kept rows; return -J."""
        R = self.R
        self._update_prior(R.sum(axis=0))
        if not self.soft:
            R = np.eye(len(self.Z))[R.argmax(axis=1)]
        if len(rows) < len(R):
            kept = np.zeros(len(R), dtype=bool)
            kept[rows] = True
            R[~kept] = 0
        self.m = self._anchored_means(R.T @ self.B, R.sum(axis=0))
        self.L = gaussian_scores(self.B, self.m)
        if self.class_prior is not None:
            self.log_prior = balanced(self.L, self.class_prior)
        self._look()
        return -self.J()

    def _update_prior(self, sizes: np.ndarray) -> None:
        if self.class_prior is None and self.prior_rows is not None:
            sizes = sizes + self.prior_rows
            self.log_prior = np.log(np.maximum(sizes, 1e-300) / sizes.mean())

    def _anchored_means(self, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the MAP means; raise κ per class until they stay within the radius.

        Raising κ is what the multiplier of the constraint does: the answer is the
        exact constrained maximum.
        """
        pull = sums - counts[:, None] * self.Z
        rows = (counts + self.own_rows)[:, None]
        kappa = np.full(len(self.Z), float(self.kappa))
        self.n_held = 0
        if self.radius is not None:
            far = self._distance(pull, rows, kappa) > self.radius
            self.n_held = int(far.sum())
            if far.any():
                kappa[far] = self._sufficient(pull[far], rows[far])
        step = pull / np.maximum(rows + kappa[:, None] / self.variances, 1e-300)
        self.movement = float(np.mean(step**2 / self.variances))
        return self.Z + step

    def _distance(self, pull, rows, kappa) -> np.ndarray:
        """Return |m - Z|², every direction by its variance, under each class's κ."""
        step = pull / np.maximum(rows + kappa[:, None] / self.variances, 1e-300)
        return np.mean(step**2 / self.variances, axis=1)

    def _sufficient(self, pull, rows) -> np.ndarray:
        """Return the κ that just keeps each class in reach, by Newton's method.

        The distance is f(κ) = mean a / (b + κ)². As for the radius of a trust region,
        1/√f is nearly linear in κ and concave, so that steps from the near side never
        pass the root, and few suffice.
        """
        a, b = pull**2 * self.variances, rows * self.variances
        kappa = np.full(len(pull), max(float(self.kappa), 1e-6))
        for _ in range(100):
            share = a / (b + kappa[:, None]) ** 2
            f = share.mean(axis=1)
            slope = (share / (b + kappa[:, None])).mean(axis=1)  # -f' / 2
            step = (np.sqrt(f / self.radius) - 1) * f / slope
            kappa += np.maximum(step, 0)
            if (step <= 1e-12 * kappa).all():
                break
        return kappa

    def J(self) -> float:  # noqa: N802, the name in the objective
        """Return what the rounds maximise, at the present means."""
        log_shares = self.log_prior - np.log(len(self.Z))
        steps = (self.m - self.Z) ** 2 * (
            self.kappa / self.variances + self.own_rows[:, None]
        )
        fit = self._log_likelihood()
        prior = 0.0
        if self.class_prior is None and self.prior_rows is not None:
            prior = self.prior_rows * log_shares.sum()
        return float(fit + prior - steps.sum() / 2)

    def _log_likelihood(self) -> float:
        # The look had the prior in it, but for its constant.
        return self._evidence - len(self.B) * np.log(len(self.Z))

    def mean_confidence(self, temperatures: np.ndarray) -> np.ndarray:
        """Return the mean posterior of labels at each temperature.

        Of likelihoods alone, over every so-manieth row: two thousand tell.
        """
        L = self.L[:: sample_step(len(self.B))]
        return confidences(L, temperatures).mean(axis=1)

    def final(self, temperature: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the class number of every row and its tempered posterior."""
        answer = self.answer()
        posterior = softmax(answer / temperature, axis=1)
        return answer.argmax(axis=1), posterior.max(axis=1)

    def note(self) -> str:
        """Say how far class means have moved."""
        held = f", {self.n_held} held back" if self.n_held else ""
        return (
            f"Class means moved {np.sqrt(self.movement):.2f} of their prototypes' "
            f"spread{held}."
        )


def posteriors(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return softmax(S) and log Σ exp S of every row, by one exponential."""
    best = S.max(axis=1, keepdims=True)
    R = np.exp(S - best)
    total = R.sum(axis=1, keepdims=True)
    R /= total
    return R, (best + np.log(total))[:, 0]


def confidences(L: np.ndarray, temperatures: np.ndarray) -> np.ndarray:
    """Return the posterior of each row's label, a row for every temperature."""
    behind = L - L.max(axis=1, keepdims=True)
    return np.array([1 / np.exp(behind / t).sum(axis=1) for t in temperatures])


def sample_step(n_rows: int) -> int:
    """Return which every so-manieth row makes a sample of two thousand."""
    return -(-n_rows // 2000)


def balanced(L: np.ndarray, shares: np.ndarray, n_iter: int = 50) -> np.ndarray:
    """Return the log prior under which soft labels have the given class shares."""
    log_prior = np.zeros(L.shape[1])
    for _ in range(n_iter):
        size = logsumexp(
            L + log_prior - logsumexp(L + log_prior, axis=1, keepdims=True), axis=0
        )
        step = np.log(shares * len(L)) - size
        log_prior += step
        if np.abs(step).max() < 1e-6:
            break
    return log_prior - log_prior.mean()
