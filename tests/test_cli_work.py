"""reproduce, help and the shell: what is printed, written, and how it ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unseen.cli import app
from unseen.cli.options import complete_method
from unseen.cli.reproduce import Progress, clock

runner = CliRunner()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["digits", "--out", "forged"], "origin.json: is damaged"),
        (["table9"], "The plans are table2"),
        (["table5"], "unseen data fetch xlsa17"),
    ],
)
def test_a_fault_is_a_line_and_exit_code_2(tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    Path("forged").mkdir()
    Path("forged/origin.json").write_text('["unseen"]')
    Path("forged/.results-of").write_text("unseen reproduce")
    ended = runner.invoke(app, ["reproduce", *args])
    assert ended.exit_code == 2 and ended.stdout == ""
    assert words in ended.stderr
    assert all(len(line) < 900 for line in ended.stderr.splitlines())
    assert "Traceback" not in ended.stderr


def test_help_has_examples():
    for command in ("run", "compare", "reproduce"):
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
