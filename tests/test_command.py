"""Commands in messages run where they are printed: by name, in a checkout, by -m."""

import json
import os
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from unseen import _command
from unseen._command import command_line, needs_extra, program

ROOT = Path(__file__).parents[1]
SCRIPT = f"#!{sys.executable}\nfrom unseen.cli import main\nmain()\n"


@pytest.fixture
def checkout(tmp_path):
    """Return a folder with the script where ``make demo`` puts it."""
    scripts = tmp_path / "check out" / ".venv" / "bin"
    scripts.mkdir(parents=True)
    (scripts / "unseen").write_text(SCRIPT)
    (scripts / "unseen").chmod(0o755)
    return tmp_path / "check out"


def start(command, folder, **changed):
    """Run a command line in a shell, without the scripts of this environment."""
    plain = os.pathsep.join(["/usr/bin", "/bin"])
    env = {**os.environ, "PATH": plain, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env={**env, **changed},
        capture_output=True,
        text=True,
    )


def next_step(done):
    """Return the command that a wrong one ends with: where to find help."""
    assert done.returncode == 2, done.stderr
    return re.search(r"Try '(.*)' for help", done.stderr)[1]


def test_what_a_checkout_prints_runs_there(checkout):
    done = start(".venv/bin/unseen data convert digits rows.npz", checkout)
    printed = re.search(r"^Look at it:  (.*)$", done.stdout, re.M)[1]
    assert printed == ".venv/bin/unseen data info rows.npz"
    assert "1,797" in start(printed, checkout).stdout


def test_as_a_module_it_names_the_python(checkout):
    printed = next_step(start(f"{sys.executable} -m unseen label --nonsense", checkout))
    assert shlex.split(printed)[1:] == "-m unseen label -h".split()
    assert start(printed, checkout).returncode == 0


def test_examples_of_help_are_typed_alike(checkout):
    shown = start(".venv/bin/unseen label --help", checkout).stdout
    assert "Usage: .venv/bin/unseen label" in shown
    examples = shown.split("Examples:")[1].split("In classes.txt")[0]
    assert examples.count(".venv/bin/unseen label") >= 7
    assert not re.search(r"(?<!bin/)\bunseen label", examples)


def test_whoever_imports_the_package_reads_the_name(monkeypatch):
    for started in ("", "-c", "/usr/bin/pytest", "/nowhere/unseen"):
        monkeypatch.setattr(sys, "argv", [started])
        assert program() == "unseen"
    assert command_line("review", "my labels.csv") == "unseen review 'my labels.csv'"


class Installed:
    """A distribution that came from somewhere."""

    def __init__(self, origin):
        self.origin = origin

    def read_text(self, name):
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


@pytest.mark.parametrize(
    "origin, wanted",
    [
        (None, ["unseen[files]"]),
        (
            {"url": "file:///my%20src/unseen", "dir_info": {"editable": True}},
            ["-e", "/my src/unseen[files]"],
        ),
        (
            {"url": "file:///wheels/unseen.whl", "archive_info": {}},
            ["unseen[files] @ file:///wheels/unseen.whl"],
        ),
        (
            {"url": "https://example.org/u.git", "vcs_info": {"vcs": "git"}},
            ["unseen[files] @ git+https://example.org/u.git"],
        ),
    ],
)
def test_what_is_missing_comes_from_where_the_package_came(monkeypatch, origin, wanted):
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(origin))
    said = str(needs_extra("h5py", "files", "birds.h5"))
    told, command = said.split("Install it with: ")
    assert told == "birds.h5 needs h5py. "
    python, *words = shlex.split(command)
    assert words == ["-m", "pip", "install", *wanted]
    assert Path(python).name == Path(sys.executable).name


def test_sources_that_were_never_installed_ask_the_index(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(_command.metadata, "distribution", absent)
    assert str(needs_extra("a", "review", "b")).endswith("install 'unseen[review]'")
