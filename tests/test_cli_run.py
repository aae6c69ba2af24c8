"""``unseen run`` and ``predict`` on a CSV file with unlabelled rows."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from unseen import AnchoredSelfTraining
from unseen.cli import app
from unseen.labels import read_labels

pytestmark = pytest.mark.filterwarnings("ignore")  # small data, weak starts


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
    home = tmp_path_factory.mktemp("run")
    rows.assign(label=labels).to_csv(home / "data.csv", index=False)
    rows[y >= 6].to_csv(home / "new.csv", index=False)
    table = pd.DataFrame(A, index=pd.Index(names, name="class"), columns=list("pqrs"))
    table.to_csv(home / "attributes.csv")
    return home, X, np.array(labels, object), table, np.array(names)[y]


def run(*words):
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return done


def test_one_command_labels_what_is_unlabelled_as_the_library_does(home, tmp_path):
    folder, X, labels, table, truth = home
    out = tmp_path / "new" / "run"
    words = ["run", folder / "data.csv", "--classes", folder / "attributes.csv"]
    done = run(*words, "--out", out, "--json")
    answer = json.loads(done.stdout)
    found = read_labels(out / "labels.csv")
    loose = pd.isna(labels)
    assert_array_equal(found["id"].astype(int), np.flatnonzero(loose))
    model = AnchoredSelfTraining().fit(
        X[~loose], labels[~loose].astype(str), class_embeddings=table
    )
    assert_array_equal(found["label"], model.adapt(X[loose]).labels_)
    assert (found["label"] == truth[loose]).mean() > 0.9
    assert answer["rows"] == 30
    assert "<html" in (out / "report.html").read_text()
    assert "truth" not in done.stdout


def test_new_rows_need_no_labels_and_no_class_table(home, tmp_path):
    folder, *_ = home
    out = tmp_path / "run"
    words = ["run", folder / "data.csv", "--classes", folder / "attributes.csv"]
    run(*words, "--out", out)
    target = tmp_path / "labels.csv"
    done = run(
        "predict", out / "model.unseen", folder / "new.csv", "--adapt", "--out", target
    )
    assert_array_equal(
        read_labels(target)["label"], read_labels(out / "labels.csv")["label"]
    )
    assert "unseen score" not in done.stdout  # nobody knows the truth


def test_rows_of_seen_classes_are_left_alone(home, tmp_path):
    folder, _, labels, *_ = home
    out = tmp_path / "run"
    words = ["run", folder / "data.csv", "--classes", folder / "attributes.csv"]
    run(*words, "--out", out)
    target = tmp_path / "labels.csv"
    run("predict", out / "model.unseen", folder / "data.csv", "--out", target)
    rows = read_labels(target)["id"].astype(int)
    assert_array_equal(rows, np.flatnonzero(pd.isna(labels)))


def test_a_set_without_anything_to_label_is_told(home, tmp_path):
    folder, *_ = home
    frame = pd.read_csv(folder / "data.csv").dropna()
    frame.to_csv(tmp_path / "all.csv", index=False)
    table = pd.read_csv(folder / "attributes.csv")[:6]
    table.to_csv(tmp_path / "six.csv", index=False)
    words = ["run", tmp_path / "all.csv", "--classes", tmp_path / "six.csv"]
    done = CliRunner().invoke(app, [*map(str, words), "--out", str(tmp_path / "o")])
    assert done.exit_code == 2
    assert "nothing to label" in done.output
