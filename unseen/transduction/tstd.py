"""TSTD: Transductive Self-Training Dictionary (Yu et al., Algorithm 1).

JEDM labels the rows; of every predicted class the best-scoring share is kept;
the dictionary is refitted to the kept rows, close to what it was, with their
codes close to the prototypes of their labels; the share grows; again.

    min_{D,C}  |B - C D|² + lam |Y Z - C|² + mu |D - D*|²                     (10)

The refit is JEDM's (models/jedm.py), the rounds are everyone's (rounds.py).
"""

from dataclasses import dataclass

from unseen.core.params import Numbers, Positive
from unseen.models.jedm import JEDM
from unseen.transduction.rounds import PAPER_RATES, self_train


@dataclass(eq=False, repr=False, kw_only=True)
class TSTD(JEDM):
    """Transductive Self-Training Dictionary: JEDM that teaches itself on new rows.

    Parameters
    ----------
    reading : {'reference', 'paper'} or Reading, default='reference'
        The authors' program or the equations as printed; see ``JEDM``, which also
        explains the parameters not listed here.
    lam : float, default=100.0
        Weight of the pull of self-labelled rows to their prototype.
    mu : float, default=100.0
        Weight of the pull to the dictionary before.
    rates : sequence of float in (0, 1], default=(0.4, 0.6, 0.8, 1.0)
        Share of each predicted class that is kept, one round each.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Label of every unlabelled row, after the last round.
    reliability_ : ndarray of shape (n_samples,)
        Estimated chance that the label is right; the glossary says what it rests on.
    rounds_ : list of Round
        Rate, rows kept per class, labels changed, objective (10) and labels of
        every round; ``print`` one to read it.

    Notes
    -----
    The authors report the best rate by test accuracy. That takes labels nobody
    has; ``labels_`` are those of the last round.

    Examples
    --------
    >>> from unseen import TSTD, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> tstd = TSTD().fit(data.X_seen, data.y_seen,
    ...                   class_embeddings=data.class_embeddings)
    >>> round(per_class_accuracy(data.y_unseen, tstd.predict(data.X_unseen)), 2)
    0.5...
    >>> labels = tstd.adapt(data.X_unseen).labels_
    >>> round(per_class_accuracy(data.y_unseen, labels), 2)
    0.7...
    >>> [step.rate for step in tstd.rounds_]
    [0.4, 0.6, 0.8, 1.0]
    """

    lam: Positive = 100.0
    mu: Positive = 100.0
    rates: Numbers = PAPER_RATES

    _adapt_parameters = JEDM._adapt_parameters | {"lam", "mu", "rates"}

    def _adapt(self, unlabelled, candidates, given):
        how = self.lam, self.mu, self.rates, self._reading().rounding
        return self_train(self, unlabelled, candidates, given, *how)
