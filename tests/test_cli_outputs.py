"""No command writes over what is not its own, nor over what it reads."""

import os

import numpy as np
import pytest
from test_report import make_result
from typer.testing import CliRunner

from unseen.cli import app
from unseen.cli.outputs import record_of

runner = CliRunner()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "digits.unseen"
    ended = runner.invoke(app, ["fit", "digits", "--method", "eszsl", "--out", path])
    assert ended.exit_code == 0, ended.output
    return path


def run(*args):
    return runner.invoke(app, [str(arg) for arg in args])


COMMANDS = {
    "fit": (["fit", "digits", "--method", "eszsl", "--out", "m.unseen"], "m.unseen"),
    "predict": (["predict", "MODEL", "digits", "--out", "l.csv"], "l.csv"),
    "save": (
        ["predict", "MODEL", "digits", "--out", "o.csv", "--save", "a.unseen"],
        "a.unseen",
    ),
    "csv": (["data", "convert", "digits", "d.csv"], "d.csv"),
    "classes": (["data", "convert", "digits", "d.csv"], "d.classes.csv"),
    "npz": (["data", "convert", "digits", "d.npz"], "d.npz"),
    "folder": (["data", "convert", "digits", "d"], "d/labels.csv"),
    "report": (["report", "given.csv"], "report.html"),
    "demo": (["demo", "--out", "."], "gallery.html"),
    "reproduce": (["reproduce", "quick.toml", "--out", "r"], "r/tables/quick.md"),
}
PLAN = """
title = "Quick"
caption = "One method"
task = "accuracy"
show = "table"
[[column]]
head = "digits"
data = "digits"
classes = "attributes"
[[row]]
method = "eszsl"
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_own_work_is_made_again_and_a_correction_is_kept(
    model, tmp_path, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given.csv").write_text("id,label\n0,2\n")
    (tmp_path / "quick.toml").write_text(PLAN)
    result = make_result(["ant", "bee"])
    monkeypatch.setattr("unseen.experiments.demo.run_demo", lambda: result)
    command, file = COMMANDS[name]
    command = [str(model) if word == "MODEL" else word for word in command]
    path = tmp_path / file
    assert run(*command).exit_code == 0
    made = path.read_bytes()
    ended = run(*command)
    assert ended.exit_code == 0, ended.output
    path.write_bytes(corrected := made + b" ")
    ended = run(*command)
    assert ended.exit_code == 2 and path.read_bytes() == corrected
    (line,) = [x for x in ended.stderr.splitlines() if x.startswith("unseen: ")]
    assert file.split("/")[-1] in line and ("--force" in line or "by hand" in line)
    assert run(*command, "--force").exit_code == 0
    assert path.read_bytes() != corrected
    assert run(*command).exit_code == 0


def test_a_file_of_somebody_is_never_written_over(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text("my thesis")
    ended = run("predict", model, "digits")
    assert ended.exit_code == 2 and "Choose another --out" in ended.stderr
    assert (tmp_path / "labels.csv").read_text() == "my thesis"


def test_force_writes_over_no_input(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.zeros((3, 64), dtype=np.float32))
    before = (tmp_path / "x.npy").read_bytes()
    os.link("x.npy", "twin.npy")
    for out in ("x.npy", "twin.npy"):
        ended = run("predict", model, "x.npy", "--out", out, "--force")
        assert ended.exit_code == 2 and f"{out}: is being read" in ended.stderr
    ended = run("predict", model, "x.npy", "--adapt", "--save", model, "--force")
    assert ended.exit_code == 2 and "is being read" in ended.stderr
    assert (tmp_path / "x.npy").read_bytes() == before
    run("data", "convert", "digits", "d.csv")
    run("data", "convert", "digits", "d")
    for source, target in [
        ("d.csv", "d.csv"),
        ("d.csv", "d.classes.csv"),
        ("d", "d"),
        ("d", "d/x.npz"),
        ("d/labels.csv", "d"),
    ]:
        ended = run("data", "convert", source, target, "--force")
        assert ended.exit_code == 2 and "read" in ended.stderr, ended.output
    ended = run("fit", "d", "--out", "d/labels.csv", "--force")
    assert ended.exit_code == 2 and "would lie in d" in ended.stderr


def test_two_outputs_have_two_names(model, tmp_path):
    out = tmp_path / "x"
    ended = run("predict", model, "digits", "--out", out, "--save", out)
    assert ended.exit_code == 2 and "would be written twice" in ended.stderr
    assert not out.exists()


def test_a_record_that_is_damaged_or_lost_asks(model, tmp_path):
    out = tmp_path / "l.csv"
    command = ["predict", model, "digits", "--out", out]
    assert run(*command).exit_code == 0
    record_of(out).write_text("[")
    assert run(*command).exit_code == 2
    record_of(out).unlink()
    assert run(*command).exit_code == 2


@pytest.mark.filterwarnings("default")
def test_a_record_that_cannot_be_written_is_a_warning(model, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    ended = run("predict", model, "digits", "--out", tmp_path / "l.csv")
    assert ended.exit_code == 0 and (tmp_path / "l.csv").exists()
    assert "could not be noted down" in ended.stderr


def test_a_moved_file_is_not_known_any_more(model, tmp_path):
    out = tmp_path / "l.csv"
    assert run("predict", model, "digits", "--out", out).exit_code == 0
    (tmp_path / "other.csv").write_text("mine")
    os.replace(tmp_path / "other.csv", out)
    assert run("predict", model, "digits", "--out", out).exit_code == 2
