"""Commands in messages run where they are printed: by name, in a checkout, by -m."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from unseen._command import command_line, needs_extra, program

ROOT = Path(__file__).parents[1]
SCRIPT = f"#!{sys.executable}\nfrom unseen.cli import main\nmain()\n"


def test_what_a_checkout_prints_is_typed_as_the_script_was_started(tmp_path):
    scripts = tmp_path / ".venv" / "bin"  # where ``make demo`` puts it
    scripts.mkdir(parents=True)
    (scripts / "unseen").write_text(SCRIPT)
    (scripts / "unseen").chmod(0o755)
    env = {**os.environ, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [".venv/bin/unseen", "label", "--help"],
        cwd=tmp_path, env=env, capture_output=True, text=True,
    )  # fmt: skip
    assert "Usage: .venv/bin/unseen label" in done.stdout
    examples = done.stdout.split("Examples:")[1].split("In classes.txt")[0]
    assert examples.count(".venv/bin/unseen label") >= 7
    assert not re.search(r"(?<!bin/)\bunseen label", examples)


def test_a_command_names_the_script_the_module_or_the_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    Path("my bin").mkdir()
    Path("my bin/unseen").touch()
    for started, said in {
        "my bin/unseen": "'my bin/unseen'",
        str(ROOT / "unseen" / "__main__.py"): f"{sys.executable} -m unseen",
        "": "unseen",  # whoever imports the package
        "/usr/bin/pytest": "unseen",
        "/nowhere/unseen": "unseen",
    }.items():
        monkeypatch.setattr(sys, "argv", [started])
        assert program() == said
    assert command_line("review", "my labels.csv") == "unseen review 'my labels.csv'"


def test_what_is_missing_is_added_to_what_is_installed():
    """As pip does for an extra of a package that is there, wherever it came from."""
    told, command = str(needs_extra("h5py", "files", "birds.h5")).split("with: ")
    assert told == "birds.h5 needs h5py. Install it "
    python, *words = shlex.split(command)
    assert words == ["-m", "pip", "install", "unseen[files]"]
    assert Path(python).name == Path(sys.executable).name
    dry = ["--dry-run", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([sys.executable, *words, *dry], check=True)
