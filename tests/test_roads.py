"""Ten stories by command line only, in an empty environment from the built wheel.

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
    folder = tmp_path_factory.mktemp("roads")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), ROOT]
    subprocess.run(build, check=True, capture_output=True)
    wheel = next(folder.glob("*.whl"))
    venv.create(folder / "env", with_pip=True)
    scripts = folder / "env" / "bin"
    # What the commands import is compiled by the first that does: a third of all.
    quietly = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-compile"]
    wanted = f"{wheel}[files,images,onnx,review,scale]"
    install = [
        scripts / "python",
        "-m",
        "pip",
        "install",
        *quietly,
        wanted,
        "ipykernel",
    ]
    subprocess.run([*install, "nbclient"], check=True, capture_output=True)
    return scripts


class Road:
    """A folder to walk in, and the commands walked so far."""

    def __init__(self, scripts: Path, folder: Path):
        self.scripts, self.folder = scripts, folder
        self.walked: set[str] = set()  # printed lines that were run
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
            if line not in self.walked:
                self.walked.add(line)
                self.follow(*shlex.split(line)[1:])
        return said

    def follow(self, *words: str) -> None:
        """Run what was printed; of a page that is served, see that it is."""
        if words[0] == "review":
            self.open_review(*words)
        else:
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
def road(scripts, tmp_path) -> Road:
    return Road(scripts, tmp_path)


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


def write_rows(road, ending):
    X, y, truth, table = made_rows()
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)])
    frame["label"] = y
    if ending == "csv":
        frame.to_csv(road.folder / "rows.csv", index=False)
    elif ending == "parquet":
        frame.to_parquet(road.folder / "rows.parquet")
    else:
        np.savez(road.folder / "rows.npz", X=X, y=y)
    table.to_csv(road.folder / "table.csv", index_label="class")
    return truth[y == ""]


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_rows_of_ones_own_with_unlabelled_ones(road, ending):
    truth = write_rows(road, ending)
    words = "run", f"rows.{ending}", "--classes", "table.csv", "--out", "made"
    road.unseen(*words)
    assert road.walked == {"unseen review made/labels.csv"}
    found = road.labels("made/labels.csv")
    assert len(found) == len(truth)
    assert (found["label"].to_numpy(str) == truth).mean() > 0.8
    assert (road.folder / "made" / "report.html").exists()


def test_a_saved_model_labels_more_rows(road):
    write_rows(road, "csv")
    road.unseen("run", "rows.csv", "--classes", "table.csv", "--save", "m.unseen")
    X, *_ = made_rows()
    np.save(road.folder / "new.npy", X[-50:])
    road.unseen("run", "new.npy", "--model", "m.unseen", "--out", "new.csv")
    assert len(road.labels("new.csv")) == 50


def test_rows_as_a_spreadsheet_of_other_places_writes_them(road):
    X, y, truth, table = made_rows()
    called = {name: f"{name} été" for name in table.index} | {"": ""}
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)])
    frame["Art"], frame["Notiz"] = [called[name] for name in y], "schön"
    written = {"index": False, "sep": ";", "decimal": ",", "encoding": "cp1252"}
    frame.to_csv(road.folder / "zeilen.csv", **written)
    table = table.rename(index=called).rename_axis("Art").reset_index()
    table.to_csv(road.folder / "tabelle.csv", **written)
    words = "run", "zeilen.csv", "--classes", "tabelle.csv"
    assert "--column 'Art'" in road.unseen(*words, fails=True)
    road.unseen(*words, "--column", "Art")
    found = road.labels("labels.csv")["label"].to_numpy(str)
    assert (found == [called[name] for name in truth[y == ""]]).mean() > 0.8


def test_missing_features_are_told_with_the_command_that_lists_them(road):
    write_rows(road, "csv")
    frame = pd.read_csv(road.folder / "rows.csv")
    frame.loc[5, "f2"] = np.nan
    frame.to_csv(road.folder / "rows.csv", index=False)
    said = road.unseen("run", "rows.csv", "--classes", "table.csv", fails=True)
    assert "some features are missing" in said
    assert road.walked == {"unseen data check rows.csv --classes table.csv"}


def test_a_mixed_pile(road):
    write_rows(road, "csv")
    road.unseen(
        *("run", "rows.csv", "--classes", "table.csv", "--generalized"),
        *("--out", "mixed"),
    )
    assert set(road.labels("mixed/labels.csv")["label"]) & set("ghi")


def test_photos(road):
    from unseen.photos.bundled import load_photos

    photos = load_photos()
    folder = road.folder / "photos"
    folder.mkdir()
    for i in np.flatnonzero(np.isin(photos.truth, ["cat", "ship", "truck"]))[:90]:
        (folder / photos.paths[i]).write_bytes(photos.jpegs[i])
    names = ("--classes", "cat, ship, truck")
    road.unseen("label", "photos", *names)
    found = road.labels("labels.csv")
    assert len(found) == 90
    assert road.walked == {"unseen review labels.csv"}
    one = folder / found["id"][0]
    road.unseen("label", one, *names, "--out", "one.csv")
    assert len(road.labels("one.csv")) == 1
    road.unseen("export", "labels.csv", "--to", "folders", "--out", "sorted", "--yes")


def test_texts(road):
    from unseen.texts import load_demo_texts

    demo = load_demo_texts()
    with open(road.folder / "tickets.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "text"])
        writer.writerows(zip(demo.ids, demo.texts, strict=True))
    names = ",".join(demo.classes)
    said = road.unseen(
        *("label", "tickets.csv", "--column", "text", "--id", "number"),
        *("--classes", names, "--json"),
    )
    assert json.loads(said[said.index("{") : said.rindex("}") + 1])
    found = road.labels("labels.csv")
    assert (found["label"].to_numpy(str) == demo.truth).mean() > 0.6


@pytest.mark.parametrize(
    "words, said",
    [
        (["run", "nowhere.csv"], "nowhere.csv"),
        (["run", "rows.csv", "--classes", "nothing.csv"], "nothing.csv"),
        (["run", "rows.csv", "--classes", "table.csv", "--method", "best"], "'best'"),
        (["label", "rows.csv", "--classes", "a,b", "--column", "no"], "no"),
        (["run", "rows.csv", "--model", "table.csv"], "table.csv"),
        (["compare", "rows.csv", "--classes", "table.csv", "--methods", "x"], "'x'"),
    ],
)
def test_wrong_options_are_explained_and_nothing_is_written(road, words, said):
    write_rows(road, "csv")
    before = sorted(path.name for path in road.folder.iterdir())
    assert said in road.unseen(*words, fails=True)
    after = {path.name for path in road.folder.iterdir()} - {"cache"}
    assert sorted(after) == before


def test_compare(road):
    write_rows(road, "csv")
    said = road.unseen(
        *("compare", "rows.csv", "--classes", "table.csv", "--methods", "ast,eszsl")
    )
    assert "AST" in said and "ESZSL" in said


def test_python_in_a_notebook(road):
    cells = [
        "from unseen import AnchoredSelfTraining, load_data\n"
        "data = load_data('rows.csv', classes='table.csv')\ndata",
        "model = AnchoredSelfTraining()\n"
        "model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)",
        "model.adapt(data.X_unlabelled)\nmodel.rounds_[-1]",
    ]
    write_rows(road, "csv")
    (road.folder / "walk.py").write_text(
        "import json, nbformat\nfrom nbclient import NotebookClient\n"
        f"cells = [nbformat.v4.new_code_cell(c) for c in {cells!r}]\n"
        "book = nbformat.v4.new_notebook(cells=cells)\n"
        "NotebookClient(book, kernel_name='python3').execute()\n"
        "print(json.dumps([list(c.outputs[-1].data) for c in book.cells]))\n"
    )
    probe = [road.scripts / "python", "-c", "import nbclient, ipykernel"]
    if subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("no notebook kernel here")
    said = road.run("python", "walk.py")
    kinds = json.loads(next(line for line in said.splitlines() if line[:2] == "[["))
    assert all("text/html" in kind for kind in kinds)


def test_dask(road):
    write_rows(road, "npz")
    (road.folder / "walk.py").write_text(
        "import dask.array as da, numpy as np, pandas as pd\n"
        "from unseen import ESZSL\n"
        "if __name__ == '__main__':\n"
        "    from distributed import Client, LocalCluster\n"
        "    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as c:\n"
        "        with Client(c):\n"
        "            held = np.load('rows.npz')\n"
        "            table = pd.read_csv('table.csv', index_col='class')\n"
        "            own = held['y'] != ''\n"
        "            X = da.from_array(held['X'][own], chunks=(50, 8))\n"
        "            model = ESZSL().fit(X, held['y'][own], class_embeddings=table)\n"
        "            plain = ESZSL().fit(held['X'][own], held['y'][own],\n"
        "                                class_embeddings=table)\n"
        "            new = held['X'][~own]\n"
        "            print((model.predict(new) == plain.predict(new)).all())\n"
    )
    assert "True" in road.run("python", "walk.py")
