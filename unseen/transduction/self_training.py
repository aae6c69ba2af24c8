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

from unseen._documented import DOCUMENTATION
from unseen._params import HasMethods, Interval, StrOptions, fit_context
from unseen.models.adapting import Adapts, PileAnswer
from unseen.models.bilinear import answer_of
from unseen.transduction.rounds import (
    PAPER_RATES,
    ROUNDING,
    checked_rates,
    self_train,
)
from unseen.transduction.wrapper import Wrapper

# What an estimator must have to be taught by rounds, see Notes.
PROTOCOL = {"learner": "(X, classes, *, lam, mu)", "take_over": "(learner)"}


class SelfTraining(Adapts, Wrapper):
    """Let a zero-shot model teach itself on a pile of unlabelled rows.

    Parameters
    ----------
    estimator : zero-shot model
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
    estimator_ : estimator
        The fitted and, after ``adapt``, adapted model.
    labels_, reliability_, rounds_
        Left by ``adapt``: the label of every row of the pile after the last round;
        its rank among the rows of the same label, 1 for the best; and what each
        round did.

    Notes
    -----
    The protocol of an estimator, in full:

    ``learner(X, classes=None, *, lam, mu)``
        returns the model in the middle of learning from the rows ``X``: an object
        with ``competition.names`` (who competes), ``labelling(ranking)`` (a
        ``unseen.rows.Labelling``, mostly ``Labelling.of(scores, ranking)``) and
        ``refit(selection)`` (learn from the row numbers ``selection.rows`` under the
        class numbers ``selection.labels``, anchored to what it was; returns the
        objective).
    ``take_over(learner)``
        makes the model predict as the learner would.

    The user guide shows an estimator from outside the package.

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
        "estimator": [HasMethods(["fit", "predict"])],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "mu": [Interval(Real, 0, None, closed="neither")],
        "rates": ["array-like"],
        "rounding": [StrOptions(set(ROUNDING))],
    }

    def __init__(
        self, estimator, *, lam=1.0, mu=1.0, rates=PAPER_RATES, rounding="nearest"
    ):
        self.estimator = estimator
        self.lam = lam
        self.mu = mu
        self.rates = rates
        self.rounding = rounding

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, *, class_embeddings=None):
        """Fit the estimator on rows of seen classes, as its own ``fit`` does."""
        missing = [
            f"{name}{call}"
            for name, call in PROTOCOL.items()
            if not hasattr(self.estimator, name)
        ]
        if missing:
            raise TypeError(
                f"SelfTraining needs {' and '.join(missing)}, which "
                f"{type(self.estimator).__name__} lacks. How to write them: "
                f"{DOCUMENTATION}guide/adapt.html#a-model-of-your-own"
            )
        return self._fit_estimator(X, y, class_embeddings)

    # One from outside the package checks rows, and knows who competes, by itself.

    def _check_pile(self, X):
        own = hasattr(self.estimator_, "_check_pile")
        return self.estimator_._check_pile(X) if own else X

    def _compete(self, classes):
        own = hasattr(self.estimator_, "_compete")
        return self.estimator_._compete(classes) if own else classes

    def _describe(self, pile, rows, name):
        return self.estimator_._describe(pile, rows, name)

    def _adapt_given(self, pile, competition, given, alone=False):
        if not hasattr(self.estimator_, "_compete"):
            raise ValueError(
                f"estimator={self.estimator} is from outside, and only our models learn"
                " from given labels. Leave given out."
            )
        return super()._adapt_given(pile, competition, given, alone)

    def _adapt(self, pile, classes, given=None) -> PileAnswer:
        rates = checked_rates(self.rates)
        learner = self.estimator_.learner(pile, classes, lam=self.lam, mu=self.mu)
        how_many = ROUNDING[self.rounding]
        rounds = self_train(learner, rates, how_many=how_many, given=given)
        self.estimator_.take_over(learner)
        return answer_of(learner, rounds, None)

    def predict(self, X, *, classes=None):
        """Predict with the estimator, adapted if it was."""
        check_is_fitted(self)
        return self.estimator_.predict(X, classes=classes)

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X, *, classes=None):
        """Score with the estimator, adapted if it was."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X, classes=classes)
