"""A probability for methods whose scores have no scale: what is stated of labels.

    r_i   share of its class's rows that row i is not behind: 1 for the clearest
    s     one less the changes of labels per row, over all rounds

    p_i = r_i^(1/s - 1),   whose mean over the rows is s

Labels that two answers share are more often right, and a share of that size is about
what is right: with nothing held out, there is no better witness. The order of rows is
the method's own. :class:`unseen.Calibrated` measures what is right on seen classes.
"""

from __future__ import annotations

import numpy as np

LEAST, MOST = 0.02, 0.98  # of s: no pile is wholly right or wholly wrong


def stated(ranks: np.ndarray, rounds: list, labels: np.ndarray) -> np.ndarray:
    """Return probabilities in the order of ranks.

    Parameters
    ----------
    ranks : ndarray of shape (n_samples,)
        In (0, 1].
    rounds : list of Round
        What adapting did; without any, one label in two is taken to be right.
    labels : ndarray of shape (n_samples,)
        Names, as after the last round.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.models.stated import stated
    >>> stated(np.array([0.5, 1.0]), [], np.array(["zebra", "okapi"]))
    array([0.5, 1. ])
    """
    changed = sum(done.n_changed for done in rounds) / max(1, len(labels))
    share = 1 - changed if rounds else 0.5
    share = float(np.clip(share, LEAST, MOST))
    return ranks ** (1 / share - 1)
