"""Ten stories by command line only, in an empty environment from the built wheel.

Whatever command a command prints as the next step is run too: advice that fails is a
failure. With an installation that is there: UNSEEN_BIN=.venv/bin pytest -m slow.
"""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow
ADVICE = re.compile(r"^(?:.*?: +)?(unseen (?!review|demo)[a-z].*)$", re.MULTILINE)


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
    quietly = ["--quiet", "--disable-pip-version-check", "--no-input"]
    wanted = f"{wheel}[files,images,scale]"
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
        self.env = {
            **{k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
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
        return self.run("unseen", *words, fails=fails)

    def follow(self, said: str) -> list[str]:
        """Run every command that was printed as the next step."""
        advice = ADVICE.findall(said)
        for line in advice:
            self.unseen(*shlex.split(line)[1:])
        return advice

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
    said = road.unseen("run", f"rows.{ending}", "--classes", "table.csv")
    found = road.labels("unseen-run/labels.csv")
    assert len(found) == len(truth)
    assert (found["label"].to_numpy(str) == truth).mean() > 0.8
    assert (road.folder / "unseen-run" / "report.html").exists()
    road.follow(said)


def test_fit_then_predict_what_fit_says(road):
    write_rows(road, "csv")
    said = road.unseen("fit", "rows.csv", "--classes", "table.csv", "--out", "m.unseen")
    road.follow(said)
    X, *_ = made_rows()
    np.save(road.folder / "new.npy", X[-50:])
    road.unseen("predict", "m.unseen", "new.npy", "--out", "new.csv")
    assert len(road.labels("new.csv")) == 50


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
    said = road.unseen("label", "photos", *names, "--report")
    found = road.labels("labels.csv")
    assert len(found) == 90
    road.follow(said)
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
        *("--classes", names, "--report", "--json"),
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
        (["predict", "table.csv", "rows.csv"], "table.csv"),
        (["score", "rows.csv", "digits"], "rows.csv"),
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
    road.follow(said)


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
