"""What given rows say of the answer that a pile had without them.

The pile was labelled by prototypes alone (:class:`GuidedMixture`), with

    b_i  (r,)   its rows as they were compared, of unit length
    m_c  (r,)   the direction of class c as it came out, of unit length
    t           cosine of a row with the class it was put in

A given row *leads* its class by  l_i = b_i·m_c - mean_d b_i·m_d: by t where c is the
class of that name, by nothing where the name led elsewhere. Names are good for some
classes and bad for others of the same pile, so every class is judged by its own rows,
drawn to what all of them say (s² the variance of a row's lead, μ and β² mean and
variance of classes, the usual ones where few classes are given):

    l_c = (Σ_i l_i / s² + μ / β²) / (n_c / s² + 1 / β²)

One row that was given by mistake thus moves one class, and little of it where all
others agree with the names.

People like to answer what is most doubtful. Such a row leads no class by much, and its
own by less: that is no evidence against the name, and a mean of such rows lies at the
border of the class. So a row is compared with the class that it leads most, by L_i:

    trust_c = l_c of  l_i / L_i,  each of variance s² / w_i²,     w_i = min(1, L_i / t)

and counts w_i where it corrects its prototype.

Rows that were picked because their label was wrong say nothing against a name either:
w_i is multiplied by the chance that row i was not (given_picked.py).

What the pile learned without given rows is not forgotten. With M_c where class c came
out, and p how sure labels were on average, given rows correct

    unit((1 - s_c) Z_c + s_c M_c),     s_c = trust_c p²

which is the name where names say little, and its class where they say much: classes of
which nothing is given then lie as near to their rows as those with given rows do, and
lose none to them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from unseen.core.given import GivenRows
from unseen.core.linalg import to_unit
from unseen.rows.holders import Holder, MemoryRows
from unseen.rows.pile import in_chunks
from unseen.transduction.given_picked import not_picked
from unseen.transduction.given_prototypes import (
    MOST,
    USUAL,
    corrected_directions,
    pair_cosine,
)
from unseen.transduction.guided_measures import tightness
from unseen.transduction.guided_passes import doubted, said, turned
from unseen.transduction.guided_rounds import Mixture

# What is usual, in units of t, and the classes or rows that this counts as. All were
# taken from the development sets of photos.
USUAL_TRUST, TRUST_CLASSES = 0.8, 3.0
USUAL_BETWEEN, BETWEEN_CLASSES = 0.35, 5.0
LEAST_BETWEEN = 0.1
USUAL_SPREAD, SPREAD_ROWS = 0.13, 10.0  # of a row's lead, not in units of t


MOST_ROWS = 8192  # that tell what a pile says without given rows


class Centred(NamedTuple):
    """Prototypes less their mean, and what the mean row says of each class."""

    P: np.ndarray
    offset: np.ndarray


def trusted_prototypes(
    rows: Holder,
    mixture: Mixture | None,
    start: Centred,
    given: GivenRows,
    sure: float = 0.0,
) -> Centred:
    """Return prototypes that given rows corrected where the pile's answer was wrong.

    Parameters
    ----------
    rows : Holder
        Rows of unit length less their mean.
    mixture : Mixture or None
        After its rounds, without given rows, among the classes that have names, on
        :func:`some_of` the rows; None where these are fewer than two.
    start : Centred
        Unit prototypes less their mean; those of new classes are not looked at.
    given : GivenRows
    sure : float
        p, the mean reliability of what the mixture says.
    """
    (P, offset), named = start, ~given.new
    A, codes = picked(rows, None, given)
    trust, usual = np.zeros(len(P)), USUAL
    counted, known = np.ones(len(A)), P.copy()
    if mixture is not None:
        found = leads(rows, mixture, given)
        counted[found.place >= 0] = found.clear[found.place >= 0]
        trust[named] = trusted(found, mixture)
        (counts, squares, _, _), M = mixture.sums, mixture.carried(None)
        usual = tightness(counts, squares, M, mixture.n) ** 2
        sure *= float(np.mean(found.place >= 0))  # rows of new classes had labels, too
        known[named] = remembered(P[named], M, trust[named] * sure**2)
    t2 = pair_cosine(A, codes, usual)
    D = corrected_directions(A * counted[:, None], codes, known, given, t2, trust)
    length = np.sqrt(np.mean(np.sum(P[named] ** 2, axis=1)))
    return Centred(length * (D - D.mean(axis=0)), trust * offset)


def remembered(P: np.ndarray, M: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return names drawn to the classes that they made, all of unit length.

    >>> import numpy as np
    >>> from unseen.transduction.given_trust import remembered
    >>> names, made = np.array([[1.0, 0], [-1, 0]]), np.array([[0, 5.0], [0, -2]])
    >>> remembered(names, made, np.array([0.5, 0.0])).round(2)
    array([[ 0.71,  0.71],
           [-1.  ,  0.  ]])
    """
    Z = to_unit(P - P.mean(axis=0))
    return to_unit(Z + shares[:, None] * (to_unit(M) - Z))


def some_of(rows: Holder) -> Holder:
    """Return rows that speak for all: the whole pile, or evenly some of a large one."""
    step = -(-len(rows) // MOST_ROWS)
    return rows if step == 1 else MemoryRows(rows.sample(step))


class Leads(NamedTuple):
    """By how much given rows lead classes, in the order of the rows.

    ``own`` is the lead of the class that was given, ``best`` the largest of any,
    ``clear`` w, ``place`` the class among those with a name, -1 for a new one.
    """

    own: np.ndarray
    best: np.ndarray
    clear: np.ndarray
    place: np.ndarray


def leads(rows: Holder, mixture: Mixture, given: GivenRows) -> Leads:
    """Compare given rows with the classes as they came out without them."""
    B, codes = picked(rows, mixture.turn, given)
    named = ~given.new
    place = np.where(named, np.cumsum(named) - 1, -1)[codes]
    S = B @ to_unit(mixture.sums.totals).T
    S -= S.mean(axis=1, keepdims=True)
    best = np.maximum(S.max(axis=1), 1e-6)
    clear = np.minimum(best / max(mixture.tightness, 1e-3), 1.0)
    own = place >= 0
    clear[own] *= not_picked(answers(B[own], mixture), place[own])
    return Leads(S[np.arange(len(S)), place], best, clear, place)


def answers(B: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return how likely every class was for turned rows, their neighbours not asked."""
    asked = mixture.asked
    L = (said(B, None, asked) + asked.u) / asked.temperature
    return doubted(softmax(L, axis=1), asked.certain, mixture.K)


def trusted(found: Leads, mixture: Mixture) -> np.ndarray:
    """Return how far each class with a name came out as the class of that name."""
    own, best, clear, place = (one[found.place >= 0] for one in found)
    spread = USUAL_SPREAD / max(mixture.tightness, 1e-3)
    return np.clip(judged(own / best, place, mixture.K, spread, clear**2), 0, MOST)


def judged(
    lead: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    usual_spread: float,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return the lead of every class, by its own rows and by what all classes say.

    The variance of a row's lead is one for all over its weight.

    >>> import numpy as np
    >>> from unseen.transduction.given_trust import judged
    >>> nothing = np.zeros(0)
    >>> judged(nothing, nothing.astype(int), 2, 0.3)
    array([0.8, 0.8])
    """
    w = np.ones(len(lead)) if weights is None else weights
    n = np.bincount(codes, weights=w, minlength=n_classes)
    there = n > 0
    sums = np.bincount(codes, weights=w * lead, minlength=n_classes)
    found = sums / np.where(there, n, 1.0)
    around = np.sum(w * (lead - found[codes]) ** 2) + SPREAD_ROWS * usual_spread**2
    spread = around / (len(lead) - there.sum() + SPREAD_ROWS)
    usual = USUAL_BETWEEN**2
    weight = 1 / (spread / n[there] + usual)
    firm = TRUST_CLASSES / usual
    mean = (weight @ found[there] + firm * USUAL_TRUST) / (weight.sum() + firm)
    beyond = np.sum((found[there] - mean) ** 2 - spread / n[there])
    between = (beyond + BETWEEN_CLASSES * usual) / (there.sum() + BETWEEN_CLASSES)
    between = max(float(between), LEAST_BETWEEN**2)
    return (found * n / spread + mean / between) / (n / spread + 1 / between)


def picked(rows: Holder, turn, given: GivenRows) -> tuple[np.ndarray, np.ndarray]:
    """Return given rows, turned, at unit length, and their classes."""
    states = [in_chunks(given.codes, rows)]
    _, (some, codes) = rows.run(pick_turned, turn, states=states)
    return to_unit(np.vstack(some)), np.concatenate(codes)


def pick_turned(block, kept, turn, given):
    """Return the given rows of a block, turned, and their classes."""
    known = given >= 0
    return None, ([turned(block[known], {}, turn)], [given[known]])
