"""Whole stories by command line only, in an empty environment from the built wheel.

Whatever command line a command prints, in its answer or its error, is run too, and what
that one prints as well: advice that fails is a failure. With an installation that is
there: UNSEEN_BIN=.venv/bin pytest -m slow.
"""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

from unseen.cli import app

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow
COMMANDS = "|".join(name for name in typer.main.get_command(app).commands)
OF_THE_TESTS = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
# A command line ends its line; before it stands nothing, or what it is for.
ADVICE = re.compile(rf"^(?:.*[:,] +| *)(unseen (?:{COMMANDS})\b.*)$", re.MULTILINE)


@pytest.fixture(scope="session")
def scripts(tmp_path_factory) -> Path:
    """Return the folder of ``unseen`` and ``python`` of an installation of its own."""
    there = os.environ.get("UNSEEN_BIN")
    if there:
        return Path(there).absolute()
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), ROOT]
    subprocess.run(build, check=True, capture_output=True)
    wheel = next(folder.glob("*.whl"))
    venv.create(folder / "env", with_pip=True)
    scripts = folder / "env" / "bin"
    # What the commands import is compiled by the first that does: a third of all.
    quietly = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-compile"]
    wanted = f"{wheel}[all]"
    install = [scripts / "python", "-m", "pip", "install", *quietly, wanted]
    subprocess.run(install, check=True, capture_output=True)
    return scripts


class Installed:
    """A folder to work in, and the printed commands that were run."""

    def __init__(self, scripts: Path, folder: Path):
        self.scripts, self.folder = scripts, folder
        self.followed: set[str] = set()  # printed lines that were run
        self.env = {
            **{k: v for k, v in os.environ.items() if k not in OF_THE_TESTS},
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "OPENBLAS_NUM_THREADS": "1",
            "COLUMNS": "200",
        }
        if os.environ.get("UNSEEN_BIN"):
            self.env["PYTHONPATH"] = str(ROOT)

    def run(self, *words: object, fails: bool = False) -> str:
        """Run a command; return all it said."""
        done = subprocess.run(
            [self.scripts / str(words[0]), *map(str, words[1:])],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.env,
            timeout=600,
        )
        said = f"{done.stdout}\n{done.stderr}"
        assert (done.returncode != 0) == fails, f"{words}\n{said}"
        assert "Traceback" not in said, f"{words}\n{said}"
        return said

    def unseen(self, *words: object, fails: bool = False) -> str:
        """Run a command, then every command line that it printed."""
        said = self.run("unseen", *words, fails=fails)
        for line in ADVICE.findall(said):
            if line not in self.followed:
                self.followed.add(line)
                self.follow(*shlex.split(line)[1:])
        return said

    def follow(self, *words: str) -> None:
        """Run what was printed; of a page that is served, see that it is."""
        if words[0] == "review":
            self.open_review(*words)
        elif words[:2] != ("data", "fetch"):  # hundreds of megabytes from the network
            # A check that finds a fault has done its work.
            self.unseen(*words, fails=words[:2] == ("data", "check"))

    def open_review(self, *words: str) -> None:
        """Start a review as printed, read its page once, and end it by Ctrl-C."""
        command = [self.scripts / "unseen", *words, "--no-browser"]
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, cwd=self.folder, env=self.env, **pipe) as served:
            try:
                said = served.stdout.readline()
                assert said.startswith("Open http://127.0.0.1:"), served.stderr.read()
                with urllib.request.urlopen(said.split()[1], timeout=60) as page:
                    assert b"<html" in page.read()
            finally:
                served.send_signal(signal.SIGINT)
            said, faults = served.communicate(timeout=60)
        assert served.returncode == 0 and "answers are in" in said, f"{said}\n{faults}"

    def labels(self, path: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / path, keep_default_na=False)


@pytest.fixture
def installed(scripts, tmp_path) -> Installed:
    return Installed(scripts, tmp_path)


def made_rows(unlabelled=("g", "h", "i")):
    """Return rows, labels with gaps, the truth and a class table."""
    rng = np.random.default_rng(0)
    names = list("abcdefghijkl")
    table = pd.DataFrame(rng.uniform(size=(12, 5)), names, [f"a{i}" for i in range(5)])
    truth = np.repeat(names, 25)
    X = table.loc[truth].to_numpy() @ rng.normal(size=(5, 8))
    X = X + 0.15 * rng.normal(size=X.shape)
    y = np.where(np.isin(truth, unlabelled), "", truth)
    return X.round(5), y, truth, table.round(5)


def write_rows(installed):
    X, y, truth, table = made_rows()
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)])
    frame.assign(label=y).to_csv(installed.folder / "rows.csv", index=False)
    table.to_csv(installed.folder / "table.csv", index_label="class")
    return truth[y == ""]


def test_rows_of_ones_own_and_a_saved_model(installed):
    truth = write_rows(installed)
    words = "run", "rows.csv", "--classes", "table.csv", "--out", "made"
    installed.unseen(*words, "--save", "m.unseen")
    assert installed.followed == {"unseen review made/labels.csv"}
    found = installed.labels("made/labels.csv")
    assert len(found) == len(truth)
    assert (found["label"].to_numpy(str) == truth).mean() > 0.8
    assert (installed.folder / "made" / "report.html").exists()
    np.save(installed.folder / "new.npy", made_rows()[0][-50:])
    installed.unseen("run", "new.npy", "--model", "m.unseen", "--out", "new.csv")
    assert len(installed.labels("new.csv")) == 50


def test_photos(installed):
    from unseen.photos.bundled import load_photos

    photos = load_photos()
    folder = installed.folder / "photos"
    folder.mkdir()
    for i in np.flatnonzero(np.isin(photos.truth, ["cat", "ship", "truck"]))[:90]:
        (folder / photos.paths[i]).write_bytes(photos.jpegs[i])
    names = ("--classes", "cat, ship, truck")
    installed.unseen("label", "photos", *names)
    found = installed.labels("labels.csv")
    assert len(found) == 90
    fetched = "unseen data fetch clip"  # said, not done: it needs the network
    assert installed.followed == {fetched, "unseen review labels.csv"}
    one = folder / found["id"][0]
    installed.unseen("label", one, *names, "--out", "one.csv")
    assert len(installed.labels("one.csv")) == 1
    to = "--to", "folders", "--out", "sorted"
    installed.unseen("export", "labels.csv", *to, "--yes")


def test_texts(installed):
    from unseen.texts import load_demo_texts

    demo = load_demo_texts()
    with open(installed.folder / "tickets.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "text"])
        writer.writerows(zip(demo.ids, demo.texts, strict=True))
    names = ",".join(demo.classes)
    said = installed.unseen(
        *("label", "tickets.csv", "--column", "text", "--id", "number"),
        *("--classes", names, "--json"),
    )
    assert json.loads(said[said.index("{") : said.rindex("}") + 1])
    found = installed.labels("labels.csv")
    assert (found["label"].to_numpy(str) == demo.truth).mean() > 0.6
