"""The command line on mixed piles: fit, predict, score, explain and run."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from unseen import save_data
from unseen.cli import app
from unseen.data import ZeroShotData

pytestmark = pytest.mark.filterwarnings("ignore::unseen.WeakStartWarning")


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
    return path


def call(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def model(mixed, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "made.unseen"
    told = call("fit", mixed, "--generalized", "--out", path)
    assert "--generalized" in told.output
    return path


def test_a_mixed_pile_is_labelled_and_both_sides_are_scored(mixed, model, tmp_path):
    out = tmp_path / "labels.csv"
    said = call("predict", model, mixed, "--adapt", "--generalized", "--out", out)
    assert re.search(r"score .* --generalized$", said.output.strip(), flags=re.M)
    labels = pd.read_csv(out)
    assert len(labels) == 80 + 48  # unseen rows, and those set aside
    assert labels["reliability"].between(0, 1).all()
    told = call("score", out, mixed, "--generalized", "--json")
    found = json.loads(told.stdout)
    assert found["S"] > 0.5
    assert found["U"] > 0.3
    assert abs(found["H"] - 2 / (1 / found["S"] + 1 / found["U"])) < 1e-4


def test_rows_below_a_reliability_are_left_unknown(mixed, model, tmp_path):
    plain, least = tmp_path / "plain.csv", tmp_path / "least.csv"
    call("predict", model, mixed, "--adapt", "--out", plain)
    half = pd.read_csv(plain)["reliability"].median()
    words = ["--adapt", "--min-reliability", f"{half:.4f}", "--out", least]
    said = call("predict", model, mixed, *words).output
    before, after = pd.read_csv(plain), pd.read_csv(least)
    low = before["reliability"] < round(half, 4)
    assert low.any()
    n_names = before["label"][~low].nunique()
    assert f"{(~low).sum()} rows got {n_names} names, {low.sum()} stay" in said
    assert (after["label"][low] == "unknown").all()
    assert (after["label"][~low] == before["label"][~low]).all()
    told = call("score", least, mixed)
    assert f"{low.sum()} rows without a label are not scored" in told.output


def test_a_reliability_that_no_label_has_is_told(mixed, model, tmp_path):
    out = tmp_path / "labels.csv"
    words = ["--adapt", "--min-reliability", "1", "--out", out]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        said = " ".join(call("predict", model, mixed, *words).output.split())
    assert re.search(r"warning: No label .* the best has 0\.\d+\. Lower", said)
    assert (pd.read_csv(out)["label"] == "unknown").all()


def test_labels_without_a_reliability_cannot_be_left_out(mixed, model, tmp_path):
    words = ["predict", model, mixed, "--min-reliability", "0.5"]
    words += ["--out", tmp_path / "labels.csv"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 2
    assert "have none" in result.output


def test_one_command_labels_a_mixed_pile(mixed, tmp_path):
    call("run", mixed, "--generalized", "--out", tmp_path / "run")
    labels = pd.read_csv(tmp_path / "run" / "labels.csv")
    assert len(labels) == 128
    page = (tmp_path / "run" / "report.html").read_text()
    assert "How far the reliability can be trusted" in page


def test_labels_and_classes_are_explained(mixed, model, tmp_path):
    page = tmp_path / "why.html"
    words = ["explain", model, mixed, "--adapt", "--rows", "240,300"]
    told = call(*words, "--class", "class 13", "--json", "--out", page)
    found = json.loads(told.stdout)
    assert [row["id"] for row in found["rows"]] == ["240", "300"]
    for row in found["rows"]:
        whole = sum(part["contribution"] for part in row["evidence"])
        assert abs(whole - row["margin"]) < 0.01 * abs(row["margin"]) + 0.01
        assert row["evidence"][-1]["evidence"] == "what the pile taught"
    assert len(found["class"]["nearest"]) == 10
    assert "<svg" in page.read_text()
    shown = call(*words).output
    assert "trait" in shown


def test_a_row_that_is_not_labelled_is_refused(mixed, model):
    result = CliRunner().invoke(app, ["explain", str(model), str(mixed), "--rows", "1"])
    assert result.exit_code == 2
    assert "no row that is labelled" in result.output
