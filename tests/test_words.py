"""What a stranger's file says never steers the terminal."""

import subprocess

import numpy as np
import pandas as pd
import pytest

from tests.checks import invoke
from unseen._command import command_line
from unseen._words import printable

EVIL = "\x1b]0;owned\x07\x1b[2J"


def assert_plain(text):
    assert all(sign.isprintable() or sign == "\n" for sign in text), repr(text)


def files(folder):
    rows = pd.DataFrame({f"head{EVIL}": [1.0, 2.0], "b": [1.0, 2.0]})
    rows.insert(0, "label", [f"okapi{EVIL}", "zebra"])
    rows.to_csv(folder / f"zoo{EVIL}.csv", index=False)
    rows.rename(columns={"b": f"head{EVIL}"}).to_csv(folder / "twice.csv", index=False)
    rows["label"] = ["zebra", "okapi"]
    rows.insert(0, f"kind{EVIL}", ["a", "b"])
    rows.rename(columns={"label": "other"}).to_csv(folder / "which.csv", index=False)
    np.savez(folder / "keys.npz", **{f"X{EVIL}": np.eye(2), "class_names": ["a"]})
    looks = {"class": [f"okapi{EVIL}", "zebra"], "stripes": [0, 1]}
    pd.DataFrame(looks).to_csv(folder / "looks.csv", index=False)


@pytest.mark.parametrize(
    "words",
    [
        ["data", "info", f"zoo{EVIL}.csv"],
        ["data", "check", f"zoo{EVIL}.csv", "--classes", "looks.csv"],
        ["data", "convert", f"zoo{EVIL}.csv", "out.csv", "--classes", "looks.csv"],
        ["data", "check", "twice.csv"],
        ["data", "check", "which.csv"],
        ["data", "info", "keys.npz"],
        ["data", "info", f"missing{EVIL}.csv"],
        ["data", "info", "which.csv", "--column", EVIL],
        ["data", "fetch", EVIL],
        ["run", f"zoo{EVIL}.csv"],
    ],
)
def test_escapes_are_made_visible(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    files(tmp_path)
    answer = invoke(*words)
    assert_plain(answer.output)


def test_a_command_with_odd_signs_can_be_pasted():
    odd = "it's \x1b[2J \\ caf\udce9 Zoë"
    line = command_line("review", odd)
    assert printable(line) == line
    words = line.split(" ", 1)[1]
    done = subprocess.run(
        ["bash", "-c", f"printf '%s' {words}"], capture_output=True, check=True
    )
    assert done.stdout == b"review" + odd.encode("utf-8", "surrogateescape")
