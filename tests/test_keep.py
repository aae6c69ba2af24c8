"""Models on disk: the same to the bit, in one file that runs nothing."""

import dataclasses
import inspect
import json
import random
import struct

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load as from_safetensors
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import unseen
from tests.checks import make_data, public_estimators
from unseen import keep
from unseen.keep import Writer, save_model, unpack


def estimators():
    """Make one of every public estimator, and some around others."""
    made = public_estimators()
    made["SelfTraining of JEDM"] = unseen.SelfTraining(unseen.JEDM(n_components=5))
    made["JEDM as printed"] = unseen.JEDM("paper", n_components=5)
    return made


@pytest.fixture(scope="module")
def data():
    return make_data()


def fitted(model, data, dtype=np.float64):
    takes_table = "class_embeddings" in inspect.signature(model.fit).parameters
    extra = {"class_embeddings": data.class_embeddings} if takes_table else {}
    return clone(model).fit(data.X_seen.astype(dtype), data.y_seen, **extra)


def answers(model, X):
    methods = ("decision_function", "predict", "transform")
    return {name: getattr(model, name)(X) for name in methods if hasattr(model, name)}


def assert_same_answers(first, second, X):
    for name, answer in answers(first, X).items():
        theirs = answers(second, X)[name]
        assert theirs.dtype == answer.dtype
        assert_array_equal(theirs, answer)


def leaves(value, where="model"):
    """Yield (place, type, value) of everything that a model is made of."""
    inside = {}
    if isinstance(value, BaseEstimator):
        inside = vars(value)
    elif dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        inside = {name: getattr(value, name) for name in fields}
    elif isinstance(value, dict | list | tuple):
        inside = value if isinstance(value, dict) else dict(enumerate(value))
    yield where, type(value), None if inside else value
    for key, one in inside.items():
        yield from leaves(one, f"{where}.{key}")


def assert_same_state(first, second):
    pairs = zip(leaves(first), leaves(second), strict=True)
    for (where, kind, one), (*other, two) in pairs:
        assert [where, kind] == other
        if kind is np.ndarray:
            assert one.dtype == two.dtype, where
            if one.flags.forc:  # products depend on the order of memory
                assert one.flags.f_contiguous == two.flags.f_contiguous, where
        if kind in (np.ndarray, float):  # a method without an objective tells NaN
            assert_array_equal(one, two, where)
        else:
            assert one == two or one is two, where


@pytest.mark.filterwarnings("ignore:.*equal descriptions", "ignore:Class embeddings")
@pytest.mark.parametrize("name", estimators())
def test_every_estimator_answers_the_same_after_loading(name, data, tmp_path):
    dtype = np.float32 if len(name) % 2 else np.float64  # either will do
    again = unseen.load_model(save_model(estimators()[name], tmp_path / "plan"))
    assert repr(again) == repr(estimators()[name])  # not fitted yet
    model = fitted(again, data, dtype)
    X = data.X_unseen.astype(dtype)
    again = unseen.load_model(save_model(model, tmp_path / "fitted"))
    assert_same_answers(model, again, X)
    assert_same_state(model, again)
    if hasattr(model, "adapt"):
        model.adapt(X)
        again = unseen.load_model(save_model(model, tmp_path / "adapted"))
        assert_same_answers(model, again, X)
        assert_same_state(model, again)
        again.adapt(X)  # what was read can be learned on
        assert_same_answers(model, again, X)
    assert {p.name for p in tmp_path.iterdir()} <= {"plan", "fitted", "adapted"}


def test_a_pipeline_is_kept_with_its_preprocessing(data, tmp_path):
    steps = [StandardScaler(), PCA(8, random_state=0), Normalizer(), unseen.ESZSL()]
    model = make_pipeline(*steps)
    embeddings = data.class_embeddings
    model.fit(data.X_seen, data.y_seen, eszsl__class_embeddings=embeddings)
    again = unseen.load_model(save_model(model, tmp_path / "pipeline"))
    assert_same_answers(model, again, data.X_unseen)


def test_values_of_every_kind_come_back_as_they_went():
    writer = Writer()
    values = {
        1: (2, [3]),
        "nan": float("nan"),
        "inf": float("-inf"),
        "none": None,
        "np": np.float32(0.1),
        "flags": np.array([[True], [False]]),
        "texts": np.array([["b", ""], ["ä", "long"]]),
        "none of them": np.empty(0, "<U3"),
        "objects": np.array(["a", 1, None], dtype=object),
        "empty": np.empty((0, 3), np.int8),
        "kind": np.dtype("<f4"),
    }
    text = json.dumps(writer.pack(values, "values"))
    again = unpack(json.loads(text), writer.arrays)
    assert_same_state(values, again)


def test_what_happens_to_a_file_after_loading_does_not_reach_the_model(data, tmp_path):
    model = fitted(unseen.JEDM(), data)
    path = save_model(model, tmp_path / "jedm")
    again, whole = unseen.load_model(path), path.read_bytes()
    with open(path, "r+b") as file:
        file.truncate(10)  # a mapped page beyond the end would kill the process
    assert_same_answers(model, again, data.X_unseen)
    path.write_bytes(whole)
    again.axes_[0, 0] = 99
    assert path.read_bytes() == whole


def test_what_cannot_be_stored_is_named(data, tmp_path):
    model = fitted(unseen.JEDM(), data)
    model.hook_ = print
    with pytest.raises(TypeError, match=r"JEDM.hook_ is a builtin_function_or_method"):
        model.save(tmp_path / "no")
    del model.hook_
    model.hook = 1
    with pytest.raises(TypeError, match=r"load would refuse: JEDM.hook is unknown"):
        model.save(tmp_path / "no")
    with pytest.raises(TypeError, match="'alpha' parameter of JEDM must be"):
        unseen.JEDM(alpha=-1.0).save(tmp_path / "no")
    with pytest.raises(TypeError, match="This is a dict, not a model"):
        save_model({}, tmp_path / "no")

    with pytest.raises(TypeError, match="is a LogisticRegression, which load could"):
        save_model(make_pipeline(LogisticRegression()), tmp_path / "no")

    class JEDM(unseen.JEDM):  # the name alone does not do
        pass

    with pytest.raises(TypeError, match="is a JEDM, which load could not build"):
        save_model(unseen.SelfTraining(JEDM()), tmp_path / "no")
    assert not list(tmp_path.iterdir())


def parts_of(path):
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def rewrite(path, header, body):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def test_a_newer_format_a_foreign_file_and_a_missing_one(data, tmp_path):
    path = save_model(fitted(unseen.JEDM(), data), tmp_path / "jedm")
    header, body = parts_of(path)
    header["__metadata__"]["unseen_format"] = "1"
    rewrite(path, header, body)
    with pytest.raises(ValueError, match=r"has format 1, .*has format 3"):
        unseen.load_model(path)
    del header["__metadata__"]
    rewrite(path, header, body)
    with pytest.raises(ValueError, match="has format None"):
        unseen.load_model(path)
    path.write_bytes(b"PK\3\4 something else")
    with pytest.raises(ValueError, match="is damaged or no model"):
        unseen.load_model(path)
    with pytest.raises(FileNotFoundError):
        unseen.load_model(tmp_path / "nowhere")


def forge(path, change):
    """Change the model in a file and sign it again, as an attacker would."""
    header, body = parts_of(path)
    model = json.loads(header["__metadata__"]["model"])
    model = change(model) or model
    text = json.dumps(model)
    arrays = from_safetensors(path.read_bytes())
    signed = {"model": text, "digest": keep.digest(text, arrays)}
    header["__metadata__"] |= signed
    rewrite(path, header, body)


def test_a_file_names_no_class_or_function_of_its_choice(tmp_path):
    for model, reason in (
        ({"$": "object", "name": "os.system", "state": {}}, "unknown kind .*os"),
        ({"$": "object", "name": "Popen", "state": {}}, "unknown kind .*Popen"),
        ({"$": "object", "name": "ZeroShotClassifier", "state": {}}, "unknown kind"),
        ({"$": "object", "name": "JEDM", "state": {}}, "is missing"),
        ({"$": "object", "name": "Sums", "state": {}}, "is missing"),
        ([[]], "it holds a list"),
        (3, "it holds a int"),
        ({"$": "dict", "items": []}, "it holds a dict"),
        ({"$": "dtype", "name": "O"}, "unknown kind"),
        ({"$": "call", "name": "eval"}, "unknown kind 'call'"),
    ):
        path = save_model(unseen.JEDM(), tmp_path / "jedm")
        forge(path, lambda _, model=model: model)
        with pytest.raises(ValueError, match=f"cannot build .*{reason}"):
            unseen.load_model(path)


def test_a_pipeline_that_would_unpickle_a_folder_is_refused(tmp_path):
    path = save_model(
        make_pipeline(Normalizer(), unseen.ESZSL()), tmp_path / "pipeline"
    )
    forge(path, lambda model: model["state"].update(memory=str(tmp_path / "side")))
    with pytest.raises(ValueError, match=r"Pipeline.memory is set"):
        unseen.load_model(path)
    pipeline = make_pipeline(Normalizer(), unseen.ESZSL(), memory=str(tmp_path))
    with pytest.raises(TypeError, match=r"Pipeline.memory is set"):
        save_model(pipeline, tmp_path / "no")


GONE, TWINS = object(), {"$": "objects", "shape": [2], "items": ["okapi", "okapi"]}


@pytest.mark.parametrize(
    "key, value, reason",
    [
        ("predict", "anything", "ESZSL.predict is unknown"),
        ("__class__", "anything", "ESZSL.__class__ is unknown"),
        ("gamma", "anything", "'gamma' parameter of ESZSL must be"),
        ("n_features_in_", 15, "cannot build"),
        ("coef_", None, "cannot build"),
        ("_table", "x", "cannot build"),
        ("names", TWINS, "two classes have one name"),
        ("coef_", GONE, "cannot build .*coef_"),
    ],
)
def test_a_forged_state_is_refused(key, value, reason, data, tmp_path):
    def change(model):
        state = model["state"]
        (state["_table"]["state"] if key == "names" else state)[key] = value
        if value is GONE:
            del state[key]

    path = save_model(fitted(unseen.ESZSL(), data), tmp_path / "eszsl")
    forge(path, change)
    with pytest.raises(ValueError, match=reason):
        unseen.load_model(path)


def test_a_damaged_file_is_one_clear_error(data, tmp_path):
    model = fitted(unseen.JEDM(n_components=5, n_axes=5), data).adapt(data.X_unseen)
    path = save_model(model, tmp_path / "jedm")
    content, rng = path.read_bytes(), random.Random(0)
    expected = model.predict(data.X_unseen)
    refused = 0
    for case in range(150):
        damaged = bytearray(content)
        place = rng.randrange(len(damaged))
        if case % 3 == 0:
            del damaged[place:]
        else:
            damaged[place] ^= rng.randint(1, 255)
        path.write_bytes(damaged)
        try:
            again = unseen.load_model(path)
        except ValueError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error)
            refused += 1
        else:
            assert_array_equal(again.predict(data.X_unseen), expected)
    assert refused > 135


def test_onnx_of_two_numbered_classes(data, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    numbers = np.unique(data.y_seen, return_inverse=True)[1]
    model = unseen.JEDM().fit(data.X_seen, numbers)
    path = model.to_onnx(tmp_path / "two.onnx", classes=[1, 7])
    X = data.X_seen.astype(np.float32)
    scores, labels = onnxruntime.InferenceSession(path).run(None, {"features": X})
    theirs = model.decision_function(X, classes=[1, 7])
    assert np.abs(scores[:, 1] - scores[:, 0] - theirs).max() < 1e-5
    assert labels.dtype == np.int64 and set(labels) == {1, 7}


def test_onnx_needs_a_fitted_linear_model(tmp_path):
    pytest.importorskip("onnx")
    from unseen.onnx_export import export_onnx

    with pytest.raises(NotFittedError):
        unseen.JEDM().to_onnx(tmp_path / "no.onnx")
    scaler = StandardScaler().fit(np.eye(2))
    with pytest.raises(TypeError, match="StandardScaler has no linear scores"):
        export_onnx(scaler, tmp_path / "no.onnx")
    assert not list(tmp_path.iterdir())


def test_a_model_that_starts_from_prototypes_is_kept(tmp_path):
    rng = np.random.default_rng(0)
    texts = pd.DataFrame(rng.normal(size=(3, 20)), index=["a", "b", "c"])
    X = np.repeat(texts.to_numpy(), 40, axis=0) + 0.5 * rng.normal(size=(120, 20))
    model = unseen.GuidedMixture.from_prototypes(texts)
    unfitted = unseen.load_model(model.save(tmp_path / "unfitted"))
    model.adapt(X)
    adapted = unseen.load_model(model.save(tmp_path / "adapted"))
    assert_array_equal(unfitted.adapt(X).labels_, model.labels_)
    assert_array_equal(adapted.decision_function(X), model.decision_function(X))
