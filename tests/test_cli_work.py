"""reproduce and help: what is printed, written, and how it ends."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from unseen.cli import app

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


def test_commands_have_examples_and_few_options():
    for name, command in typer.main.get_command(app).commands.items():
        assert f"unseen {name}" in command.epilog or name == "data"
        options = [one for one in command.params if one.param_type_name == "option"]
        assert len([one for one in options if not one.name.endswith("help")]) <= 14, (
            name
        )
