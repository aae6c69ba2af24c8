"""``unseen run``: learn or take a model, label, score; what is written and printed."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import unseen
from tests.checks import invoke
from unseen import AnchoredSelfTraining, save_data
from unseen.data import ZeroShotData
from unseen.labels import read_labels

pytestmark = pytest.mark.filterwarnings("ignore")  # small data, weak starts


def run(*words):
    done = invoke("run", *words)
    assert done.exit_code == 0, done.output
    return done


def labels_of(path):
    return read_labels(path).set_index("id")["label"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Write six classes of rows around the map of their attributes, two unlabelled."""
    rng = np.random.default_rng(0)
    names = [f"class {i}" for i in range(8)]
    A = rng.normal(size=(8, 4))
    y = np.repeat(np.arange(8), 15)
    X = A[y] @ rng.normal(size=(4, 6)) + 0.1 * rng.normal(size=(120, 6))
    labels = [names[i] if i < 6 else None for i in y]
    rows = pd.DataFrame(X, columns=list("abcdef"))
    rows.insert(0, "ring", [f"r{i:03d}" for i in range(120)])
    home = tmp_path_factory.mktemp("run")
    rows.assign(label=labels).to_csv(home / "data.csv", index=False)
    rows[y >= 6].assign(label=np.array(names)[y[y >= 6]]).to_csv(
        home / "known.csv", index=False
    )
    rows[y >= 6].to_csv(home / "new.csv", index=False)
    table = pd.DataFrame(A, index=pd.Index(names, name="class"), columns=list("pqrs"))
    table.to_csv(home / "attributes.csv")
    words = [home / "data.csv", "--classes", home / "attributes.csv", "--id", "ring"]
    run(*words, "--save", home / "m.unseen", "--out", home / "labels.csv")
    return home, words, rows, np.array(labels, object), table, np.array(names)[y]


def test_one_command_labels_what_is_unlabelled_as_the_library_does(home, tmp_path):
    _, words, rows, labels, table, truth = home
    out = tmp_path / "new" / "run"
    answer = json.loads(run(*words, "--out", out, "--json").stdout)
    found = read_labels(out / "labels.csv")
    loose = pd.isna(labels)
    assert_array_equal(found["id"], rows["ring"][loose])
    X = rows.drop(columns="ring")
    model = AnchoredSelfTraining().fit(
        X[~loose], labels[~loose].astype(str), class_embeddings=table
    )
    assert_array_equal(found["label"], model.adapt(X[loose]).labels_)
    scores = model.decision_function(X[loose])
    second = np.where(scores > 0, "class 6", "class 7")  # of two, the other one
    assert_array_equal(found["second"], second)
    assert (found["label"] == truth[loose]).mean() > 0.9
    assert answer["rows"] == 30 and answer["rounds"]
    assert "<html" in (out / "report.html").read_text()


def test_the_bundled_photos_are_scored(tmp_path):
    words = ["photos-200", "--method", "eszsl", "--out", tmp_path / "l.csv"]
    done = run(*words)
    data = unseen.load_data("photos-200")
    model = unseen.ESZSL().fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    )
    expected = model.adapt(data.X_unseen).labels_
    assert_array_equal(labels_of(tmp_path / "l.csv"), expected)
    mean = 100 * unseen.per_class_accuracy(data.y_unseen, expected)
    assert (
        f"per-class accuracy {mean:.1f} %, by the true labels of 1,000" in done.stdout
    )
    assert "ZeroShotData 'photos-200'" in done.stderr


def test_what_is_known_is_scored(home, tmp_path):
    folder, *_ = home
    frame = pd.read_csv(folder / "known.csv")
    frame.loc[:9, "label"] = ""
    frame.to_csv(tmp_path / "some.csv", index=False)
    words = [tmp_path / "some.csv", "--model", folder / "m.unseen", "--id", "ring"]
    done = run(*words, "--out", tmp_path / "l.csv")
    assert "by the true labels of 20 rows" in done.stdout
    words[0] = folder / "new.csv"
    assert "true labels" not in run(*words, "--out", tmp_path / "m.csv").stdout


def test_a_model_knows_columns_by_their_names(home, tmp_path):
    folder, *_ = home
    new = pd.read_csv(folder / "new.csv")
    new[new.columns[::-1]].to_csv(tmp_path / "turned.csv", index=False)
    words = ["--model", folder / "m.unseen", "--id", "ring", "--out"]
    run(tmp_path / "turned.csv", *words, tmp_path / "l.csv")
    expected = labels_of(folder / "labels.csv")
    assert_array_equal(labels_of(tmp_path / "l.csv"), expected)
    for wrong, said in {
        "c": new.rename(columns={"c": "weight"}),
        "weight": new.assign(weight=1.5),
    }.items():
        said.to_csv(tmp_path / "wrong.csv", index=False)
        ended = invoke("run", tmp_path / "wrong.csv", *words, tmp_path / "w.csv")
        assert ended.exit_code == 2 and f"'{wrong}'" in ended.stderr, ended.output


def test_a_saved_model_labels_an_array_and_leaves_seen_classes_alone(home, tmp_path):
    folder, words, rows, labels, *_ = home
    loose = pd.isna(labels)
    np.save(tmp_path / "rows.npy", rows.drop(columns="ring")[loose].to_numpy())
    model = ["--model", folder / "m.unseen"]
    run(tmp_path / "rows.npy", *model, "--out", tmp_path / "l.csv")
    expected = labels_of(folder / "labels.csv")
    assert_array_equal(labels_of(tmp_path / "l.csv").to_numpy(), expected.to_numpy())
    run(words[0], "--id", "ring", *model, "--out", tmp_path / "all.csv")
    assert_array_equal(labels_of(tmp_path / "all.csv").index, expected.index)


def test_given_labels_are_kept(home, tmp_path):
    _, words, rows, labels, *_ = home
    ids = rows["ring"][pd.isna(labels)].tolist()
    given = tmp_path / "given.csv"
    given.write_text(f"id,label\n{ids[0]},class 7\n{ids[1]},\n")
    out = tmp_path / "l.csv"
    run(*words, "--given", given, "--out", out)
    found = read_labels(out)
    assert found["label"][0] == "class 7" and found["reliability"][0] == 1
    given.write_text("id,label\nr000,class 7\n")
    ended = invoke("run", *words, "--given", given, "--out", out, "--force")
    assert ended.exit_code == 2 and "A label is given for 'r000'" in ended.stderr


def test_a_method_that_does_not_adapt_estimates_no_reliability(tmp_path):
    out, words = tmp_path / "l.csv", ["photos-200", "--method", "conse", "--out"]
    said = run(*words, out).stdout
    assert "ConSE does not adapt, and so estimates no reliability." in said
    found = read_labels(out)
    assert found["reliability"].isna().all()
    ended = invoke("run", *words, out, "--force", "--min-reliability", "0.5")
    assert ended.exit_code == 2 and "Omit --min-reliability" in ended.stderr
    run(*words, tmp_path / "folder")  # and a page
    assert set(found["second"]) <= set(unseen.load_data("photos-200").unseen)
    assert (found["second"] != found["label"]).all()


def test_a_search_is_what_the_library_does(tmp_path):
    words = ["photos-200", "--method", "eszsl", "--set", "search", "--json"]
    told = json.loads(run(*words, "--out", tmp_path / "l.csv").stdout)
    data = unseen.load_data("photos-200")
    grid = {name: list(unseen.trust.search.PAPER_GRID) for name in ("gamma", "lam")}
    search = unseen.ClasswiseSearchCV(
        unseen.ESZSL(), grid, n_folds=5, transductive=False
    ).fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    assert told["estimator"] == repr(search.best_estimator_)


def test_parameters_and_seed_are_set(home, tmp_path):
    words = [*home[1], "--method", "tstd", "--set", "alpha=0.5"]
    words += ["--set", "random_state=3"]
    told = json.loads(run(*words, "--json", "--out", tmp_path / "l.csv").stdout)
    assert "alpha=0.5" in told["estimator"] and "random_state=3" in told["estimator"]
    done = run(*home[1], "--set", "search", "--out", tmp_path / "m.csv")
    assert "nothing to search" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "There is no file"),
        (["photos-200", "--method", "magic"], "The methods are"),
        (["photos-200", "--set", "kappa"], "NAME=VALUE"),
        (["photos-200", "--model", "nowhere.unseen"], "nowhere.unseen"),
        (["photos-200", "--model", "M", "--unseen", "dog, cat"], "Omit --classes"),
        (["wide.npy", "--model", "M"], "shape (2, 2, 2)"),
        (["photos-200", "--unseen", "moa"], "names no class"),
        (["holes.csv", "--classes", "T"], "unseen data check holes.csv --classes"),
        (["full.csv", "--classes", "T"], "nothing to label"),
        (["photos-200", "--out", "/dev/full"], "is a device"),
    ],
)
def test_a_fault_is_a_line_and_exit_code_2(home, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    folder, *_ = home
    np.save("wide.npy", np.zeros((2, 2, 2)))
    holes = pd.read_csv(folder / "data.csv").drop(columns="ring")
    holes.assign(a=np.nan).to_csv("holes.csv", index=False)
    holes.dropna().to_csv("full.csv", index=False)
    files = {"M": folder / "m.unseen", "T": folder / "attributes.csv"}
    ended = invoke("run", *(files.get(word, word) for word in words))
    assert ended.exit_code == 2 and ended.stdout == "" and said in ended.stderr
    assert "Traceback" not in ended.stderr and len(list(tmp_path.iterdir())) == 3


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    rng = np.random.default_rng(0)
    names = np.array([f"class {i:02d}" for i in range(16)])
    A = rng.uniform(size=(16, 6))
    y = np.repeat(np.arange(16), 20)
    X = (A @ rng.normal(size=(6, 10)))[y] + 0.4 * rng.normal(size=(320, 10)) + 1
    aside = (y < 12) & (np.arange(320) % 5 == 0)
    table = pd.DataFrame(A, index=names, columns=[f"trait {i}" for i in range(6)])
    data = ZeroShotData("made", X, names[y], table, names[12:], aside)
    path = tmp_path_factory.mktemp("mixed") / "made.npz"
    save_data(data, path)
    words = [path, "--generalized", "--save", path.with_name("m.unseen"), "--json"]
    told = json.loads(run(*words, "--out", path.with_name("l.csv")).stdout)
    return path, told


def test_all_classes_compete_and_both_sides_are_scored(mixed):
    path, told = mixed
    labels = pd.read_csv(path.with_name("l.csv"))
    assert len(labels) == 80 + 48  # unseen rows, and those set aside
    assert labels["reliability"].between(0, 1).all()
    found = told["score"]
    assert found["S"] > 0.5 and found["U"] > 0.3
    assert abs(found["H"] - 2 / (1 / found["S"] + 1 / found["U"])) < 1e-4


def test_rows_below_a_reliability_are_left_unknown(mixed, tmp_path):
    path, _ = mixed
    words = [path, "--model", path.with_name("m.unseen"), "--generalized"]
    before = read_labels(path.with_name("l.csv"))
    half = before["reliability"].median()
    least = ["--min-reliability", f"{half:.4f}"]
    said = run(*words, *least, "--out", tmp_path / "l.csv").stdout
    after = read_labels(tmp_path / "l.csv")
    low = after["label"] == "unknown"
    assert abs(low.mean() - 0.5) < 0.02
    assert (after["label"][~low] == before["label"][~low]).all()
    n_names = before["label"][~low].nunique()
    assert f"{(~low).sum()} rows got {n_names} names, {low.sum()} stay unknown" in said
    assert f"by the true labels of {(~low).sum()} rows" in said
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        words += ["--min-reliability", "1", "--out", tmp_path / "none.csv"]
        said = " ".join(run(*words).stderr.split())
    assert re.search(
        r"warning: No label .* the highest reliability is 0\.\d+\. Lower", said
    )
    assert (pd.read_csv(tmp_path / "none.csv")["label"] == "unknown").all()
