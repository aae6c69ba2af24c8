"""Labels that are given for some rows: certain, learned from, and read strictly."""

import numpy as np
import pandas as pd
import pytest

import unseen
from tests.checks import close
from tests.golden import FROM_NAMES
from unseen import NONE_OF_THESE, GuidedMixture
from unseen.core.given import prototypes_of

FROM_SEEN = {
    "AnchoredSelfTraining": lambda: unseen.AnchoredSelfTraining(),
    "BiDiLEL": lambda: unseen.BiDiLEL(n_components=5, n_axes=5),
    "GuidedMixture": lambda: unseen.GuidedMixture(),
    "KodirovUDA": lambda: unseen.KodirovUDA(n_axes=10),
    "SMS": lambda: unseen.SMS(n_axes=10),
    "SelfTraining": lambda: unseen.SelfTraining(unseen.ESZSL(n_axes=10)),
    "TSTD": lambda: unseen.TSTD(n_components=8, n_axes=10),
    "TransCLIP": lambda: unseen.TransCLIP(),
}
NAMES = np.array(["a", "b", "c", "d"])


@pytest.fixture(scope="module")
def named():
    """Rows of four classes, and poor prototypes of the first three."""
    random = np.random.default_rng(1)
    centres, truth = random.normal(size=(4, 20)), np.repeat(np.arange(4), 40)
    X = centres[truth] + random.normal(size=(160, 20)) + 3
    P = centres[:3] + 0.7 * random.normal(size=(3, 20))
    return X, NAMES[truth], pd.DataFrame(P, index=NAMES[:3])


@pytest.fixture(scope="module")
def described():
    """Twelve classes by their embeddings, four of them unseen."""
    random = np.random.default_rng(0)
    A, y = random.uniform(size=(12, 6)), np.repeat(np.arange(12), 30)
    X = (A @ random.normal(size=(6, 15)))[y] + 0.7 * random.normal(size=(360, 15))
    names = np.array([f"class {i:02}" for i in range(12)])
    return X, names[y], pd.DataFrame(A, index=names), y < 8


def fitted(name, described):
    X, y, table, seen = described
    with np.errstate(all="ignore"):
        return FROM_SEEN[name]().fit(X[seen], y[seen], class_embeddings=table)


@pytest.mark.parametrize("name", FROM_NAMES)
def test_given_rows_keep_their_labels_and_a_new_name_makes_a_class(name, named):
    X, _, P = named
    # A wrong label, too: what is given is never argued with.
    given = {0: "b", 50: "b", 90: "c", 130: "d", 131: "d", 5: NONE_OF_THESE}
    model = getattr(unseen, name).from_prototypes(P).adapt(X, given=given)
    assert {row: model.labels_[row] for row in given} == given
    assert (model.reliability_[list(given)] == 1).all()
    assert model.competing_classes_.tolist() == NAMES.tolist()
    assert len(model.labels_) == len(model.reliability_) == len(X)
    assert (model.labels_[130:] == "d").mean() > 0.4  # all others of the new class
    assert np.isin(model.predict(X[140:]), NAMES).all()
    assert model.given_.rows.tolist() == sorted(given)
    assert model.given_.labels.tolist() == [given[row] for row in sorted(given)]


@pytest.mark.parametrize("name", ["EMDirichlet", "GuidedMixture", "OTTER", "ZLaP"])
def test_given_labels_are_enough_to_start_from(name, named):
    X, truth, _ = named
    given = {row: truth[row] for row in range(0, 160, 8)}
    model = getattr(unseen, name)().adapt(X, given=given)
    others = np.setdiff1d(np.arange(160), list(given))
    assert (model.labels_[others] == truth[others]).mean() > 0.6
    # Another round of answers starts anew, from them alone.
    fewer = {row: truth[row] for row in range(0, 120, 8)}
    again = model.adapt(X, given=fewer).labels_
    fresh = getattr(unseen, name)().adapt(X, given=fewer).labels_
    np.testing.assert_array_equal(again, fresh)
    assert sorted(set(again)) == ["a", "b", "c"]


def test_prototypes_of_given_rows_need_all_rows_but_not_in_memory(named, tmp_path):
    X, truth, _ = named
    given = {row: truth[row] for row in (3, 70, 5, 90)}
    np.save(tmp_path / "X.npy", X)
    on_disk = np.load(tmp_path / "X.npy", mmap_mode="r")
    for rows in (X, on_disk):
        found = prototypes_of(rows, given)
        assert found.index.tolist() == ["a", "b", "c"]
        units = [X[row] / np.sqrt(sum(X[row] ** 2)) for row in (3, 5, 70, 90)]
        wanted = [(units[0] + units[1]) / 2, units[2], units[3]]
        close(found.to_numpy(), wanted, digits=10)
    with pytest.raises(TypeError, match="met chunk by chunk"):
        prototypes_of(iter([X]), given)


@pytest.mark.parametrize("name", sorted(FROM_SEEN))
def test_given_rows_help_models_of_seen_classes(name, described):
    X, y, _, seen = described
    pile, truth = X[~seen], y[~seen]
    model = fitted(name, described)
    before = model.adapt(pile).labels_
    assert not hasattr(model, "given_")
    given = {row: truth[row] for row in range(0, 120, 4)}
    model.adapt(pile, given=given)
    others = np.setdiff1d(np.arange(120), list(given))
    assert all(model.labels_[row] == label for row, label in given.items())
    assert (model.reliability_[list(given)] == 1).all()
    after = (model.labels_[others] == truth[others]).mean()
    assert after >= (before[others] == truth[others]).mean() - 0.03
    model.adapt(pile)
    assert not hasattr(model, "given_")
    np.testing.assert_array_equal(model.labels_, before)


@pytest.mark.parametrize("name", ["AnchoredSelfTraining", "SelfTraining", "TransCLIP"])
def test_no_given_label_is_as_none_at_all_bit_for_bit(name, described):
    X, _, _, seen = described
    model = fitted(name, described)
    plain = model.adapt(X[~seen])
    labels, reliability = plain.labels_, plain.reliability_
    scores = plain.decision_function(X[:50])
    for nothing in ({}, np.full(120, np.nan), [""] * 120):
        model.adapt(X[~seen], given=nothing)
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_array_equal(model.reliability_, reliability)
        np.testing.assert_array_equal(model.decision_function(X[:50]), scores)


@pytest.mark.parametrize("name", ["AnchoredSelfTraining", "GuidedMixture", "TSTD"])
def test_a_class_of_the_table_that_does_not_compete_may_be_given(name, described):
    X, y, _, seen = described
    mixed = np.concatenate([np.flatnonzero(~seen), np.flatnonzero(y == "class 03")])
    given = {120: "class 03", 121: "class 03", 0: y[mixed[0]]}
    model = fitted(name, described).adapt(X[mixed], given=given)
    assert "class 03" in model.competing_classes_
    assert (model.labels_[120:] == "class 03").mean() > 0.5


def test_given_labels_do_not_depend_on_the_form_they_come_in(named):
    X, _, P = named
    mapping = {3: "a", 70: "b"}
    array = [mapping.get(row) for row in range(160)]
    forms = [
        mapping,
        pd.Series(mapping),
        array,
        np.array([one or "" for one in array]),
        pd.Series(array),
        {np.int64(70): "b", 3: "a", 9: None},
    ]
    model = unseen.GuidedMixture.from_prototypes(P)
    first = model.adapt(X, given=forms[0]).reliability_
    for form in forms[1:]:
        np.testing.assert_array_equal(model.adapt(X, given=form).reliability_, first)


def test_numbers_as_classes_and_none_of_them(named):
    X, truth, P = named
    codes = np.searchsorted(NAMES, truth)
    model = unseen.GuidedMixture.from_prototypes(P.to_numpy())
    model.adapt(X, given={0: 1.0, 130: 3, 131: 3, 7: NONE_OF_THESE})
    assert model.labels_.dtype.kind == "i"
    assert model.labels_[[0, 130, 7]].tolist() == [1, 3, -1]
    assert (model.labels_[130:] == codes[130:]).mean() > 0.5
    given = {row: int(codes[row]) for row in range(0, 160, 8)}  # alone, a start
    assert np.mean(unseen.GuidedMixture().adapt(X, given=given).labels_ == codes) > 0.8


@pytest.mark.parametrize("name", ["AnchoredSelfTraining", "TSTD"])
def test_given_labels_of_a_stream_are_those_of_memory(name, described):
    X, y, _, seen = described
    pile, truth = X[~seen], y[~seen]
    given = {row: truth[row] for row in range(0, 120, 10)}
    whole = fitted(name, described).adapt(pile, given=given)
    chunks = [pile[:50], pile[50:]]
    streamed = fitted(name, described).adapt(chunks, given=given)
    np.testing.assert_array_equal(whole.labels_, streamed.labels_)
    close(whole.reliability_, streamed.reliability_, digits=9)
    with pytest.raises(TypeError, match="all rows at once"):
        fitted(name, described).adapt(chunks, given={0: NONE_OF_THESE})


def test_a_model_without_rounds_says_that_it_learns_nothing(described):
    X, y, table, seen = described
    model = unseen.ESZSL(n_axes=10).fit(X[seen], y[seen], class_embeddings=table)
    with pytest.raises(ValueError, match=r"SelfTraining\(ESZSL\(\)\)"):
        model.adapt(X[~seen], given={0: "class 09"})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({160: "a"}, "row 160, but X has 160 rows"),
        ({-1: "a"}, "row -1, but X has 160 rows"),
        ({"x.jpg": "a"}, "row 'x.jpg'"),
        ({True: "a"}, "row True"),
        ({1.5: "a"}, "row 1.5"),
        (pd.Series(["a", "b"], index=[4, 4]), "two labels for row 4"),
        (["a"], r"shape \(1,\), but X has 160 rows"),
        (np.full((160, 1), None), r"shape \(160, 1\)"),
        ({0: 7}, "holds 7, but classes are texts"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(wrong, message, named):
    X, _, P = named
    with pytest.raises(ValueError, match=message):
        unseen.GuidedMixture.from_prototypes(P).adapt(X, given=wrong)


def test_given_rows_correct_names_as_far_as_they_show_them_wrong():
    """Names that say nothing are left behind, right ones keep their say."""
    random = np.random.default_rng(3)
    centres, truth = random.normal(size=(6, 40)), np.repeat(np.arange(6), 40)
    X = centres[truth] + 1.5 * random.normal(size=(240, 40))
    rows = np.arange(0, 240, 20)  # two of each class
    told = {int(row): int(truth[row]) for row in rows}
    others = np.setdiff1d(np.arange(240), rows)

    def right(P, given=None):
        labels = GuidedMixture.from_prototypes(P).adapt(X, given=given).labels_
        return np.mean(labels[others] == truth[others])

    astray = centres[[1, 2, 3, 4, 5, 0]]  # every name is another's
    assert right(astray) < 0.1
    assert right(astray, told) > 0.8
    assert right(centres, told) >= right(centres) - 0.02


def test_one_class_is_no_start(named):
    X, _, _ = named
    with pytest.raises(ValueError, match="names 1 classes"):
        unseen.GuidedMixture().adapt(X, given={0: "a", 1: "a"})
