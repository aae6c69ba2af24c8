"""Which given rows were picked because their label was wrong.

People correct what they see to be wrong, and leave what is right alone. Such rows say
nothing of how often a name is right, and lie where rows of their class seldom lie. Or
the name led astray, and all rows of its class had wrong labels. The pile was labelled
before; of a given row i of class c is known

    q_ik   how likely class k was; the label was that of the largest, p_i, which is
           taken for MOST_SURE at most

Where the name of c is right, a row was drawn, or it was picked (a share φ of all rows)
because its label was wrong. Where the name is wrong (a share ν of all), the rows of c
lie where those of another name do:

    right_c = Π_i q_ic (1 - φ),   or, with another label,  q_ic (1 - φ + φ / (1 - p_i))
    wrong_c = Σ_d≠c Π_i q_id / (K - 1)

φ and ν are the likeliest for  Π_c (1 - ν) right_c + ν wrong_c,  by EM; DRAWN rows that
were drawn, and NAMES names of which a share USUAL_WRONG was wrong, come before all.
"""

from __future__ import annotations

import numpy as np

DRAWN = 2.0
NAMES, USUAL_WRONG = 10.0, 0.02
LEAST = 1e-3  # no class is ruled out
MOST_SURE = 0.8  # labels can be surer than they should be
STEPS, ENOUGH = 1000, 1e-12


def not_picked(q: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return the chances that rows were not picked because their label was wrong.

    Parameters
    ----------
    q : ndarray of shape (n_given, n_names)
    given : ndarray of int of shape (n_given,)
        The class c of every row.

    Examples
    --------
    All four labels are wrong. The given class was the next best one; or it was another,
    for all rows of a class the same:

    >>> import numpy as np
    >>> from unseen.transduction.given_picked import not_picked
    >>> q = np.array([[0.7, 0.2, 0.05, 0.05], [0.05, 0.7, 0.2, 0.05]])
    >>> not_picked(q[[0, 0, 1, 1]], np.array([1, 1, 2, 2])).round(2)
    array([0.23, 0.23, 0.23, 0.23])
    >>> not_picked(q[[0, 0, 1, 1]], np.array([2, 2, 3, 3])).round(2)
    array([1., 1., 1., 1.])
    """
    names, of = np.unique(given, return_inverse=True)
    q = np.clip(q, LEAST, 1 - LEAST)
    p, other = np.minimum(q.max(axis=1), MOST_SURE), q.argmax(axis=1) != given
    log_own = np.log(q[np.arange(len(q)), given])
    log_wrong = logs_of_wrong_names(np.log(q), names, of)
    share, wrong_share = 0.5, USUAL_WRONG
    for _ in range(STEPS):
        before = share, wrong_share
        row = 1 - share + other * share / (1 - p)
        log_right = np.bincount(of, weights=log_own + np.log(row))
        odds = np.log(wrong_share / (1 - wrong_share)) + log_wrong - log_right
        right = 1 / (1 + np.exp(np.clip(odds, -700, 700)))
        picked = right[of] * other * share / (1 - p) / row
        share = picked.sum() / (right[of].sum() + DRAWN)
        wrong = (1 - right).sum() + NAMES * USUAL_WRONG
        wrong_share = wrong / (len(names) + NAMES)
        if max(abs(share - before[0]), abs(wrong_share - before[1])) < ENOUGH:
            break
    return 1 - picked


def logs_of_wrong_names(log_q: np.ndarray, names, of) -> np.ndarray:
    """Return log wrong_c of every class that rows are given for."""
    K = log_q.shape[1]
    sums = np.zeros((len(names), K))
    np.add.at(sums, of, log_q)
    sums[np.arange(len(names)), names] = -np.inf
    return np.logaddexp.reduce(sums, axis=1) - np.log(K - 1)
