"""What all methods that relabel a pile have in common, whatever their rule."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import unseen
from tests.checks import close, fitted, make_data, start_from, unit
from unseen.core.around import Relabelling

# Two of the made-up classes have the same attributes in 0/1, which DAP and IAP see.
pytestmark = pytest.mark.filterwarnings("ignore:.*equal descriptions")

METHODS = [
    getattr(unseen, name)
    for name in unseen.__all__
    if isinstance(getattr(unseen, name), type)
    and issubclass(getattr(unseen, name), Relabelling)
]
OTHERS = [
    unseen.AnchoredSelfTraining(),
    unseen.GuidedMixture(),
    unseen.EMDirichlet(labels="hard", n_rounds=4, n_steps=60),
    unseen.OTTER(class_prior="uniform"),
    unseen.SelfTraining(unseen.ESZSL()),
    unseen.SMS(),
    unseen.TSTD(n_components=8),
    unseen.TSTD("paper", n_components=8),
    unseen.KodirovUDA(),
    unseen.BiDiLEL(8, n_neighbors=5),
    unseen.BiDiLEL(8, transduction="structured"),
]
LINEAR = [
    unseen.CSLS,
    unseen.InvertedSoftmax,
    unseen.NormalisedScores,
    unseen.PrototypeAveraging,
]


BASES = [
    unseen.AnchoredSelfTraining(),
    unseen.ESZSL(),
    unseen.CCA(),
    unseen.JEDM(n_components=8),
    unseen.RidgeToVisual(),
    unseen.DAP(),
    unseen.SynC(loss="squared"),
    unseen.IAP(),
    unseen.ConSE(),
    unseen.LatEm(1),
    unseen.SelfTraining(unseen.ESZSL()),
]


def named(thing):
    return thing.__name__ if isinstance(thing, type) else type(thing).__name__


def quick(method):
    """Return options that spare time and change no rule."""
    return {"n_rounds": 4, "n_steps": 60} if method is unseen.EMDirichlet else {}


def made(method, base=None):
    return method(base, **quick(method))


EVERY = [*map(made, METHODS), *OTHERS]


# ---- where it starts -----------------------------------------------------------


@pytest.mark.parametrize("base", BASES, ids=named)
def test_the_start_says_of_the_pile_what_the_base_says(base):
    data = make_data()
    base = fitted(clone(base), data)
    start = start_from(base, data.X_unseen)
    moves = not isinstance(base, unseen.AnchoredSelfTraining | unseen.SelfTraining)
    if moves and hasattr(base, "adapt"):  # to the mean of the pile
        expected = base.adapt(data.X_unseen).labels_
    else:
        expected = base.predict(data.X_unseen)
    names = start.candidates.names
    assert_array_equal(start.candidates.columns, data.unseen)
    assert_array_equal(names[start.scores.argmax(axis=1)], expected)
    assert_array_equal(start.logits.argmax(axis=1), start.scores.argmax(axis=1))
    close(start.probabilities.sum(axis=1), 1)
    contrast, scorer = start.contrast()
    close(contrast.mean(axis=1), 0, digits=9)
    if start.scorer is None:
        assert scorer is None
        return
    of_rows = start.rows @ start.scorer.coef.T + start.scorer.intercept
    close(of_rows, start.scores, digits=9)
    close(start.rows @ scorer.coef.T + scorer.intercept, contrast, digits=9)
    back, X = start.scorer.on_features(start.axes, start.mean), data.X_unseen
    X = unit(X) if start.unit_rows else X
    close(X @ back.coef.T + back.intercept, start.scores, digits=9)


# ---- who competes, new rows ----------------------------------------------------


@pytest.mark.parametrize("method", LINEAR, ids=named)
def test_a_linear_rule_gives_the_pile_its_labels_again(method):
    data = make_data()
    model = fitted(made(method), data).adapt(data.X_unseen)
    assert_array_equal(model.predict(data.X_unseen), model.labels_)
    model = method(unseen.AnchoredSelfTraining(unit_rows=False, whitening=None))
    model = fitted(model, data).adapt(data.X_unseen)
    assert_array_equal(model.predict(data.X_unseen), model.labels_)


def test_who_competes():
    data = make_data()
    model = fitted(unseen.CSLS(unseen.ESZSL()), data)
    every = fitted(unseen.ESZSL(), data)
    assert_array_equal(model.predict(data.X), every.predict(data.X))
    model.adapt(data.X_unseen, classes=data.unseen[:2])
    assert_array_equal(model.competing_classes_, data.unseen[:2])
    assert set(model.labels_) <= set(data.unseen[:2])
    # Classes it was not adapted to answer as before; a mixture has no common scale.
    seen = model.predict(data.X, classes="seen")
    assert_array_equal(seen, every.predict(data.X, classes="seen"))
    with pytest.raises(ValueError, match=r"'class 11' is not one of them.*either kind"):
        model.predict(data.X, classes=data.unseen)
    model.adapt(data.X, classes="all")
    assert len(model.competing_classes_) == 12


# ---- wrong input ---------------------------------------------------------------


def test_wrong_input_is_named():
    data = make_data()
    with pytest.raises(NotFittedError):
        unseen.PST().adapt(data.X_unseen)
    with pytest.raises(NotFittedError):
        unseen.PST().predict(data.X_unseen)
    with pytest.raises(ValueError, match="'alpha' parameter of PST"):
        fitted(unseen.PST(alpha=1.0), data)
    with pytest.raises(ValueError, match="'estimator' parameter of ZLaP"):
        fitted(unseen.ZLaP("ESZSL"), data)
    model = fitted(unseen.PST(), data)
    with pytest.raises(ValueError, match="features"):
        model.adapt(data.X_unseen[:, :3])
    broken = data.X_unseen.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.adapt(broken)
    with pytest.raises(ValueError, match=r"minimum of 1 is required"):
        model.adapt(data.X_unseen[:0])
    with pytest.raises(ValueError, match="not a group"):
        model.adapt(data.X_unseen, classes="nobody")


# ---- search --------------------------------------------------------------------


@pytest.mark.parametrize("method", EVERY, ids=repr)
def test_what_adapt_alone_looks_at_may_be_set_after_the_fit(method):
    """So a search fits once for all values of these parameters."""
    data, late = make_data(), {}
    for name, value in method.get_params(deep=False).items():
        if name in method._adapt_parameters and type(value) in (int, float):
            late[name] = 2 * value if isinstance(value, int) else value / 2
    before = fitted(clone(method).set_params(**late), data)
    after = fitted(clone(method), data).set_params(**late)
    for model in (before, after):
        model.adapt(data.X_unseen)
    assert_array_equal(before.labels_, after.labels_)
    assert_array_equal(before.reliability_, after.reliability_)


# ---- invariances and edges -----------------------------------------------------


@pytest.mark.parametrize("method", EVERY, ids=repr)
def test_the_order_of_rows_and_classes_and_what_was_adapted_before_are_free(method):
    data = make_data(1)
    order = np.random.default_rng(1).permutation(len(data.X_unseen))
    model = fitted(clone(method), data)
    first = model.adapt(data.X_unseen).labels_
    second = model.adapt(data.X_unseen[order]).labels_
    assert_array_equal(first[order], second)
    turned = model.adapt(data.X_unseen, classes=data.unseen[::-1]).labels_
    # Landmarks start from a draw that follows the order; all else is equal.
    same = (first == turned).mean()
    assert same == 1 or (isinstance(method, unseen.BiDiLEL) and same > 0.9)


ODD = {
    "one row": lambda data: data.X_unseen[:1],
    "equal rows": lambda data: np.tile(data.X_unseen[0], (12, 1)),
    "float32": lambda data: data.X_unseen.astype(np.float32),
}


@pytest.mark.parametrize("rows", ODD)
@pytest.mark.parametrize("method", EVERY, ids=repr)
def test_odd_rows_get_an_answer(method, rows):
    data = make_data()
    X = ODD[rows](data)
    model = fitted(clone(method), data).adapt(X)
    assert model.labels_.shape == model.reliability_.shape == (len(X),)
    assert np.isin(model.labels_, data.unseen).all()
    assert (model.reliability_ > 0).all() and (model.reliability_ <= 1).all()
    assert np.isfinite(model.decision_function(data.X_unseen)).all()
    if rows == "one row":
        stated = isinstance(method, unseen.AnchoredSelfTraining | unseen.GuidedMixture)
        assert stated or model.reliability_.tolist() == [1.0]
        model.adapt(data.X_unseen, classes=data.unseen[:1])
        assert (model.labels_ == data.unseen[0]).all()


def test_rows_no_label_reached_keep_the_bases_answer_and_come_last():
    data = make_data()
    start = start_from(fitted(unseen.ESZSL(), data), data.X_unseen)
    F = np.full(start.scores.shape, 0.1)
    F[:, 1] = 0.2
    F[:4] = 0.0
    mended, n = start.keep_unreached(F)
    assert n == 4
    assert_array_equal(mended[:4].argmax(axis=1), start.scores[:4].argmax(axis=1))
    assert mended[:4].max() < mended[4:].max(axis=1).min()
    assert (F[:4] == 0).all()
    assert start.keep_unreached(mended)[1] == 0
