"""Whatever comes in: a finite answer or a plain sentence, never a raw error."""

import numpy as np
import pytest

from tests.checks import make_data
from tests.estimators import fuzz
from unseen import ESZSL, SumsPCA, WithinClassWhitener

SAMPLE, ALL = 60, 6000


def findings(seeds):
    return [found for found in map(fuzz.run, seeds) if found]


def test_a_sample_of_random_cases_ends_well():
    assert not findings(range(SAMPLE))


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, ALL, 500))
def test_thousands_of_random_cases_end_well(first):
    assert not findings(range(first, first + 500))


@pytest.mark.parametrize("whole", [1e160, 1e300])
@pytest.mark.parametrize("model", [WithinClassWhitener(), SumsPCA(), ESZSL()])
def test_numbers_whose_products_leave_the_range_are_told(model, whole):
    rng = np.random.default_rng(0)
    X, y = whole * rng.normal(size=(20, 3)), np.repeat([0, 1], 10)
    if isinstance(model, ESZSL):
        model = ESZSL(unit_rows=False)
    with pytest.raises(ValueError, match="so large that their products leave"):
        model.fit(X, y)


def test_masked_rows_labels_and_tables_are_refused():
    data = make_data()
    X, y, A = data.X_seen, data.y_seen, data.class_embeddings
    masked = np.ma.masked_array(X, mask=X > 2)
    with pytest.raises(ValueError, match="X is a masked array"):
        ESZSL().fit(masked, y, class_embeddings=A)
    with pytest.raises(ValueError, match="y is a masked array"):
        ESZSL().fit(X, np.ma.masked_array(y), class_embeddings=A)
    with pytest.raises(ValueError, match="class_embeddings is a masked array"):
        ESZSL().fit(X, y, class_embeddings=np.ma.masked_array(A.to_numpy()))
    model = ESZSL().fit(X, y, class_embeddings=A)
    for asked in (model.predict, model.adapt, model.decision_function):
        with pytest.raises(ValueError, match="X is a masked array"):
            asked(masked)


def test_labels_of_two_kinds_are_refused_by_name():
    X = np.arange(8.0).reshape(4, 2)
    y = np.array(["zebra", 7, "zebra", 7], dtype=object)
    for model in (ESZSL(), WithinClassWhitener()):
        with pytest.raises(ValueError, match="y holds 'zebra', a text, and 7"):
            model.fit(X, y)
