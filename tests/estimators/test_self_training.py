"""Self-training around any base, one from outside included."""

import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from tests.checks import close, fitted, make_data
from unseen import CCA, ESZSL, JEDM, TSTD, SelfTraining

BASES = [CCA(), ESZSL(), JEDM(n_components=8)]


def named(model):
    return type(model).__name__


def test_tstd_is_self_training_around_jedm():
    data = make_data()
    tstd = fitted(TSTD(n_components=8, lam=3.0, mu=2.0), data).adapt(data.X_unseen)
    around = SelfTraining(JEDM(n_components=8), lam=3.0, mu=2.0, rounding="floor")
    around = fitted(around, data).adapt(data.X_unseen)
    assert_array_equal(tstd.labels_, around.labels_)
    assert_array_equal(tstd.reliability_, around.reliability_)
    for ours, theirs in zip(tstd.rounds_, around.rounds_, strict=True):
        assert ours.objective == theirs.objective
        assert_array_equal(ours.selected, theirs.selected)


@pytest.mark.parametrize("base", BASES, ids=named)
def test_no_rounds_are_the_base_and_rounds_learn_what_new_rows_get(base):
    data = make_data()
    around = fitted(SelfTraining(base, mu=0.1), data)
    before = around.predict(data.X_unseen)
    none = clone(around).set_params(rates=[])
    none = fitted(none, data).adapt(data.X_unseen)
    assert_array_equal(
        none.labels_, fitted(clone(base), data).adapt(data.X_unseen).labels_
    )
    around.adapt(data.X_unseen)
    assert (around.labels_ != before).any()
    assert_array_equal(around.predict(data.X_unseen), around.labels_)
    assert_array_equal(around.competing_classes_, data.unseen)


def test_a_base_that_cannot_take_part_is_named():
    from sklearn.linear_model import LogisticRegression

    data = make_data()
    with pytest.raises(TypeError, match="inherits from ZeroShotClassifier"):
        SelfTraining(LogisticRegression()).fit(data.X_seen, data.y_seen)


def test_a_second_fit_sums_rows_as_the_estimator_scales_them_now():
    data = make_data()
    fit = data.X_seen * 3, data.y_seen
    model = SelfTraining(ESZSL()).fit(*fit, class_embeddings=data.class_embeddings)
    model.set_params(estimator__unit_rows=False)
    model.fit(*fit, class_embeddings=data.class_embeddings)
    fresh = SelfTraining(ESZSL(unit_rows=False))
    fresh.fit(*fit, class_embeddings=data.class_embeddings)
    close(
        model.decision_function(data.X_unseen), fresh.decision_function(data.X_unseen)
    )
