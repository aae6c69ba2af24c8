"""A student: what it learns from, what it says of itself, and its ONNX file."""

import json

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from tests.checks import close
from unseen.cli import app
from unseen.labels import label_table, read_labels, write_labels
from unseen.review.answers import drawn_since_taught
from unseen.review.journal import Journal
from unseen.student import Student, StudentFile, choose, judge, left_out_answers

runner = CliRunner()
NAMES = np.array(["cat", "cow", "dog"])


def made(n=90, names=NAMES, noise=0.5, seed=0):
    """Rows of some classes, and their labels."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % len(names)
    X = np.eye(len(names), 6)[codes] + noise * rng.normal(size=(n, 6))
    return X, names[codes]


def unit(X):
    return X / np.sqrt((X * X).sum(axis=1))[:, None]


@pytest.fixture
def home(tmp_path):
    """A table of labels, every seventh wrong and doubtful, and features beside it."""
    X, truth = made(noise=0.25)
    labels, sure = truth.astype(object), np.full(len(X), 0.95)
    labels[::7], sure[::7] = "cow", 0.4
    ids = [f"{row}.jpg" for row in range(len(X))]
    np.savez(tmp_path / "features.npz", features=X, paths=np.array(ids))
    table = label_table(labels, ids=ids, reliability=sure)
    write_labels(table, tmp_path / "labels.csv")
    return tmp_path


def train(home, *options, labels="labels.csv"):
    options = [*options, "--features", str(home / "features.npz")]
    options += ["--out", str(home / "student.onnx")]
    return runner.invoke(app, ["train", str(home / labels), *options])


# ---- what it learns ------------------------------------------------------------------


@pytest.mark.parametrize("names", [NAMES, NAMES[:2]], ids=["three", "two"])
def test_it_is_scikit_learns_logistic_regression_at_a_temperature(names):
    X, y = made(names=names)
    student = Student().fit(X, y)
    rows = unit(X) / unit(X).std(axis=0).mean()
    plain = LogisticRegression(max_iter=2000).fit(rows, y)
    log_odds = plain.predict_log_proba(rows) / student.temperature_
    close(student.predict_proba(X), softmax(log_odds, axis=1), digits=9)
    assert (student.predict(X) == plain.predict(rows)).all()


def test_the_temperature_makes_probabilities_of_new_rows_better():
    rng = np.random.default_rng(0)
    own = np.arange(2200) % 2
    X = rng.normal(size=(2200, 40))  # most columns are noise, and 200 rows are few
    X[:, 0] += 1.5 * own
    student = Student().fit(X[:200], NAMES[own[:200]])
    wrong = np.mean(student.left_out_labels_ != NAMES[own[:200]])
    assert student.agreement_ == pytest.approx(1 - wrong) and wrong > 0.1

    def loss(factor):
        chances = log_softmax(factor * student.scores(X[200:]), axis=1)
        return -chances[np.arange(2000), own[200:]].mean()

    assert loss(1.0) < loss(student.temperature_) - 0.01  # what it would be without
    assert loss(1.0) < min(loss(0.5), loss(2.0))


def test_labels_that_mean_nothing_are_not_imitated():
    X, y = made(300)
    y = np.random.default_rng(3).permutation(y)
    assert Student().fit(X, y).agreement_ == pytest.approx(1 / 3, abs=0.1)


def test_length_of_rows_and_order_of_rows_say_nothing():
    X, y = made()
    student, long = Student().fit(X, y), Student().fit(7 * X, y)
    close(student.coef_, long.coef_, digits=8)
    assert student.agreement_ == long.agreement_
    back = Student().fit(X[::-1], y[::-1])  # folds differ, the classifier does not
    scaled = back.coef_ * back.temperature_
    close(scaled, student.coef_ * student.temperature_, within=2e-3)


def test_reliable_and_given_labels_are_learned_from():
    names = ["cat", "dog"] * 6 + ["cat", "dog", "none of these", "", "cow", "dog"]
    sure = [0.9] * 12 + [0.5, 0.5, 0.99, 0.99, 0.99, np.nan]
    given = [""] * 13 + ["yes", "", "yes", "", ""]
    chosen = choose(label_table(names, reliability=sure, given=given), 0.8)
    assert chosen.labels.tolist() == [*names[:12], "", "dog", "", "", "", ""]
    assert np.flatnonzero(chosen.given).tolist() == [13, 15]
    assert chosen.left_out == {
        "have no class": 2,
        "are less reliable than 0.8": 2,
        "are the only one of their class": 1,
    }


def test_too_little_to_learn_from_is_two_sentences():
    with pytest.raises(ValueError, match=r"There are 4 labels .* Lower --min-rel"):
        choose(label_table(["cat", "dog"] * 2, reliability=[0.9] * 4))
    with pytest.raises(ValueError, match=r"All 12 labels .* 'cat', and two classes"):
        choose(label_table(["cat"] * 12, reliability=[0.9] * 12))
    with pytest.raises(ValueError, match=r"There are 0 labels"):
        choose(label_table(["cat", "dog"] * 6))  # nobody knows how reliable
    assert choose(label_table(["cat", "dog"] * 6), 0.0).left_out == {}


# ---- what it says of itself ----------------------------------------------------------


def test_a_row_is_answered_by_a_student_without_it():
    X, y = made(60)
    wrong = y.copy()
    wrong[0] = "cow"  # a cat; who learned that would say cow
    X[0] *= 100  # its length does not matter either
    student = Student().fit(X, wrong)
    assert left_out_answers(student, X, wrong)[0] == "cat"


def test_none_of_these_counts_as_wrong():
    answers = np.repeat(np.array(["cat", "dog"], object), 50)
    checked = {row: answers[row] for row in range(0, 100, 5)}
    assert judge(answers, checked, checked).accuracy == 1
    checked[0] = "none of these"
    assert judge(answers, checked, checked).accuracy == pytest.approx(0.95)


def test_rows_drawn_before_the_model_learned_do_not_count():
    entries = [
        {"seq": 1, "op": "check", "ids": ["a", "b"]},
        {"seq": 2, "op": "teach", "file": "t.csv"},
        {"seq": 3, "op": "check", "ids": ["c"]},
        {"seq": 4, "op": "check", "ids": ["d"]},
        {"seq": 5, "op": "undo", "of": 4},
    ]
    assert drawn_since_taught(entries) == {"c"}
    undone = [*entries, {"seq": 6, "op": "undo", "of": 2}]
    assert drawn_since_taught(undone) == {"a", "b", "c"}


# ---- the file ------------------------------------------------------------------------


@pytest.mark.parametrize("names", [NAMES, NAMES[:2]], ids=["three", "two"])
def test_onnx_answers_as_scikit_learn_does(tmp_path, names):
    runtime = pytest.importorskip("onnxruntime")
    X, y = made(names=names)
    X[3] = 0  # a row without length
    student = Student().fit(X, y)
    path = student.to_onnx(tmp_path / "s.onnx", encoder="lite0")
    session = runtime.InferenceSession(path.read_bytes())
    asked = ["labels", "probabilities"]
    labels, chances = session.run(asked, {"features": X.astype(np.float32)})
    close(chances, student.predict_proba(X), digits=5)
    assert (labels == student.predict(X)).mean() == 1
    again = StudentFile(path)
    assert again.about["encoder"] == "lite0"
    assert again.classes_.tolist() == names.tolist()
    assert (again.predict(X) == labels).all()
    with pytest.raises(ValueError, match=r"shape \(2, 5\).*6 features. Use the same"):
        again.predict(X[:2, :5])


def test_another_file_is_no_student(tmp_path):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "s.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(ValueError, match=r"s\.onnx: onnxruntime cannot read it"):
        StudentFile(path)
    from unseen.onnx_export import export_onnx

    X, y = made()
    export_onnx(Student().fit(X, y), path)
    with pytest.raises(ValueError, match=r"is no student; it answers with scores, lab"):
        StudentFile(path)


# ---- the command ---------------------------------------------------------------------


def test_train_then_predict(home):
    pytest.importorskip("onnxruntime")
    ended = train(home)
    assert ended.exit_code == 0, ended.output
    assert "Learned 3 classes from 77 labels." in ended.output
    assert "13 are less reliable than 0.8" in ended.output
    assert "How often it is right is unknown" in ended.output
    again = train(home, "--json")  # over its own file
    answer = json.loads(again.stdout)
    assert answer["accuracy"] is None and answer["agreement"] > 0.7
    asked = [str(home / name) for name in ("student.onnx", "features.npz", "new.csv")]
    ended = runner.invoke(app, ["predict", *asked[:2], "--out", asked[2]])
    assert ended.exit_code == 0, ended.output
    X, truth = made(noise=0.25)
    table = read_labels(home / "new.csv")
    assert table["id"].tolist() == [f"{row}.jpg" for row in range(90)]
    student = StudentFile(asked[0])
    assert table["label"].tolist() == student.predict(X).tolist()
    assert np.mean(table["label"] == truth) > 0.95  # 81 of 90 labels are right
    close(table["reliability"], student.predict_proba(X).max(axis=1), digits=4)
    ended = runner.invoke(app, ["predict", *asked[:2], "--adapt", "--force"])
    assert ended.exit_code == 2 and "only --out and" in ended.output


def test_checked_rows_tell_how_often_it_is_right(home):
    _, truth = made()
    rows = np.random.default_rng(0).choice(90, 40, replace=False)
    told = label_table(truth[rows], ids=[f"{row}.jpg" for row in rows])
    write_labels(told[["id", "label"]], home / "checked.csv")
    ended = train(home, "--checked", str(home / "checked.csv"), "--json")
    found = json.loads(ended.stdout)["accuracy"]
    assert found["checked"] == 40
    assert 0.8 < found["low"] < found["share"] <= found["high"] <= 1
    (home / "odd.csv").write_text("id,label\nx.jpg,cat\n")
    ended = train(home, "--checked", str(home / "odd.csv"))
    assert ended.exit_code == 2 and "'x.jpg' is not in" in ended.output


def test_what_a_review_drew_is_known_and_what_people_picked_is_not_mixed_in(home):
    folder = home / "labels.review"
    folder.mkdir()
    table = read_labels(home / "labels.csv")
    _, truth = made()
    rows = np.arange(0, 90, 3)  # drawn; row 1 is picked
    given = np.where(np.isin(np.arange(90), [1, *rows]), "yes", "")
    table["label"] = np.where(given == "yes", truth, table["label"])
    write_labels(table.assign(given=given), folder / "reviewed.csv")
    ended = train(home, "--json", labels="labels.review/reviewed.csv")
    assert json.loads(ended.stdout)["accuracy"] is None  # nobody drew these
    with Journal(folder / "answers.jsonl", {"table": ""}) as journal:
        journal.append([{"op": "check", "ids": [f"{row}.jpg" for row in rows]}])
    ended = train(home, "--json", labels="labels.review/reviewed.csv")
    answer = json.loads(ended.stdout)
    assert answer["accuracy"]["checked"] == len(rows)
    assert answer["said_by_people"] == len(rows) + 1
    ended = train(home)
    assert "train on that file to have them" in ended.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--min-reliability", "0.99"], "There are 0 labels to learn from"),
        (["--features", "none.npz"], "none.npz"),
        (["--out", "student.pkl"], "must end in .onnx"),
        (["--checked", "none.csv"], "none.csv"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(home, monkeypatch, change, said):
    monkeypatch.chdir(home)
    asked = ["train", "labels.csv", "--features", "features.npz", *change]
    ended = runner.invoke(app, asked)
    assert ended.exit_code == 2 and said in ended.output, ended.output
    assert ended.output.count("\n") == 1


def test_features_that_nobody_noted_are_asked_for(home, monkeypatch):
    monkeypatch.chdir(home)
    ended = runner.invoke(app, ["train", "labels.csv"])
    assert ended.exit_code == 2 and "--features features.npz" in ended.output


def test_the_demos_labels_are_enough(tmp_path, monkeypatch):
    """The photos and features of the demo are in the package, and so it notes."""
    from unseen.photos.bundled import load_photos
    from unseen.review.origins import Origin, note_origin

    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    photos = load_photos()
    table = label_table(
        photos.truth, ids=photos.paths, reliability=np.ones(len(photos.paths))
    )
    write_labels(table.iloc[::3], tmp_path / "labels.csv")
    note_origin(tmp_path / "labels.csv", Origin("demo"))
    out = tmp_path / "s.onnx"
    ended = runner.invoke(
        app, ["train", str(tmp_path / "labels.csv"), "--out", str(out)]
    )
    assert ended.exit_code == 0, ended.output
    rest = np.arange(len(table)) % 3 != 0
    right = StudentFile(out).predict(photos.features[rest]) == photos.truth[rest]
    assert right.mean() > 0.8
