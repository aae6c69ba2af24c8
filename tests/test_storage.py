"""Models on disk: the same to the bit, in one file that runs nothing."""

import inspect
import json
import random
import struct

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import unseen
from unseen import storage
from unseen.metrics import per_class_accuracy
from unseen.storage import save


@pytest.fixture(scope="module")
def data():
    return unseen.load_data("digits")


def estimators():
    """Make one of every public estimator, and some around others."""
    made = {}
    for name in unseen.__all__:
        kind = getattr(unseen, name)
        if not (inspect.isclass(kind) and issubclass(kind, BaseEstimator)):
            continue
        needed = [
            p.name
            for p in inspect.signature(kind).parameters.values()
            if p.default is p.empty and p.kind is not p.VAR_KEYWORD
        ]
        known = {
            "base": unseen.JEDM(max_iter=3),
            "estimator": unseen.ESZSL(),
            "param_grid": {"gamma": [0.1, 1.0]},
        }
        made[name] = kind(**{name: known[name] for name in needed})
    made["ClasswiseSearchCV"].set_params(n_folds=3)
    made["SelfTraining of ESZSL"] = unseen.SelfTraining(unseen.ESZSL())
    made["JEDM as printed"] = unseen.JEDM("paper", max_iter=400)
    return made


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


def assert_same_state(first, second, where="model"):
    assert type(first) is type(second), where
    if isinstance(first, BaseEstimator):
        assert_same_state(vars(first), vars(second), where)
    elif isinstance(first, np.ndarray):
        assert first.dtype == second.dtype, where
        if first.flags.forc:  # products depend on the order of memory
            assert first.flags.f_contiguous == second.flags.f_contiguous, where
        assert_array_equal(first, second)
    elif isinstance(first, dict):
        assert list(first) == list(second), where
        for key in first:
            assert_same_state(first[key], second[key], f"{where}.{key}")
    elif isinstance(first, list | tuple):
        assert len(first) == len(second), where
        for place, pair in enumerate(zip(first, second, strict=True)):
            assert_same_state(*pair, f"{where}[{place}]")
    elif hasattr(first, "__dataclass_fields__"):
        fields = [f for f, spec in first.__dataclass_fields__.items() if spec.init]
        for field in fields:
            assert_same_state(getattr(first, field), getattr(second, field), field)
    elif isinstance(first, float):  # a method without an objective tells NaN
        assert_array_equal(first, second, where)
    else:
        assert first == second or first is second, where


@pytest.mark.filterwarnings("ignore:Class embeddings explain")
@pytest.mark.parametrize("name", estimators())
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_estimator_answers_the_same_after_loading(name, dtype, data, tmp_path):
    model = fitted(estimators()[name], data, dtype)
    X = data.X_unseen.astype(dtype)
    again = unseen.load(save(model, tmp_path / "fitted"))
    assert_same_answers(model, again, X)
    assert_same_state(model, again)
    if hasattr(model, "adapt"):
        model.adapt(X)
        again = unseen.load(save(model, tmp_path / "adapted"))
        assert_same_answers(model, again, X)
        assert_same_state(model, again)
        again.adapt(X)  # mapped arrays can be learned on
        assert_same_answers(model, again, X)
    assert sorted(p.name for p in tmp_path.iterdir())[-1] == "fitted"


@pytest.mark.parametrize("name", estimators())
def test_an_unfitted_estimator_keeps_its_parameters(name, tmp_path):
    model = estimators()[name]
    again = unseen.load(save(model, tmp_path / "plan"))
    assert repr(again) == repr(model)


def test_labels_rounds_and_reliability_of_the_pile_are_kept(data, tmp_path):
    model = fitted(unseen.TSTD(), data).adapt(data.X_unseen)
    again = unseen.load(model.save(tmp_path / "tstd.unseen"))
    assert_array_equal(again.labels_, model.labels_)
    assert_array_equal(again.reliability_, model.reliability_)
    assert [str(r) for r in again.rounds_] == [str(r) for r in model.rounds_]


def test_new_classes_and_groups_work_after_loading(data, tmp_path):
    model = fitted(unseen.TSTD(), data).adapt(data.X_unseen)
    again = unseen.load(model.save(tmp_path / "tstd.unseen"))
    table = data.class_embeddings.iloc[:3].rename(index=lambda name: f"new {name}")
    for classes in ("all", "seen", ["1", "2"], table):
        ours, theirs = (
            m.predict(data.X_unseen, classes=classes) for m in (model, again)
        )
        assert_array_equal(ours, theirs)


def test_names_of_features_and_numbered_classes_are_kept(data, tmp_path):
    frame = pd.DataFrame(data.X_seen, columns=[f"pixel {i}" for i in range(64)])
    table = data.class_embeddings.to_numpy()
    model = unseen.ESZSL().fit(frame, data.y_seen.astype(int), class_embeddings=table)
    again = unseen.load(save(model, tmp_path / "eszsl"))
    assert again.feature_names_in_.tolist() == frame.columns.tolist()
    pile = pd.DataFrame(data.X_unseen, columns=frame.columns)
    assert again.predict(pile).dtype == model.predict(pile).dtype
    assert_array_equal(again.predict(pile), model.predict(pile))


def test_a_pipeline_is_kept_with_its_preprocessing(data, tmp_path):
    steps = [StandardScaler(), PCA(20, random_state=0), Normalizer(), unseen.ESZSL()]
    model = make_pipeline(*steps)
    embeddings = data.class_embeddings
    model.fit(data.X_seen, data.y_seen, eszsl__class_embeddings=embeddings)
    again = unseen.load(save(model, tmp_path / "pipeline"))
    assert_same_answers(model, again, data.X_unseen)


def test_odd_parameters_are_kept(tmp_path):
    random_state = np.random.RandomState(7)
    model = unseen.JEDM(alpha=float("inf"), random_state=random_state)
    model.components_init = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    model.note = {1: (2, {3}), "nan": float("nan"), "none": None, "np": np.float32(0.1)}
    again = unseen.load(save(model, tmp_path / "odd"))
    assert again.alpha == float("inf") and np.isnan(again.note["nan"])
    assert again.note[1] == (2, {3}) and type(again.note["np"]) is np.float32
    assert again.random_state.rand() == random_state.rand()
    assert again.components_init.flags.f_contiguous
    search = unseen.ClasswiseSearchCV(
        unseen.ESZSL(), {"gamma": [1.0]}, scoring=per_class_accuracy
    )
    assert unseen.load(save(search, tmp_path / "s")).scoring is per_class_accuracy


def test_arrays_are_mapped_not_read(data, tmp_path):
    model = fitted(unseen.JEDM(), data)
    path = save(model, tmp_path / "jedm")
    again = unseen.load(path)
    base = again.axes_
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    assert type(base).__name__ == "mmap"
    before = path.read_bytes()
    again.axes_[0, 0] = 99  # a page of its own
    assert path.read_bytes() == before
    save(again, path)  # over the file that is mapped
    assert unseen.load(path).axes_[0, 0] == 99


def test_what_cannot_be_stored_is_named(data, tmp_path):
    model = fitted(unseen.JEDM(), data)
    model.hook = print
    with pytest.raises(TypeError, match=r"JEDM.hook is a builtin_function_or_method"):
        model.save(tmp_path / "no")

    class Outsider(BaseEstimator):
        pass

    with pytest.raises(TypeError, match="is a Outsider from outside of unseen"):
        save(unseen.SelfTraining(Outsider()), tmp_path / "no")
    with pytest.raises(TypeError, match="is a LogisticRegression from outside"):
        save(make_pipeline(LogisticRegression()), tmp_path / "no")

    class JEDM(unseen.JEDM):  # the name alone does not do
        pass

    with pytest.raises(TypeError, match="is a JEDM from outside of unseen"):
        save(JEDM(), tmp_path / "no")
    with pytest.raises(TypeError, match="array of complex128"):
        save(unseen.JEDM(components_init=np.ones((2, 2)) * 1j), tmp_path / "no")
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
    path = save(fitted(unseen.JEDM(), data), tmp_path / "jedm")
    header, body = parts_of(path)
    header["__metadata__"]["unseen_format"] = "2"
    rewrite(path, header, body)
    with pytest.raises(ValueError, match=r"has format 2, .*reads up to 1. Upgrade"):
        unseen.load(path)
    del header["__metadata__"]
    rewrite(path, header, body)
    with pytest.raises(ValueError, match="a safetensors file, but no model of unseen"):
        unseen.load(path)
    path.write_bytes(b"PK\3\4 something else")
    with pytest.raises(ValueError, match="is damaged or no model"):
        unseen.load(path)
    with pytest.raises(FileNotFoundError):
        unseen.load(tmp_path / "nowhere")


def test_a_file_names_no_class_or_function_of_its_choice(data, tmp_path):
    path = save(unseen.JEDM(), tmp_path / "jedm")
    header, body = parts_of(path)
    for model in (
        {"$": "estimator", "name": "os.system", "state": {}},
        {"$": "estimator", "name": "Sums", "state": {}},
        {"$": "dataclass", "name": "JEDM", "state": {}},
        {"$": "dataclass", "name": "Popen", "state": {"args": "true"}},
        {"$": "function", "name": "eval"},
        {"$": "call", "name": "eval"},
    ):
        text = json.dumps(model)
        header["__metadata__"] |= {"model": text, "digest": storage._digest(text, {})}
        rewrite(path, header, body)
        with pytest.raises(ValueError, match="cannot build"):
            unseen.load(path)


@pytest.mark.parametrize(
    "times", [150, pytest.param(1000, marks=pytest.mark.slow, id="slow")]
)
def test_a_damaged_file_is_one_clear_error(times, data, tmp_path):
    model = fitted(unseen.JEDM(n_components=5, n_axes=5), data).adapt(data.X_unseen)
    path = save(model, tmp_path / "jedm")
    content, rng = path.read_bytes(), random.Random(times)
    expected = model.predict(data.X_unseen)
    refused = 0
    for _ in range(times):
        damaged = bytearray(content)
        place = rng.randrange(len(damaged))
        if rng.random() < 0.3:
            del damaged[place:]
        elif rng.random() < 0.5:
            damaged[place : place + rng.randint(0, 8)] = rng.randbytes(
                rng.randint(1, 8)
            )
        else:
            damaged[place] ^= rng.randint(1, 255)
        path.write_bytes(damaged)
        try:
            again = unseen.load(path)
        except ValueError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error)
            refused += 1
        else:
            assert_array_equal(again.predict(data.X_unseen), expected)
    assert refused > 0.9 * times


def test_a_failed_save_leaves_the_old_file(data, tmp_path, monkeypatch):
    path = save(unseen.JEDM(), tmp_path / "jedm")
    before = path.read_bytes()
    monkeypatch.setattr("safetensors.numpy.save", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(unseen.TSTD(), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_class_names_are_unique_across_the_rooms():
    classes = storage._classes()
    assert {"JEDM", "TSTD", "ClassTable", "Competition", "LinearScorer"} <= set(classes)
    assert all(kind.__name__ == name for name, kind in classes.items())
    names = [kind.__name__ for kind in storage._own_classes()]
    assert len(names) == len(set(names))


ONNX = [
    "AnchoredSelfTraining",
    "JEDM",
    "TSTD",
    "ESZSL",
    "CCA",
    "SelfTraining",
    "ClasswiseSearchCV",
]


@pytest.mark.filterwarnings("ignore:Class embeddings explain")
@pytest.mark.parametrize("name", ONNX)
@pytest.mark.parametrize("adapted", [False, True])
def test_onnx_gives_the_scores_and_labels_of_the_model(name, adapted, data, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    from unseen.onnx_export import export_onnx

    model = fitted(estimators()[name], data)
    if adapted:
        model.adapt(data.X_unseen)
    session = onnxruntime.InferenceSession(export_onnx(model, tmp_path / "model.onnx"))
    X = np.vstack([data.X_unseen, np.zeros((1, 64))]).astype(np.float32)
    scores, labels = session.run(None, {"features": X})
    assert np.abs(scores - model.decision_function(X)).max() < 1e-5
    sure = np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0] > 1e-4
    assert sure.mean() > 0.9
    assert_array_equal(labels[sure], model.predict(X)[sure])


def test_onnx_of_two_numbered_classes(data, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = unseen.JEDM().fit(data.X_seen, data.y_seen.astype(int))
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
    with pytest.raises(TypeError, match="StandardScaler has no linear scorer"):
        export_onnx(scaler, tmp_path / "no.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("as_frame", [True, False])
def test_a_model_that_starts_from_prototypes_is_kept(as_frame, tmp_path):
    rng = np.random.default_rng(0)
    texts = pd.DataFrame(rng.normal(size=(3, 20)), index=["a", "b", "c"])
    X = np.repeat(texts.to_numpy(), 40, axis=0) + 0.5 * rng.normal(size=(120, 20))
    given = texts if as_frame else texts.to_numpy()
    model = unseen.AnchoredSelfTraining.from_prototypes(given)
    unfitted = unseen.load(model.save(tmp_path / "unfitted"))
    model.adapt(X)
    adapted = unseen.load(model.save(tmp_path / "adapted"))
    assert_array_equal(unfitted.adapt(X).labels_, model.labels_)
    assert_array_equal(adapted.decision_function(X), model.decision_function(X))


def test_frames_with_two_levels_of_columns_are_kept(tmp_path):
    table = pd.DataFrame(np.eye(3), index=list("abc"), columns=["x", "y", "z"])
    fused = pd.concat({"one": table, "two": 2 * table}, axis=1)
    model = unseen.AnchoredSelfTraining(prototypes=fused)
    again = unseen.load(model.save(tmp_path / "model")).prototypes
    pd.testing.assert_frame_equal(again, fused, check_column_type=False)


def test_wrappers_save_themselves(data, tmp_path):
    model = fitted(unseen.SelfTraining(unseen.ESZSL()), data).adapt(data.X_unseen)
    again = unseen.load(model.save(tmp_path / "model"))
    assert_array_equal(again.labels_, model.labels_)
    assert_array_equal(again.predict(data.X_unseen), model.predict(data.X_unseen))
