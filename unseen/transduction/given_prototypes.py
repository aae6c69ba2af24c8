"""Prototypes that given rows correct, as far as these show the prototypes to be wrong.

    a_i  (p,)   given row i of unit length, less the mean row; of length τ on average
    z_c  (p,)   prototype c less the mean prototype, of unit length
    t           cosine of a row with its class mean; t² that of two rows of a class
    r           cosine of a class mean with its prototype

All rows together tell t and r: two given rows of a class have cosine t² on average, a
row leads its own prototype over the others by t r. A prototype then counts as

    w = (1 - t²) / (t² (1 - r²))    rows of mean  τ r t z_c,

and a corrected prototype lies where the mean of given rows and of these does:

    Σ_i a_i + w τ r t z_c

A name that says nothing (r = 0) has no part in it. A class of which nothing is given
keeps its prototype. Where the pile was labelled by the prototypes before anything was
given (given_trust.py), it is known where each of them led, and one that led to the
rows of its class counts for more: w is multiplied by (1 - s_c²)^-POWER, with s_c the
trust in class c. A slip of a finger must not undo a name either: of g given rows in
all, w τ r t is FIRST / g at least.
"""

from __future__ import annotations

import numpy as np

from unseen.core.given import GivenRows
from unseen.core.linalg import to_unit
from unseen.rows.holders import Holder
from unseen.rows.pile import in_chunks

USUAL, USUAL_PAIRS = 0.12, 5.0  # t² before any pair was seen, and how firmly
FIRST = 3.0  # given rows that it takes to outweigh a name
MOST = 0.95  # r is never taken to be more
POWER = 1.5  # chosen with plan few-labels on four of the development sets of photos


def corrected_prototypes(
    rows: Holder, mean: np.ndarray, P: np.ndarray, given: GivenRows
) -> np.ndarray:
    """Return prototypes in the space of unit rows, given rows among what they rest on.

    Parameters
    ----------
    rows : Holder
        Rows of unit length less ``mean``.
    mean : ndarray of shape (p,)
    P : ndarray of shape (n_classes, p)
        Prototypes of unit length; those of new classes are not looked at.
    given : GivenRows
    """
    A, codes, length = given_rows(rows, given)
    t2 = pair_cosine(to_unit(A), codes)
    around = corrected_directions(A / length, codes, P, given, t2)
    # All at one length: how far from the middle, few rows cannot tell.
    return mean + length * np.sqrt(t2) * around


def given_rows(rows: Holder, given: GivenRows) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the given rows, their classes, and τ, the usual length of all rows."""
    states = [in_chunks(given.codes, rows)]
    _, (some, codes, squares) = rows.run(pick_given, states=states)
    length = float(np.sqrt(squares / len(rows)))
    return np.vstack(some), np.concatenate(codes), length


def corrected_directions(
    A: np.ndarray,
    codes: np.ndarray,
    P: np.ndarray,
    given: GivenRows,
    t2: float,
    trust: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return where classes lie from the mean row, at unit length.

    Parameters
    ----------
    A : ndarray of shape (n_given, p)
        Given rows less the mean row, of length 1 on average.
    codes : ndarray of shape (n_given,)
    P : ndarray of shape (n_classes, p)
        Prototypes; those of new classes are not looked at.
    given : GivenRows
    t2 : float
    trust : ndarray of shape (n_classes,) or float
        s_c, in [0, 1).
    """
    named = ~given.new
    Z = np.zeros_like(P)
    Z[named] = to_unit(P[named] - P[named].mean(axis=0))
    r = agreement(to_unit(A), codes, Z, named) / np.sqrt(t2)
    r = float(np.clip(r, 0, MOST))
    worth = (1 - t2) / (t2 * (1 - r * r)) * (1 - np.square(trust)) ** -POWER
    sums = np.zeros_like(P)
    np.add.at(sums, codes, A)
    pull = np.maximum(worth * r * np.sqrt(t2), FIRST / len(A))
    moved = sums + np.where(named, pull, 0.0)[:, None] * Z
    # A class of which nothing is given keeps its prototype, whatever that is worth.
    return to_unit(np.where((given.counts == 0)[:, None], Z, moved))


def pair_cosine(
    units: np.ndarray, codes: np.ndarray, usual: float = USUAL, firmness=USUAL_PAIRS
) -> float:
    """Return the mean cosine of two rows of a class, the usual where pairs are few.

    >>> import numpy as np
    >>> from unseen.transduction.given_prototypes import pair_cosine
    >>> pair_cosine(np.eye(2), np.array([0, 1]))
    0.12
    """
    total, pairs = 0.0, 0.0
    for c in np.unique(codes):
        own = units[codes == c]
        total += float(np.sum(own.sum(axis=0) ** 2)) - len(own)
        pairs += len(own) * (len(own) - 1)
    found = (total / 2 + usual * firmness) / (pairs / 2 + firmness)
    return float(np.clip(found, 0.02, 0.9))


def agreement(units, codes, Z, named) -> float:
    """Return by how much rows lead their own prototype over the mean of all."""
    own = named[codes]
    if not own.any() or named.sum() < 2:
        return 0.0
    S = units[own] @ Z[named].T
    at = (np.cumsum(named) - 1)[codes[own]]
    lead = S[np.arange(len(S)), at] - S.mean(axis=1)
    counts = np.bincount(at, minlength=int(named.sum()))
    by_class = np.bincount(at, weights=lead, minlength=len(counts))[counts > 0]
    return float(np.mean(by_class / counts[counts > 0]))


def pick_given(block, kept, given):
    """Return the given rows of a block and their classes, and the sum of squares."""
    known = given >= 0
    squares = np.einsum("ij,ij->", block, block)
    return None, ([block[known]], [given[known]], squares)
