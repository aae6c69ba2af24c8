"""Corrections of hubs: classes that lie near to too many rows.

Where rows meet prototypes in many dimensions, some prototypes become the nearest of
far too many rows. Each rule below looks at the whole pile and takes from a class what
it has for being near to everything. S (n, N) are the scores of the estimator.

    CSLS               2 S_xc - r_x - r_c     r_c: mean of the k best rows of class c
                                              r_x: mean of the k best classes of row x
    inverted softmax   β S_xc - log Σ_x' exp(β S_x'c)
    GC                 - (rank of x among all rows, by their score for c)
    NRM                S_xc / |S_:c|

CSLS: Conneau et al., ICLR 2018. Inverted softmax: Smith et al., ICLR 2017. GC and NRM:
Dinu et al., ICLR workshop 2015. All but CSLS lean on classes of similar size.

The rules were made for cosines. They take the scores of any estimator as they are; the
inverted softmax, which needs a scale, takes its logits less the mean of each row.
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real

import numpy as np
from scipy.special import logsumexp

from unseen.core.around import Start
from unseen.core.base import LinearScorer
from unseen.core.params import Interval
from unseen.transduction.transducer import START, Outcome, Transducer, as_round


class HubCorrection(Transducer):
    """Base of the linear rules: a factor and a shift for every class."""

    def _transduce(self, start: Start) -> Outcome:
        S, scorer = self._similarities(start)
        factor, shift = self._correct(S)
        if scorer is not None:
            coef, intercept = scorer
            scorer = LinearScorer(coef * factor[:, None], intercept * factor + shift)
        return _outcome(start, S * factor + shift, scorer)

    def _similarities(self, start: Start) -> tuple[np.ndarray, LinearScorer | None]:
        """Return S, and what makes it of rows."""
        return start.scores, start.scorer

    @abstractmethod
    def _correct(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the factor and the shift of every class."""


def _outcome(
    start: Start, corrected: np.ndarray, scorer: LinearScorer | None
) -> Outcome:
    first, last = (
        100 * np.bincount(scores.argmax(axis=1)).max() / len(scores)
        for scores in (start.scores, corrected)
    )
    note = f"The largest class had {first:.0f} % of the rows, and has {last:.0f} %."
    step = as_round(start.scores, corrected, start.candidates, note=note)
    return Outcome(corrected, [step], scorer)


def top_mean(scores: np.ndarray, k: int) -> np.ndarray:
    """Return the mean of the k largest scores of each column, or of all.

    >>> import numpy as np
    >>> from unseen.transduction.hubness import top_mean
    >>> top_mean(np.array([[1.0, 5.0], [3.0, 4.0], [2.0, 0.0]]), 2)
    array([2.5, 4.5])
    """
    k = min(k, len(scores))
    return np.partition(scores, len(scores) - k, axis=0)[len(scores) - k :].mean(axis=0)


class CSLS(HubCorrection):
    """Cross-domain similarity local scaling: scores less those of the neighbourhood.

    A class that has high scores on its k best rows must beat others by as much.

    Parameters
    ----------
    estimator : zero-shot model or None, default=None
        Where to start; None for the inductive part of ``AnchoredSelfTraining``.
    n_neighbors : int, default=80
        k, rows per class. The authors take 10; on folds of seen classes, whose piles
        are of thousands of rows, more were better.

    Attributes
    ----------
    labels_, reliability_, rounds_
        Left by ``adapt``.

    Notes
    -----
    r_x is the same for all classes of a row and changes no label; it is left out.

    References
    ----------
    Conneau, Lample, Ranzato, Denoyer and Jégou, Word translation without parallel
    data, ICLR 2018.

    Examples
    --------
    >>> from unseen import CSLS, ESZSL, load_data
    >>> data = load_data("digits")
    >>> model = CSLS(ESZSL()).fit(data.X_seen, data.y_seen,
    ...                           class_embeddings=data.class_embeddings)
    >>> print(model.adapt(data.X_unseen).rounds_[0])
    Kept 533 of 533 rows (rate 1); ... The largest class had ...
    """

    _adapt_parameters = frozenset({"n_neighbors"})
    _parameter_constraints: dict = {
        **START,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, estimator=None, *, n_neighbors=80):
        self.estimator = estimator
        self.n_neighbors = n_neighbors

    def _correct(self, S):
        return np.full(S.shape[1], 2.0), -top_mean(S, self.n_neighbors)


class InvertedSoftmax(HubCorrection):
    """Inverted softmax: which row, given the class.

    Parameters
    ----------
    estimator : zero-shot model or None, default=None
        Where to start; None for the inductive part of ``AnchoredSelfTraining``.
    beta : float, default=0.3
        Sharpness, in units of the start's logits. CLIP's logits are 100 cosines, so
        0.3 is 30 for cosines. Larger values come near to one row per class.

    Attributes
    ----------
    labels_, reliability_, rounds_
        Left by ``adapt``.

    Notes
    -----
    Every class gets the same mass over the pile before rows choose: classes of
    different size suffer.

    References
    ----------
    Smith, Turban, Hamblin and Hammerla, Offline bilingual word vectors, orthogonal
    transformations and the inverted softmax, ICLR 2017.

    Examples
    --------
    >>> from unseen import InvertedSoftmax, load_data
    >>> data = load_data("digits")
    >>> model = InvertedSoftmax().fit(data.X_seen, data.y_seen,
    ...                               class_embeddings=data.class_embeddings)
    >>> model.adapt(data.X_unseen).labels_.shape
    (533,)
    """

    _adapt_parameters = frozenset({"beta"})
    _parameter_constraints: dict = {
        **START,
        "beta": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, estimator=None, *, beta=0.3):
        self.estimator = estimator
        self.beta = beta

    def _similarities(self, start):
        return start.contrast()

    def _correct(self, S):
        return np.full(S.shape[1], self.beta), -logsumexp(self.beta * S, axis=0)


class GlobalCorrection(Transducer):
    """Globally corrected retrieval: a row goes to the class that ranks it highest.

    Parameters
    ----------
    estimator : zero-shot model or None, default=None
        Where to start; None for the inductive part of ``AnchoredSelfTraining``.

    Attributes
    ----------
    labels_, reliability_, rounds_
        Left by ``adapt``.

    Notes
    -----
    Our reading: ranks decide, and scores only where two classes rank a row alike (the
    paper subtracts the cosine from the rank). New rows have no rank; they go to the
    nearest of the class means of the labelled pile.

    References
    ----------
    Dinu, Lazaridou and Baroni, Improving zero-shot learning by mitigating the hubness
    problem, ICLR workshop 2015.

    Examples
    --------
    >>> from unseen import GlobalCorrection, load_data
    >>> data = load_data("digits")
    >>> model = GlobalCorrection().fit(data.X_seen, data.y_seen,
    ...                                class_embeddings=data.class_embeddings)
    >>> model.adapt(data.X_unseen).labels_.shape
    (533,)
    """

    _parameter_constraints: dict = {**START}

    def __init__(self, estimator=None):
        self.estimator = estimator

    def _transduce(self, start: Start) -> Outcome:
        S = start.scores
        ranks = (-S).argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
        spread = np.ptp(S)
        tie_breaker = (S - S.min()) / (2 * spread) if spread > 0 else np.zeros(S.shape)
        return _outcome(start, tie_breaker - ranks, None)


class NormalisedScores(HubCorrection):
    """NRM: the scores of every class get unit length over the pile.

    Parameters
    ----------
    estimator : zero-shot model or None, default=None
        Where to start; None for the inductive part of ``AnchoredSelfTraining``.

    Attributes
    ----------
    labels_, reliability_, rounds_
        Left by ``adapt``.

    Notes
    -----
    JEDM and TSTD of the authors' program do the same on their own
    (``score_scaling``).

    References
    ----------
    Dinu, Lazaridou and Baroni, Improving zero-shot learning by mitigating the hubness
    problem, ICLR workshop 2015.

    Examples
    --------
    >>> from unseen import NormalisedScores, load_data
    >>> data = load_data("digits")
    >>> model = NormalisedScores().fit(data.X_seen, data.y_seen,
    ...                                class_embeddings=data.class_embeddings)
    >>> model.adapt(data.X_unseen).labels_.shape
    (533,)
    """

    _parameter_constraints: dict = {**START}

    def __init__(self, estimator=None):
        self.estimator = estimator

    def _correct(self, S):
        lengths = np.sqrt(np.einsum("ij,ij->j", S, S))
        factor = 1 / np.where(lengths > 0, lengths, 1.0)
        return factor, np.zeros(len(factor))
