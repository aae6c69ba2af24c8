"""fit, predict, score, reproduce, report: what is printed, written, and how it ends."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unseen
from unseen.cli import app
from unseen.cli.fit import complete_method
from unseen.cli.reproduce import Progress, clock

runner = CliRunner()


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Fit, predict and score the digits once."""
    folder = tmp_path_factory.mktemp("work")
    model, labels = folder / "digits.unseen", folder / "labels.csv"
    steps = {
        "fit": ["digits", "--method", "eszsl", "--out", str(model)],
        "predict": [str(model), "digits", "--out", str(labels)],
        "score": [str(labels), "digits"],
    }
    ended = {step: runner.invoke(app, [step, *args]) for step, args in steps.items()}
    assert [end.exit_code for end in ended.values()] == [0, 0, 0], ended
    return folder, ended


def test_the_road_from_fit_to_score(work):
    folder, ended = work
    data = unseen.load_data("digits")
    model = unseen.ESZSL().fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    )
    expected = model.predict(data.X_unseen)
    written = pd.read_csv(folder / "labels.csv", dtype={"label": str})
    assert written["label"].tolist() == expected.tolist()
    assert (data.y[written["id"]] == data.y_unseen).all()
    mean = 100 * unseen.per_class_accuracy(data.y_unseen, expected)
    assert ended["score"].stdout.splitlines()[-1].split()[-1] == f"{mean:.1f}"
    assert "ESZSL(): fitted in" in ended["fit"].stdout
    assert "ZeroShotData 'digits'" in ended["fit"].stderr


@pytest.mark.filterwarnings("default::unseen.WeakStartWarning")
def test_json_is_json_alone(tmp_path):
    out = str(tmp_path / "m.unseen")
    fit = runner.invoke(
        app, ["fit", "digits", "--set", "kappa=8", "--out", out, "--json"]
    )
    assert json.loads(fit.stdout)["estimator"] == "AnchoredSelfTraining(kappa=8)"
    labels = str(tmp_path / "labels.csv")
    predict = runner.invoke(
        app, ["predict", out, "digits", "--adapt", "--out", labels, "--json"]
    )
    told = json.loads(predict.stdout)
    assert told["adapted"] and told["rows"] == 533 == sum(told["counts"].values())
    assert told["rounds"][0].startswith("Kept ")
    assert "warning: Class embeddings explain" in predict.stderr
    score = json.loads(runner.invoke(app, ["score", labels, "digits", "--json"]).stdout)
    written = pd.read_csv(labels, dtype={"label": str})
    data = unseen.load_data("digits")
    right = unseen.per_class_accuracy(data.y[written["id"]], written["label"])
    assert score["per-class accuracy"] == pytest.approx(right, abs=1e-6)
    assert written["reliability"].between(0, 1).all()
    shares = [entry["accuracy"] for entry in score["classes"].values()]
    assert np.mean(shares) == pytest.approx(right, abs=1e-6)


def test_an_array_is_labelled_row_by_row(work, tmp_path):
    folder, _ = work
    X = unseen.load_data("digits").X_unseen
    np.save(tmp_path / "rows.npy", X)
    args = ["predict", str(folder / "digits.unseen"), str(tmp_path / "rows.npy")]
    ended = runner.invoke(app, [*args, "--out", str(tmp_path / "l.csv")])
    assert ended.exit_code == 0 and "score" not in ended.stdout
    same = pd.read_csv(folder / "labels.csv")["label"]
    assert pd.read_csv(tmp_path / "l.csv")["label"].tolist() == same.tolist()


def test_an_adapted_model_can_be_kept(tmp_path):
    model, kept = tmp_path / "m.unseen", tmp_path / "kept.unseen"
    runner.invoke(app, ["fit", "digits", "--method", "eszsl-st", "--out", str(model)])
    args = ["predict", str(model), "digits", "--adapt", "--save", str(kept)]
    ended = runner.invoke(app, [*args, "--out", str(tmp_path / "l.csv")])
    assert ended.exit_code == 0
    data = unseen.load_data("digits")
    labels = unseen.load_model(kept).predict(data.X_unseen)
    written = pd.read_csv(tmp_path / "l.csv", dtype={"label": str})["label"]
    assert written.tolist() == labels.tolist()


def test_a_search_is_what_the_library_does(tmp_path):
    out = str(tmp_path / "m.unseen")
    args = ["fit", "digits", "--method", "eszsl", "--search", "--folds", "3", "--json"]
    told = json.loads(runner.invoke(app, [*args, "--out", out]).stdout)
    data = unseen.load_data("digits")
    grid = {name: list(unseen.model_selection.PAPER_GRID) for name in ("gamma", "lam")}
    search = unseen.ClasswiseSearchCV(
        unseen.ESZSL(), grid, n_folds=3, transductive=False
    ).fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    assert told["estimator"] == repr(search.best_estimator_)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["fit", "nowhere"], "There is no file"),
        (["fit", "digits", "--method", "magic"], "The methods are"),
        (["fit", "digits", "--set", "kappa"], "NAME=VALUE"),
        (["fit", "digits", "--set", "kappa=-1"], "kappa"),
        (["fit", "digits", "--method", "cca", "--search"], "needs 10 classes"),
        (["predict", "nowhere.unseen", "digits"], "nowhere.unseen"),
        (["reproduce", "digits", "--out", "forged"], "origin.json: is damaged"),
        (["reproduce", "table9"], "The plans are table2"),
        (["reproduce", "table5"], "unseen data fetch xlsa17"),
    ],
)
def test_a_fault_is_a_line_and_exit_code_2(work, tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    folder, _ = work
    args = [arg.format(labels=folder / "labels.csv") for arg in args]
    Path("forged").mkdir()
    Path("forged/origin.json").write_text('["unseen"]')
    Path("forged/.results-of").write_text("unseen reproduce")
    ended = runner.invoke(app, args)
    assert ended.exit_code == 2 and ended.stdout == ""
    assert words in ended.stderr
    assert all(len(line) < 900 for line in ended.stderr.splitlines())
    assert "Traceback" not in ended.stderr


def test_names_cannot_steer_the_terminal(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text('id,label\n0,"a\x1b[31m\nb"\n1,c\n')
    ended = runner.invoke(app, ["score", str(path), str(path)])
    assert ended.exit_code == 0 and "a\\x1b[31m\\nb" in ended.stdout
    assert "\x1b" not in ended.stdout and len(ended.stdout.splitlines()) == 4


@pytest.mark.filterwarnings("default")
def test_the_line_that_fit_prints_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    names = ["ant", "bee", "cat", "dog", "elk", "fox"]
    table = pd.DataFrame(rng.normal(size=(6, 4)), columns=list("abcd"))
    table.insert(0, "class", names)
    table.to_csv("my table.csv", index=False)
    rows = pd.DataFrame(rng.normal(size=(60, 5)), columns=[f"x{i}" for i in range(5)])
    rows.insert(0, "label", np.repeat(names, 10))
    rows.to_csv("my rows.csv", index=False)
    (tmp_path / "new ones.txt").write_text("elk\nfox\n")
    options = ["--classes", "my table.csv", "--unseen", "new ones.txt"]
    for method in ("eszsl", "ast"):
        command = ["fit", "my rows.csv", *options, "--method", method]
        ended = runner.invoke(app, command)
        assert ended.exit_code == 0, ended.output
        line = ended.stdout.splitlines()[-1].split(":  unseen ")[1]
        ended = runner.invoke(app, shlex.split(line))
        assert ended.exit_code == 0, ended.output
        line = ended.stdout.splitlines()[-1].split(":  unseen ")[1]
        ended = runner.invoke(app, shlex.split(line))
        assert ended.exit_code == 0, ended.output
        for made in ("model.unseen", "labels.csv"):
            Path(made).unlink()


def test_model_and_set_must_agree_on_who_is_unseen(work, tmp_path):
    folder, _ = work
    names = tmp_path / "names.txt"
    names.write_text("0\n1\n")
    args = ["predict", str(folder / "digits.unseen"), "digits", "--unseen", str(names)]
    ended = runner.invoke(app, [*args, "--out", str(tmp_path / "l.csv")])
    assert ended.exit_code == 2 and "do not agree" in ended.stderr


def test_help_has_examples():
    for command in ("fit", "predict", "score", "reproduce"):
        shown = runner.invoke(app, [command, "--help"])
        assert shown.exit_code == 0
        assert f"unseen {command}" in shown.stdout.split("Examples:")[1]
        assert "--json" in shown.stdout


def test_the_shell_is_completed():
    env = {
        **os.environ,
        "_UNSEEN_COMPLETE": "complete_bash",
        "COMP_WORDS": "unseen reproduce tab",
        "COMP_CWORD": "2",
    }
    code = "from unseen.cli import main; main()"
    args = [sys.executable, "-c", code]
    ended = subprocess.run(args, env=env, capture_output=True, text=True)
    assert {"table2", "table5"} <= set(ended.stdout.split()), ended.stderr
    assert "ast" in complete_method("a") and "ast: no radius" not in complete_method("")


def test_the_time_left_is_that_of_the_work_left(monkeypatch):
    now = iter([0.0, 10.0, 20.0, 40.0])
    monkeypatch.setattr("unseen.cli.reproduce.time.monotonic", lambda: next(now))
    progress = Progress()
    assert progress.left(0.5) == "time left unknown"
    assert progress.left(0.75) == "about 10 s left"  # 10 s for a quarter
    assert clock(0) == "0 s" and clock(3601) == "60 min 01 s"


def test_a_search_says_when_there_is_nothing_to_search(tmp_path):
    out = tmp_path / "model.unseen"
    ended = CliRunner().invoke(app, ["fit", "digits", "--search", "--out", str(out)])
    assert ended.exit_code == 0 and out.exists()
    assert "nothing to search" in ended.stderr


def test_too_many_folds_are_told_in_words_of_the_command_line(tmp_path):
    out = tmp_path / "model.unseen"
    words = ["fit", "digits", "--method", "eszsl", "--search", "--out", str(out)]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 2 and not out.exists()
    assert "--folds 5 needs 10 classes" in ended.stderr and "has 7" in ended.stderr
    again = CliRunner().invoke(app, [*words, "--folds", "3"])
    assert "Try --folds 3." in ended.stderr and again.exit_code == 0
