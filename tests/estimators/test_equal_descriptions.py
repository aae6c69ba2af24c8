"""Classes that nothing tells apart: equal scores, the first takes all, one warning."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import unseen
from tests.checks import close, make_data
from tests.test_common import ESTIMATORS

MODELS = [model for model in ESTIMATORS if hasattr(model, "predict")]
FIRST, TWIN = "class 10", "the same as 10"


def with_twin(data, factor=1.0, place=10):
    """The table with an unseen class once more, under another name."""
    table = data.class_embeddings
    twin = pd.DataFrame([factor * table.loc[FIRST]], index=[TWIN])
    return pd.concat([table.iloc[:place], twin, table.iloc[place:]])


def fitted(model, data, table):
    return clone(model).fit(data.X_seen, data.y_seen, class_embeddings=table)


def warned(caught):
    return [w for w in caught if w.category is unseen.EqualDescriptionsWarning]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_class_that_stands_twice_changes_nothing(model):
    data = make_data(1)
    alone = fitted(model, data, data.class_embeddings)
    # Attributes in 0/1 depend on how long a description is; others see its direction.
    factor = 1.0 if type(model).__name__ in ("DAP", "IAP") else 3.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        both = fitted(model, data, with_twin(data, factor, place=12))
        first, second = (m.decision_function(data.X_unseen) for m in (alone, both))
        labels = [m.predict(data.X_unseen) for m in (alone, both)]
        if hasattr(both, "adapt"):
            alone.adapt(data.X_unseen), both.adapt(data.X_unseen)
    assert len(warned(caught)) == 1
    assert f"'{FIRST}', '{TWIN}'" in str(warned(caught)[0].message)
    assert_array_equal(both.competing_classes_[[1, 3]], [FIRST, TWIN])
    assert_array_equal(second[:, 1], second[:, 3])
    assert_array_equal(*labels)
    if type(model).__name__ != "BiDiLEL":  # where its landmarks start is drawn
        close(second[:, :3], first, digits=6)
    if hasattr(both, "adapt"):
        after = both.decision_function(data.X_unseen)
        assert_array_equal(after[:, 1], after[:, 3])
        assert TWIN not in both.labels_
        assert_array_equal(both.labels_, alone.labels_)
        close(both.reliability_, alone.reliability_)
        for mine, theirs in zip(both.rounds_, alone.rounds_, strict=True):
            assert_array_equal(mine.selected, [*theirs.selected, 0])


@pytest.mark.parametrize(
    "model", [unseen.AnchoredSelfTraining(), unseen.CSLS(unseen.ESZSL()), unseen.TSTD()]
)
def test_the_first_in_the_table_wins_whatever_the_order_asked_for(model):
    data = make_data(1)
    asked = [TWIN, "class 11", FIRST]
    with pytest.warns(unseen.EqualDescriptionsWarning):
        model = fitted(model, data, with_twin(data, place=12))
    with pytest.warns(unseen.EqualDescriptionsWarning):
        assert TWIN not in model.predict(data.X_unseen, classes=asked)
    with pytest.warns(unseen.EqualDescriptionsWarning):
        model.adapt(data.X_unseen, classes=asked)
    assert_array_equal(model.competing_classes_, asked)
    assert FIRST in model.labels_ and TWIN not in model.labels_
    scores = model.decision_function(data.X_unseen)
    assert_array_equal(scores[:, 0], scores[:, 2])
    # Asked for alone, the twin has what its pair has learned.
    one = model.decision_function(data.X_unseen, classes=[TWIN])
    close(one[:, 0], scores[:, 2], digits=10)


def test_a_seen_class_with_the_same_description_has_rows_of_its_own():
    data = make_data(1)
    table = data.class_embeddings.copy()
    table.loc["class 10"] = table.loc["class 03"]  # seen
    model = fitted(unseen.AnchoredSelfTraining(), data, table)
    scores = model.decision_function(data.X, classes=["class 03", "class 10"])
    assert np.abs(scores).min() > 0
    with pytest.warns(unseen.EqualDescriptionsWarning, match="'class 03', 'class 10'"):
        fitted(unseen.ESZSL(), data, table).predict(data.X, classes="all")


def test_attributes_in_0_and_1_are_what_dap_sees():
    data = make_data(1)
    table = data.class_embeddings.copy()
    model = fitted(unseen.DAP(), data, table)
    above = table.loc["class 10"] > model.thresholds_
    table.loc["class 11"] = model.thresholds_ + np.where(above, 0.1, -0.1)
    with pytest.warns(unseen.EqualDescriptionsWarning, match="'class 10', 'class 11'"):
        model = fitted(unseen.DAP(), data, table)
    scores = model.decision_function(data.X_unseen)
    assert_array_equal(scores[:, 1], scores[:, 2])


def test_known_sizes_of_equal_classes_add_up():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2, 8))
    X = np.repeat(Z, 30, axis=0) + 0.5 * rng.normal(size=(60, 8))
    alone = unseen.OTTER.from_prototypes(Z, class_prior=[0.5, 0.5]).adapt(X)
    three = np.vstack([Z, Z[0]])
    with pytest.warns(unseen.EqualDescriptionsWarning):
        both = unseen.OTTER.from_prototypes(three, class_prior=[0.2, 0.5, 0.3]).adapt(X)
    assert_array_equal(both.labels_, alone.labels_)
