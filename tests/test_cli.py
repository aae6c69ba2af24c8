"""The command line: what is printed where, and how it ends."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import unseen
from unseen.cli import app
from unseen.experiments import demo as experiment
from unseen.experiments.demo import held_out_splits, run_demo

runner = CliRunner()


class Guess:
    """A stand-in that guesses before adapting and knows nothing more after it."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y, *, class_embeddings):
        assert len(X) == len(y)
        self.classes = sorted(set(class_embeddings.index) - set(y))
        return self

    def predict(self, X):
        return np.random.default_rng(self.seed).choice(self.classes, size=len(X))

    def adapt(self, X):
        self.labels_ = np.full(len(X), self.classes[0])
        self.reliability_ = np.linspace(1, 0, len(X))
        self.rounds_ = []
        return self

    def __repr__(self):
        return f"Guess({self.seed})"


@pytest.fixture
def quick(monkeypatch):
    """Let the command run the stand-in."""
    monkeypatch.setitem(run_demo.__kwdefaults__, "make_model", Guess)


def test_version_and_help():
    assert runner.invoke(app, ["--version"]).stdout == f"unseen {unseen.__version__}\n"
    assert "demo" in runner.invoke(app, ["--help"]).stdout
    shown = runner.invoke(app, ["demo", "--help"])
    assert shown.exit_code == 0
    assert "unseen demo --json" in shown.stdout
    assert "--seed" in shown.stdout


def test_demo_prints_results_to_stdout_and_progress_to_stderr(quick, tmp_path):
    out = tmp_path / "a" / "b"
    ended = runner.invoke(app, ["demo", "--splits", "4", "--out", str(out)])
    assert ended.exit_code == 0
    *_, mean, summary, last = ended.stdout.splitlines()
    assert mean.startswith("mean")
    assert "over 4 splits (chance 33.3 %)" in summary
    assert last == f"Open {out / 'report.html'}"
    assert (out / "report.html").read_text().startswith("<!doctype html>")
    assert "Split 4 of 4" in ended.stderr and "Split" not in ended.stdout


def test_demo_as_json_is_json_alone(quick, tmp_path):
    args = ["demo", "--splits", "2", "--seed", "5", "--json", "--out", str(tmp_path)]
    numbers = json.loads(runner.invoke(app, args).stdout)
    assert numbers["seed"] == 5 and numbers["model"] == "Guess(5)"
    assert len(numbers["splits"]) == numbers["n_splits"] == 2
    mean = np.mean([split["after"] for split in numbers["splits"]])
    assert numbers["after"] == pytest.approx(mean)
    assert numbers["report"] == str(tmp_path / "report.html")


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_bad_folder_is_one_line_and_exit_code_2(quick, tmp_path, out):
    (tmp_path / "file").write_text("in the way")
    ended = runner.invoke(app, ["demo", "--out", str(tmp_path / out)])
    assert ended.exit_code == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("unseen: ") and "file" in line


@pytest.mark.parametrize("args", [["--seed", "-1"], ["--splits", "0"], ["--nope"]])
def test_a_bad_option_is_exit_code_2(args):
    assert runner.invoke(app, ["demo", *args]).exit_code == 2


def test_the_module_of_a_command_imports_nothing_heavy():
    code = (
        "import sys, types; import unseen; before = set(sys.modules);"
        "import unseen.cli; new = set(sys.modules) - before;"
        "heavy = {'matplotlib', 'jinja2', 'unseen.experiments', 'unseen.report'};"
        "print(sorted(new & heavy))"
    )
    args = [sys.executable, "-c", code]
    ended = subprocess.run(args, capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_the_model_never_gets_an_unseen_label(monkeypatch):
    class Suspicious(Guess):
        def fit(self, X, y, *, class_embeddings):
            assert len(set(y)) == 7 and len(class_embeddings) == 10
            return super().fit(X, y, class_embeddings=class_embeddings)

    result = run_demo(n_splits=3, make_model=Suspicious)
    for split in result.splits:
        assert set(split.y_true) == set(split.unseen) and len(split.unseen) == 3


def test_recall_by_class_averages_to_the_mean_over_all_splits():
    result = run_demo(make_model=Guess)
    digits = result.by_class()
    assert (digits["n_splits"] == 36).all() and len(result.splits) == 120
    assert digits["before"].mean() == pytest.approx(result.before)
    assert digits["after"].mean() == pytest.approx(result.after)
    assert result.after == pytest.approx(1 / 3)


def test_drawn_splits_take_turns():
    classes = np.array(list("0123456789"))
    hands = held_out_splits(classes, 3, 6, seed=2)
    assert hands == held_out_splits(classes, 3, 6, seed=2)
    assert hands != held_out_splits(classes, 3, 6, seed=3)
    for deal in (hands[:3], hands[3:]):
        assert len({digit for hand in deal for digit in hand}) == 9


@pytest.mark.parametrize(("n_held_out", "n_splits"), [(0, 1), (10, 1), (3, 0)])
def test_impossible_splits_are_refused(n_held_out, n_splits):
    with pytest.raises(ValueError, match=r"n_(held_out|splits) is"):
        held_out_splits(np.array(list("0123456789")), n_held_out, n_splits, 0)


def test_the_default_model_teaches_itself():
    result = run_demo(n_splits=1, make_model=experiment.default_model)
    (split,) = result.splits
    assert len(split.by_round) == len(split.rounds) + 1
    assert split.by_round[-1] == split.after
    assert len(split.labels) == len(split.reliability) == len(split.y_true)
