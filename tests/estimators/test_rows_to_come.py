"""One rule answers for rows to come: labels, scores, chunks, Dask, files and ONNX."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import unseen
from tests.checks import close
from tests.test_common import ESTIMATORS
from unseen.core.around import Relabelling
from unseen.core.outcome import LinearRule

MODELS = [
    *[model for model in ESTIMATORS if hasattr(model, "predict")],
    unseen.ClasswiseSearchCV(unseen.ESZSL(), {"gamma": [0.1, 1.0]}, n_folds=3),
    unseen.CSLS(unseen.ConSE()),
]
TRANSDUCERS = [model for model in MODELS if isinstance(model, Relabelling)]


@pytest.fixture(scope="module")
def apart():
    """Twelve classes far apart, four of them unseen."""
    rng = np.random.default_rng(5)
    A = pd.DataFrame(rng.normal(size=(12, 8)), index=[f"class {i}" for i in range(12)])
    y = np.repeat(A.index.to_numpy(str), 20)
    means = A.to_numpy() @ rng.normal(size=(8, 24))
    X = np.repeat(means, 20, axis=0) + 0.3 * rng.normal(size=(240, 24))
    seen = np.isin(y, A.index[:8])
    return X[seen].astype(np.float32), y[seen], A, X[~seen].astype(np.float32)


def learned(model, apart, *, adapted=True):
    X, y, A, pile = apart
    model = clone(model).fit(X, y, class_embeddings=A)
    return model.adapt(pile) if adapted and hasattr(model, "adapt") else model


@pytest.mark.filterwarnings("ignore::unseen.WeakStartWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_onnx_says_what_predict_says(model, apart, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pile = apart[-1]
    model = learned(model, apart, adapted=False)
    for step in ("fitted", "adapted"):
        if step == "adapted" and hasattr(model, "adapt"):
            model.adapt(pile)
        if not isinstance(model._rule(model._asked(None)), LinearRule):
            with pytest.raises(TypeError, match="no linear scores"):
                model.to_onnx(tmp_path / "model.onnx")
            continue
        classes = None if step == "fitted" else ["class 9", "class 11", "class 8"]
        path = model.to_onnx(tmp_path / "model.onnx", classes=classes)
        session = onnxruntime.InferenceSession(path)
        scores, labels = session.run(None, {"features": pile})
        expected = model.decision_function(pile, classes=classes)
        close(scores, expected, digits=3)
        assert_array_equal(labels, model.predict(pile, classes=classes))


@pytest.mark.filterwarnings("ignore::unseen.WeakStartWarning")
@pytest.mark.parametrize("model", [unseen.PST(), unseen.CSLS(unseen.ConSE())], ids=str)
def test_chunks_are_predicted_and_refused_as_a_pile(model, apart, tmp_path):
    pile = apart[-1]
    chunks = [pile[:7], pile[7:8], pile[8:]]
    for adapted in (False, True):
        model = learned(model, apart, adapted=adapted)
        assert_array_equal(model.predict(chunks), model.predict(pile))
        close(model.decision_function(chunks), model.decision_function(pile), digits=4)
    with pytest.raises(TypeError, match=r"chunk by chunk \(list\), but this method"):
        model.adapt(chunks)
    np.save(tmp_path / "pile.npy", pile)
    mapped = np.load(tmp_path / "pile.npy", mmap_mode="r")
    assert_array_equal(model.adapt(mapped).labels_, model.adapt(pile).labels_)


# ---- prototypes are data ---------------------------------------------------------


@pytest.fixture
def texts():
    rng = np.random.default_rng(0)
    T = pd.DataFrame(rng.normal(size=(4, 24)), index=list("abcd"))
    X = np.repeat(T.to_numpy(), 25, axis=0) + 0.8 * rng.normal(size=(100, 24))
    return T, X


STARTERS = [unseen.GuidedMixture, *dict.fromkeys(map(type, TRANSDUCERS))]


@pytest.mark.parametrize("method", STARTERS, ids=lambda m: m.__name__)
def test_prototypes_are_fitted_state_and_no_parameter(method, texts):
    T, X = texts
    model = method().fit_prototypes(T)
    assert "prototypes" not in model.get_params()
    state = dict(vars(model))
    assert set(model.predict(X)) <= set(T.index)
    assert vars(model) == state  # asking changes nothing
    for known in (model, method.from_prototypes(T).adapt(X)):
        assert_array_equal(known.classes_, T.index)
        assert_array_equal(known.competing_classes_, T.index)
        assert_array_equal(known.class_embeddings_, T)
        assert known.n_features_in_ == 24
    labels = model.adapt(X).labels_
    assert_array_equal(known.labels_, labels)
    # Other prototypes take the place of these, also after adapting.
    swapped = T.iloc[[1, 0, 3, 2]].set_axis(T.index)
    other = method.from_prototypes(swapped).adapt(X)
    assert_array_equal(model.fit_prototypes(swapped).adapt(X).labels_, other.labels_)
    assert (other.labels_ != labels).mean() > 0.5


def test_a_base_that_knows_no_prototypes_is_refused(texts):
    for base in (unseen.ESZSL(), unseen.AnchoredSelfTraining()):
        with pytest.raises(ValueError, match="learns from seen classes and cannot"):
            unseen.CSLS.from_prototypes(texts[0], estimator=base)
    model = unseen.TransCLIP.from_prototypes(
        texts[0], estimator=unseen.GuidedMixture(plain=0.2)
    )
    assert model.estimator_.plain == 0.2
