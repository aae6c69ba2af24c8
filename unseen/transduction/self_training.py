"""Self-training around any zero-shot model that can take part.

    label the pile → keep the best share of each predicted class → refit, anchored
    to the model before → label again, with a larger share

The strategy is the paper's (its Table V puts it around CCA, ESZSL and JEDM). What a
refit is, the model knows; the rounds are in rounds.py.
"""

from __future__ import annotations

from numbers import Real

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from unseen._params import HasMethods, Interval, StrOptions, fit_context
from unseen.models.adapting import Adapts, PileAnswer
from unseen.models.bilinear import answer_of
from unseen.transduction.around import AroundBase
from unseen.transduction.rounds import (
    PAPER_RATES,
    ROUNDING,
    checked_rates,
    self_train,
)


class SelfTraining(Adapts, AroundBase):
    """Let a zero-shot model teach itself on a pile of unlabelled rows.

    Parameters
    ----------
    base : zero-shot model
        Cloned, never changed. Any model takes part that has ``fit``, ``predict``
        and the two methods of the protocol in the Notes.
    lam : float, default=1.0
        Weight of the pull of self-labelled rows to the prototype of their label.
    mu : float, default=1.0
        Weight of the pull to the model before.
    rates : sequence of float in (0, 1], default=(0.4, 0.6, 0.8, 1.0)
        Share of each predicted class that is kept, one round each.
    rounding : {'floor', 'nearest', 'at_least_one'}, default='nearest'
        How a share becomes a number of rows.

    Attributes
    ----------
    base_ : estimator
        The fitted and, after ``adapt``, adapted model.
    labels_, reliability_, rounds_
        Left by ``adapt``: the label of every row of the pile after the last round;
        its rank among the rows of the same label, 1 for the best; and what each
        round did.

    Notes
    -----
    The protocol of a base, in full:

    ``learner(X, classes=None, *, lam, mu)``
        returns the model in the middle of learning from the rows ``X``: an object
        with ``competition.names`` (who competes), ``labelling(ranking)`` (a
        ``unseen.rows.Labelling``, mostly ``Labelling.of(scores, ranking)``) and
        ``refit(selection)`` (learn from the row numbers ``selection.rows`` under the
        class numbers ``selection.labels``, anchored to what it was; returns the
        objective).
    ``take_over(learner)``
        makes the model predict as the learner would.

    The user guide shows a base from outside the package.

    Examples
    --------
    >>> from unseen import ESZSL, SelfTraining, load_data
    >>> data = load_data("digits")
    >>> model = SelfTraining(ESZSL()).fit(data.X_seen, data.y_seen,
    ...                                   class_embeddings=data.class_embeddings)
    >>> print(model.adapt(data.X_unseen).rounds_[0])
    Kept 213 of 533 rows (rate 0.4); ... labels changed.
    """

    _adapt_parameters = frozenset({"lam", "mu", "rates", "rounding"})
    _parameter_constraints: dict = {
        "base": [HasMethods(["fit", "predict", "learner", "take_over"])],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "mu": [Interval(Real, 0, None, closed="neither")],
        "rates": ["array-like"],
        "rounding": [StrOptions(set(ROUNDING))],
    }

    def __init__(self, base, *, lam=1.0, mu=1.0, rates=PAPER_RATES, rounding="nearest"):
        self.base = base
        self.lam = lam
        self.mu = mu
        self.rates = rates
        self.rounding = rounding

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, *, class_embeddings=None):
        """Fit the base on rows of seen classes; its ``fit`` explains the arguments."""
        return self._fit_base(X, y, class_embeddings)

    def _check_pile(self, X):
        return X  # the base checks it

    def _compete(self, classes):
        return classes  # the base knows

    def _adapt(self, pile, classes) -> PileAnswer:
        rates = checked_rates(self.rates)
        learner = self.base_.learner(pile, classes, lam=self.lam, mu=self.mu)
        rounds = self_train(learner, rates, how_many=ROUNDING[self.rounding])
        self.base_.take_over(learner)
        return answer_of(learner, rounds, None)

    def predict(self, X, *, classes=None):
        """Predict with the base, adapted if it was."""
        check_is_fitted(self)
        return self.base_.predict(X, classes=classes)

    @available_if(lambda self: hasattr(self.base, "decision_function"))
    def decision_function(self, X, *, classes=None):
        """Score with the base, adapted if it was."""
        check_is_fitted(self)
        return self.base_.decision_function(X, classes=classes)
