"""Where transductive methods start: scores, and prototypes that given rows correct."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close
from unseen.core.given import GivenRows
from unseen.core.start import corrected


def corrected_by_loops(rows, Z, labels, given, new):
    """Follow the words at ``corrected``, a row and a class at a time."""
    N = len(Z)
    of = [[i for i, c in given.items() if c == k] for k in range(N)]
    called = [[i for i in range(len(rows)) if labels[i] == k] for k in range(N)]
    inside = [rows[own] - rows[own].mean(axis=0) for own in called if own]
    s2 = sum((part**2).sum() for part in inside) / max(len(rows) - len(inside), 1)
    both = [k for k in range(N) if of[k] and not new[k]]
    off = [
        ((rows[of[k]].mean(axis=0) - Z[k]) ** 2).sum() - s2 / len(of[k]) for k in both
    ]
    made = Z.copy()
    for k in range(N):
        worth = 0 if new[k] or not both else s2 / max(np.mean(off), s2 / 100)
        if of[k]:
            made[k] = (worth * Z[k] + rows[of[k]].sum(axis=0)) / (worth + len(of[k]))
    return made


@pytest.mark.parametrize("new", [[], [2], [0, 1, 2, 3]])
@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_given_rows_correct_prototypes_by_what_these_are_worth(new, shift):
    rng = np.random.default_rng(0)
    true = 2 * rng.normal(size=(4, 6))
    y = np.repeat(np.arange(4), 12)
    rows = true[y] + rng.normal(size=(48, 6))
    Z = true + shift * rng.normal(size=true.shape)
    logits = rows @ true.T - (true**2).sum(axis=1) / 2
    given = {0: 0, 14: 1, 15: 1, 25: 2, 26: 2, 27: 2}  # one, two, three and none
    codes = np.full(48, -1)
    codes[list(given)] = list(given.values())
    mask = np.isin(np.arange(4), new)
    made = corrected(rows, Z, logits, GivenRows(codes, mask))
    wanted = corrected_by_loops(rows, Z, logits.argmax(axis=1), given, mask)
    close(made, wanted, digits=10)
    assert_array_equal(made[3], Z[3])  # nothing was given for it
