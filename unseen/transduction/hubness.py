"""Corrections of hubs: classes that lie near to too many rows.

Where rows meet prototypes in many dimensions, some prototypes become the nearest of
far too many rows. Each rule below looks at all rows and takes from a class what it has
for being near to everything. S (n, N) are the scores of the estimator.

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

import numpy as np
from scipy.special import logsumexp

from unseen.core.around import Relabelled, estimator_of
from unseen.core.linalg import nonzero
from unseen.core.outcome import LinearScorer
from unseen.core.params import Count, Positive
from unseen.core.start import Start


def csls(start: Start, *, n_neighbors: Count = 80) -> Relabelled:
    """Cross-domain similarity local scaling: scores less those of the neighbourhood.

    A class whose k best rows score high must beat other classes by as much more.

    Parameters
    ----------
    n_neighbors : int, default=80
        k, rows per class. The authors take 10; on folds of seen classes, with
        thousands of rows, more were better.

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
    >>> data = load_data("photos-200")
    >>> model = CSLS(ESZSL()).fit(data.X_seen, data.y_seen,
    ...                           class_embeddings=data.class_embeddings)
    >>> print(model.adapt(data.X_unseen).rounds_[0])
    Learned from 1,000 of 1,000 rows (rate 1); ... The largest class had ...
    """
    S = start.scores
    k = min(n_neighbors, len(S))
    best = np.partition(S, len(S) - k, axis=0)[len(S) - k :]
    twice = np.full(S.shape[1], 2.0)
    return rescaled(start, S, start.scorer, twice, -best.mean(axis=0))


def inverted_softmax(start: Start, *, beta: Positive = 0.3) -> Relabelled:
    """Inverted softmax: which row, given the class.

    The scores of each class are divided by their sum over all rows before a row chooses
    its class, so classes of different sizes come out too equal.

    Parameters
    ----------
    beta : float, default=0.3
        Sharpness, in units of the start's logits. CLIP's logits are 100 cosines, so
        0.3 is 30 for cosines. Larger values come near to one row per class.

    References
    ----------
    Smith, Turban, Hamblin and Hammerla, Offline bilingual word vectors, orthogonal
    transformations and the inverted softmax, ICLR 2017.

    Examples
    --------
    >>> from unseen import InvertedSoftmax, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> model = InvertedSoftmax().fit(data.X_seen, data.y_seen,
    ...                               class_embeddings=data.class_embeddings)
    >>> labels = model.adapt(data.X_unseen).labels_
    >>> round(per_class_accuracy(data.y_unseen, labels), 2)
    0.62
    """
    S, scorer = start.contrast()
    factor = np.full(S.shape[1], beta)
    return rescaled(start, S, scorer, factor, -logsumexp(beta * S, axis=0))


def global_correction(start: Start) -> Relabelled:
    """Globally corrected retrieval: a row goes to the class that ranks it highest.

    Notes
    -----
    Our reading: ranks decide, and scores only where two classes rank a row alike (the
    paper subtracts the cosine from the rank). New rows have no rank; they go to the
    nearest of the class means of the labelled rows.

    References
    ----------
    Dinu, Lazaridou and Baroni, Improving zero-shot learning by mitigating the hubness
    problem, ICLR workshop 2015.

    Examples
    --------
    >>> from unseen import GlobalCorrection, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> model = GlobalCorrection().fit(data.X_seen, data.y_seen,
    ...                                class_embeddings=data.class_embeddings)
    >>> labels = model.adapt(data.X_unseen).labels_
    >>> round(per_class_accuracy(data.y_unseen, labels), 2)
    0.6...
    """
    S = start.scores
    ranks = (-S).argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    spread = np.ptp(S)
    tie_breaker = (S - S.min()) / (2 * spread) if spread > 0 else np.zeros(S.shape)
    return relabelled(start, tie_breaker - ranks, None)


def normalised_scores(start: Start) -> Relabelled:
    """NRM: the scores of every class get unit length over all rows.

    JEDM and TSTD of the authors' program do the same on their own.

    References
    ----------
    As for ``GlobalCorrection``.

    Examples
    --------
    >>> from unseen import NormalisedScores, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> model = NormalisedScores().fit(data.X_seen, data.y_seen,
    ...                                class_embeddings=data.class_embeddings)
    >>> labels = model.adapt(data.X_unseen).labels_
    >>> round(per_class_accuracy(data.y_unseen, labels), 2)
    0.5...
    """
    S = start.scores
    factor = 1 / nonzero(np.linalg.norm(S, axis=0))
    return rescaled(start, S, start.scorer, factor, np.zeros(len(factor)))


def rescaled(
    start: Start,
    S: np.ndarray,
    scorer: LinearScorer | None,
    factor: np.ndarray,
    shift: np.ndarray,
) -> Relabelled:
    """Return S with a factor and a shift for every class, and what makes it of rows."""
    if scorer is not None:
        coef, intercept = scorer
        scorer = LinearScorer(coef * factor[:, None], intercept * factor + shift)
    return relabelled(start, S * factor + shift, scorer)


def relabelled(
    start: Start, corrected: np.ndarray, scorer: LinearScorer | None
) -> Relabelled:
    """Return corrected scores, and in a note what became of the largest class."""
    first, last = (
        100 * np.bincount(scores.argmax(axis=1)).max() / len(scores)
        for scores in (start.scores, corrected)
    )
    note = f"The largest class had {first:.0f} % of the rows, and has {last:.0f} %."
    step = start.round(start.scores, corrected, note=note)
    return Relabelled(corrected, [step], scorer)


CSLS = estimator_of(csls, "CSLS")
InvertedSoftmax = estimator_of(inverted_softmax, "InvertedSoftmax")
GlobalCorrection = estimator_of(global_correction, "GlobalCorrection")
NormalisedScores = estimator_of(normalised_scores, "NormalisedScores")
