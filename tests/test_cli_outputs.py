"""No command writes over what is not its own, nor over what it reads."""

import os

import numpy as np
import pandas as pd
import pytest
from test_report import make_result

from tests.checks import invoke as run
from tests.checks import make_data, quick_plan
from unseen import load_data, save_data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return save_data(make_data(), tmp_path_factory.mktemp("data") / "rows.npz")


@pytest.fixture(scope="module")
def model(data):
    path, out = data.with_suffix(".unseen"), data.with_suffix(".csv")
    ended = run("run", data, "--method", "eszsl", "--save", path, "--out", out)
    assert ended.exit_code == 0, ended.output
    return path


COMMANDS = {
    "page": (["run", "DATA", "--model", "MODEL", "--out", "l"], "l/report.html"),
    "save": (
        ["run", "DATA", "--model", "MODEL", "--out", "o.csv", "--save", "a.unseen"],
        "a.unseen",
    ),
    "classes": (["data", "convert", "DATA", "d.csv"], "d.classes.csv"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_exists_is_never_replaced_without_force(
    data, model, tmp_path, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    command, file = COMMANDS[name]
    files = {"DATA": data, "MODEL": model}
    command = [files.get(word, word) for word in command]
    assert run(*command).exit_code == 0
    path = tmp_path / file
    made = path.read_bytes()
    ended = run(*command)
    assert ended.exit_code == 2 and path.read_bytes() == made
    (line,) = [x for x in ended.stderr.splitlines() if x.startswith("unseen: ")]
    assert "--force" in line and "-2" in line
    path.write_bytes(b"spoiled")
    assert run(*command, "--force").exit_code == 0
    assert path.read_bytes() != b"spoiled"


def test_results_are_made_again_by_the_command_that_made_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick.toml").write_text(quick_plan("eszsl"))
    result = make_result(["ant", "bee"])
    monkeypatch.setattr("unseen.experiments.run_demo", lambda texts: result)
    for command in (["demo", "--out", "r"], ["reproduce", "quick.toml", "--out", "s"]):
        assert run(*command).exit_code == 0
        assert run(*command).exit_code == 0
    for other in (["reproduce", "quick.toml"], ["demo", "--texts"]):
        ended = run(*other, "--out", "r")
        assert ended.exit_code == 2 and "r-2" in ended.stderr, ended.output


def test_other_classes_do_not_replace_labels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.csv").write_text("text\nmy dog\nit rains\na wet day\n")
    assert run("label", "notes.csv", "--classes", "dog, rain").exit_code == 0
    before = (tmp_path / "labels.csv").read_bytes()
    ended = run("label", "notes.csv", "--classes", "cat, sun")
    assert ended.exit_code == 2 and "labels-2.csv" in ended.stderr
    assert (tmp_path / "labels.csv").read_bytes() == before


def test_force_writes_over_no_input(data, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.zeros((3, 16), dtype=np.float32))
    before = (tmp_path / "x.npy").read_bytes()
    os.link("x.npy", "twin.npy")
    for out in ("x.npy", "twin.npy"):
        ended = run("run", "x.npy", "--model", model, "--out", out, "--force")
        assert ended.exit_code == 2 and f"{out} is being read" in ended.stderr
    ended = run("run", "x.npy", "--model", model, "--save", model, "--force")
    assert ended.exit_code == 2 and "is being read" in ended.stderr
    assert (tmp_path / "x.npy").read_bytes() == before
    run("data", "convert", data, "d.csv")
    (tmp_path / "d").mkdir()
    rows = load_data(data)
    np.save("d/features.npy", rows.X)
    pd.Series(rows.y).to_csv("d/labels.csv", index=False)
    table = rows.class_embeddings
    side = np.where(np.isin(table.index, rows.unseen), "unseen", "seen")
    table.assign(split=side).to_csv("d/classes.csv", index_label="class")
    for source, target in [
        ("d.csv", "d.csv"),
        ("d.csv", "d.classes.csv"),
        ("d", "d/labels.csv"),
        ("d", "d/x.npz"),
    ]:
        ended = run("data", "convert", source, target, "--force")
        assert ended.exit_code == 2 and "read" in ended.stderr, ended.output
    ended = run("run", data, "--model", model, "--out", "y.csv", "--save", "y.csv")
    assert ended.exit_code == 2 and "would be written twice" in ended.stderr
    ended = run("run", "d", "--out", "d/labels.csv", "--force")
    assert ended.exit_code == 2 and "would lie in d" in ended.stderr
