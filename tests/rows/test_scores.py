"""Scores of a pile: those that rank rows, and those that are reported."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from unseen.rows.scores import Scores

from tests.checks import close
from unseen.rows.holders import MemoryRows
from unseen.rows.labelling import best_score


@pytest.mark.parametrize("unit_columns", [None, False, True])
@pytest.mark.parametrize("reports", [False, True])
@pytest.mark.parametrize("has_offset", [False, True])
def test_scores_are_products_and_reported_as_asked(unit_columns, reports, has_offset):
    rng = np.random.default_rng(0)
    B, coef, other = (rng.normal(size=(n, 4)) for n in (30, 3, 3))
    offset = np.array([5.0, -5.0, 0.0]) if has_offset else None
    options = {} if unit_columns is None else {"unit_columns": unit_columns}
    reported = other if reports else None
    scores = Scores(MemoryRows(B), coef, reported=reported, offset=offset, **options)
    ranked = np.array([[b @ c for c in coef] for b in B])
    ranked = ranked + offset if has_offset else ranked
    wanted = np.array([[b @ c for c in other] for b in B]) if reports else ranked
    lengths = [np.sqrt(sum(column**2)) for column in wanted.T]
    if unit_columns:
        wanted = wanted / lengths
    close(np.asarray(scores), wanted, digits=10)
    close(scores.lengths, lengths if unit_columns else np.ones(3))
    labelling = scores.labelling(best_score)
    assert_array_equal(labelling.state.codes, ranked.argmax(axis=1))
    assert_array_equal(labelling.sizes, np.bincount(ranked.argmax(axis=1), minlength=3))
    assert_array_equal(labelling.state.reported, wanted.argmax(axis=1))
