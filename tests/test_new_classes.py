"""New classes beside known ones in one call, and rows that keep their given names."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close, make_data
from tests.golden import WRAPPED
from unseen import (
    ESZSL,
    JEDM,
    NONE_OF_THESE,
    TSTD,
    AnchoredSelfTraining,
    Calibrated,
    EqualDescriptionsWarning,
    GuidedMixture,
    TransCLIP,
    per_class_accuracy,
)

KNOWN, NEW = ["class 03", "class 09", "class 10"], "class 11"


def without_new(data):
    """The class table as it was before its last class was thought of."""
    return data.class_embeddings.drop(index=NEW)


def fitted(model, data):
    table = without_new(data)
    return model.fit(data.X_seen, data.y_seen, class_embeddings=table)


@pytest.mark.parametrize(
    "model", [ESZSL(), JEDM(), TSTD(), AnchoredSelfTraining(), TransCLIP(ESZSL())]
)
def test_known_classes_are_named_beside_new_ones_in_one_table(model):
    data = make_data()
    model = fitted(model, data)
    new = data.class_embeddings.loc[[NEW]]
    blank, repeated = (
        new.reindex([*KNOWN, NEW]),
        data.class_embeddings.loc[[*KNOWN, NEW]],
    )
    scores = model.decision_function(data.X, classes=blank)
    # Every class has the column that it would have in any company.
    close(scores[:, :3], model.decision_function(data.X, classes=KNOWN))
    alone = model.decision_function(data.X, classes=new)
    close(scores[:, 3:], alone.reshape(len(alone), -1))
    for classes in (repeated, repeated.astype(np.float32), {"all": blank}):
        close(model.decision_function(data.X, classes=classes), scores, digits=6)
    labels = model.predict(data.X, classes=blank)
    assert_array_equal(labels, np.array([*KNOWN, NEW])[scores.argmax(axis=1)])
    own = np.isin(data.y, [*KNOWN, NEW])
    assert per_class_accuracy(data.y[own], labels[own]) > 0.7
    assert set(labels) == {*KNOWN, NEW}


def test_adapting_to_known_and_new_classes_is_adapting_to_a_table_that_had_all():
    data = make_data()
    who = ["class 09", "class 10", NEW]
    later = fitted(AnchoredSelfTraining(), data)
    later.adapt(data.X_unseen, classes=data.class_embeddings.loc[[NEW]].reindex(who))
    before = AnchoredSelfTraining().fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    )
    assert_array_equal(later.labels_, before.adapt(data.X_unseen).labels_)
    assert_array_equal(later.competing_classes_, who)
    # Known classes keep what they learned from the rows.
    new = pd.DataFrame([np.ones(7)], index=["a newcomer"])
    both = later.decision_function(data.X, classes=new.reindex([*who[:2], *new.index]))
    close(both[:, :2], later.decision_function(data.X)[:, :2])


GIVEN = [
    *("TSTD(paper)", "SelfTraining(ESZSL)", "SelfTraining(JEDM)", "Calibrated(AST)"),
    *("ClasswiseSearchCV(TSTD)",),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [AnchoredSelfTraining(), TSTD(), TransCLIP(ESZSL()), *(WRAPPED[n] for n in GIVEN)],
    ids=str,
)
def test_a_given_label_stays_though_another_class_has_the_same_description(
    model,
):
    data = make_data()
    table = data.class_embeddings
    table.loc["class 10, by another name"] = table.loc["class 10"]
    given = {0: "class 10, by another name", 5: data.y_unseen[5], 8: "class 10"}
    model = model.fit(data.X_seen, data.y_seen, class_embeddings=table)
    model.adapt(data.X_unseen, given=given)
    winner = getattr(model, "best_estimator_", model)
    assert winner.labels_[list(given)].tolist() == list(given.values())
    assert_array_equal(winner.reliability_[list(given)], 1.0)
    assert (winner.labels_ == given[0]).sum() == 1


def test_probabilities_add_up_to_one_whoever_is_described_alike():
    data = make_data()
    table = data.class_embeddings
    table.loc["class 10, by another name"] = table.loc["class 10"]
    anchored, by_names = AnchoredSelfTraining(), GuidedMixture()
    means = pd.DataFrame(data.X).groupby(data.y).mean()
    means.loc["class 10, by another name"] = means.loc["class 10"]
    with pytest.warns(EqualDescriptionsWarning):
        anchored.fit(data.X_seen, data.y_seen, class_embeddings=table)
    with pytest.warns(EqualDescriptionsWarning):
        by_names.fit_prototypes(means)
    for model in (anchored, by_names):
        for _ in range(2):
            P = model.predict_proba(data.X_unseen)
            close(P.sum(axis=1), 1.0)
            best = model.competing_classes_[P.argmax(axis=1)]
            assert_array_equal(best, model.predict(data.X_unseen))
            model.adapt(data.X_unseen)


@pytest.mark.filterwarnings("ignore")
def test_calibrated_takes_rows_of_no_class_and_of_classes_in_the_table():
    data = make_data()
    model = Calibrated(AnchoredSelfTraining(), cv=3)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    model.adapt(data.X_unseen, given={0: NONE_OF_THESE})
    assert model.labels_[0] == NONE_OF_THESE and model.reliability_[0] == 1
    assert set(model.labels_[1:]) <= set(data.unseen)
    assert len(model.novelty_) == len(data.X_unseen)
    model.adapt(data.X_unseen, given={0: "class 01"})
    assert model.labels_[0] == "class 01"
    with pytest.raises(ValueError, match="given names the class 'okapi'"):
        model.adapt(data.X_unseen, given={0: "okapi"})
