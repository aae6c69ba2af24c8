"""TSTD: Transductive Self-Training Dictionary (Yu et al., Algorithm 1).

JEDM labels the pile; of every predicted class the best-scoring share is kept;
the dictionary is refitted to the kept rows, close to what it was, with their
codes close to the prototypes of their labels; the share grows; again.

    min_{D,C}  |B - C D|² + lam |Y Z - C|² + mu |D - D*|²                     (10)

The refit is JEDM's (models/jedm.py), the rounds are everyone's (rounds.py).
"""

from __future__ import annotations

from unseen._params import StrOptions
from unseen.models.adapting import PileAnswer
from unseen.models.bilinear import answer_of
from unseen.models.jedm import COUNT, JEDM, POSITIVE, READINGS
from unseen.transduction.rounds import (
    PAPER_RATES,
    ROUNDING,
    checked_rates,
    self_train,
)

# What a parameter left at None means.
ROUND_READINGS = {
    "reference": {"lam": 100.0, "mu": 100.0, "inner_steps": 4, "rounding": "floor"},
    "paper": {"lam": 100.0, "mu": 100.0, "inner_steps": 1, "rounding": "nearest"},
}


class TSTD(JEDM):
    """Transductive Self-Training Dictionary: JEDM that teaches itself on the pile.

    Parameters
    ----------
    variant : {'reference', 'paper'}, default='reference'
        The authors' program or the equations as printed; see ``JEDM``, which also
        explains the parameters not listed here.
    lam : float, default=None
        Weight of the pull of self-labelled rows to their prototype. (100, 100)
    mu : float, default=None
        Weight of the pull to the dictionary before. (100, 100)
    rates : sequence of float in (0, 1], default=(0.4, 0.6, 0.8, 1.0)
        Share of each predicted class that is kept, one round each.
    inner_steps : int, default=None
        Code and dictionary updates per round. ``'reference'`` anchors each to the
        update before, ``'paper'`` all to the round before. (4, 1)
    rounding : {'floor', 'nearest', 'at_least_one'}, default=None
        How a share becomes a number of rows. ('floor', 'nearest')

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Label of every row of the pile, after the last round.
    reliability_ : ndarray of shape (n_samples,)
        Rank of a row among the rows of its label, by score: 1 for the best.
    rounds_ : list of Round
        Rate, rows kept per class, labels changed, objective (10) and labels of
        every round; ``print`` one to read it.

    Notes
    -----
    The authors report the best rate by test accuracy. That takes labels nobody
    has; ``labels_`` are those of the last round.

    Examples
    --------
    >>> from unseen import TSTD, load_data
    >>> data = load_data("digits")
    >>> tstd = TSTD().fit(data.X_seen, data.y_seen,
    ...                   class_embeddings=data.class_embeddings)
    >>> labels = tstd.adapt(data.X_unseen).labels_
    >>> [round.rate for round in tstd.rounds_]
    [0.4, 0.6, 0.8, 1.0]
    >>> (tstd.predict(data.X_unseen) == labels).all()
    np.True_
    """

    _readings = {key: READINGS[key] | ROUND_READINGS[key] for key in READINGS}
    _adapt_parameters = JEDM._adapt_parameters | {
        "lam",
        "mu",
        "rates",
        "inner_steps",
        "rounding",
    }
    _parameter_constraints: dict = {
        **JEDM._parameter_constraints,
        "lam": POSITIVE,
        "mu": POSITIVE,
        "rates": ["array-like"],
        "inner_steps": COUNT,
        "rounding": [StrOptions(set(ROUNDING)), None],
    }

    def __init__(
        self,
        variant="reference",
        *,
        n_components=None,
        n_axes=None,
        alpha=None,
        beta=None,
        embedding_ridge=None,
        code_ridge=None,
        label_coding=None,
        dictionary=None,
        score_scaling=None,
        unit_prototypes=False,
        per_domain_centering=True,
        whitening=None,
        unit_rows=True,
        max_iter=None,
        tol=None,
        components_init=None,
        compatibility_init=None,
        random_state=0,
        lam=None,
        mu=None,
        rates=PAPER_RATES,
        inner_steps=None,
        rounding=None,
    ):
        super().__init__(
            variant,
            n_components=n_components,
            n_axes=n_axes,
            alpha=alpha,
            beta=beta,
            embedding_ridge=embedding_ridge,
            code_ridge=code_ridge,
            label_coding=label_coding,
            dictionary=dictionary,
            score_scaling=score_scaling,
            unit_prototypes=unit_prototypes,
            per_domain_centering=per_domain_centering,
            whitening=whitening,
            unit_rows=unit_rows,
            max_iter=max_iter,
            tol=tol,
            components_init=components_init,
            compatibility_init=compatibility_init,
            random_state=random_state,
        )
        self.lam = lam
        self.mu = mu
        self.rates = rates
        self.inner_steps = inner_steps
        self.rounding = rounding

    def _adapt(self, pile, competition, given=None) -> PileAnswer:
        rates = checked_rates(self.rates)
        learner = self.learner(
            pile,
            competition,
            lam=self._value("lam"),
            mu=self._value("mu"),
            inner_steps=self._value("inner_steps"),
            moving_anchor=self.variant == "reference",
        )
        how_many = ROUNDING[self._value("rounding")]
        rounds = self_train(learner, rates, how_many=how_many, given=given)
        self.take_over(learner)
        return answer_of(learner, rounds, self._adapted)
