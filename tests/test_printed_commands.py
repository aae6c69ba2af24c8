"""Every command line in README, guide and help is one that works.

All of them are parsed by the commands themselves. Those that need nothing but files
that can be made here are run, in the order in which they are printed.
"""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from unseen import ZeroShotData, save_data
from unseen.cli import app
from unseen.experiments.plan import plan_names

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted((ROOT / "docs" / "guide").glob("*.md"))
MADE = {"command_line.md"}  # from the help, which is read below
pytestmark = pytest.mark.skipif(not PAGES[0].exists(), reason="no documentation here")


def of_page(text):
    """Yield the command lines of a page: after a prompt, or as code in a line."""
    text = text.replace("\\\n", " ")
    for block in re.findall(r"^```(?:console|bash|sh)\n(.*?)^```", text, re.S | re.M):
        yield from re.findall(r"^(?:\$ )?((?:cat .*\| )?unseen .*)$", block, re.M)
    for line in re.findall(r"`(unseen [a-z]+ [^`]+)`", text):
        if "…" not in line:
            yield line


def of_help(command, path="unseen"):
    """Yield the command lines in the examples of a command and of those below it."""
    for line in (command.epilog or "").splitlines():
        if re.match(r"  (cat .*\| )?unseen ", line):
            yield line.strip()
    for name, inner in getattr(command, "commands", {}).items():
        yield from of_help(inner, f"{path} {name}")


def printed():
    """Return every command line that is printed anywhere, in order, once."""
    lines = [
        line
        for page in PAGES
        if page.name not in MADE
        for line in of_page(page.read_text("utf-8"))
    ]
    lines += of_help(typer.main.get_command(app))
    return list(dict.fromkeys(" ".join(line.split()) for line in lines))


def words_of(line):
    """Return what follows ``unseen``: no pipe, no comment, nothing redirected."""
    line = line.rsplit("| ", 1)[-1]
    words = shlex.split(line, comments=True)
    return words[1 : words.index(">") if ">" in words else None]


def parsed(words):
    """Return the context of the command that these words name, all options checked."""
    command, name = typer.main.get_command(app), "unseen"
    while hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
    return command.make_context(name, list(words))


# Named in a sentence, not to be typed as it stands.
MENTIONED = {
    "unseen data fetch",
    "unseen label --given",
    "unseen run --generalized",
}


@pytest.mark.parametrize("line", printed())
def test_its_options_are_those_of_the_command(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = words_of(line)
    Path("labels.csv").write_text("id,label\n0,a\n")
    for folder in ("my_sets", "benchmarks/xlsa17/xlsa17/data", "unseen-results"):
        Path(folder).mkdir(parents=True)
    Path("benchmarks/xlsa17/data").mkdir()
    words = [word.replace("../shared/data", "my_sets") for word in words]
    if line in MENTIONED:
        with pytest.raises(Exception, match=r"Missing parameter|requires an argument"):
            parsed(words)
        return
    with parsed(words) as context:
        plans = context.params.get("plan") or []
    for plan in plans:
        assert plan == "all" or plan in plan_names() or plan.endswith(".toml")


# What cannot be run here, by its beginning, and why.
ELSEWHERE = {
    "unseen review": "serves until it is stopped; tests/review starts it",
    "unseen demo": "tests/test_cli.py runs it",
    "unseen reproduce": "hours, or data that is not in the package; see its own tests",
    "unseen compare": "minutes; tests/test_roads.py runs it",
    "unseen data fetch": "would use the network",
    "unseen label tickets.csv --classes topics.txt --encoder": "encoders of others",
    "unseen label photos/ --classes names.txt --encoder": "features of others",
    "unseen encode photos/ --out features.npy --encoder lite2": "weights not bundled",
}


def is_elsewhere(line):
    foreign = "xlsa17" in line or "cub" in line
    return foreign or line in MENTIONED or any(map(line.startswith, ELSEWHERE))


def write_workspace():
    """Write the files that the lines name: photos, texts, rows and their classes."""
    from unseen.texts import load_demo_texts

    write_photos()
    demo = load_demo_texts()
    texts = pd.DataFrame({"number": demo.ids, "text": demo.texts})
    texts.to_csv("tickets.csv", index=False)
    texts.head().to_csv("some_tickets.csv", index=False)
    Path("headlines.txt").write_text("\n".join(demo.texts[:40]))
    Path("topics.txt").write_text("\n".join(demo.classes))
    Path("classes.txt").write_text("cat\ndog\nship\n")
    write_rows()


def write_photos():
    """Write photos, again where a line has moved them away."""
    from unseen.photos.bundled import load_photos

    photos = load_photos()
    for folder, some in {"photos": slice(0, 12), "new": slice(12, 16)}.items():
        Path(folder).mkdir(exist_ok=True)
        for name in ("cat", "dog", "ship"):
            for i in np.flatnonzero(photos.truth == name)[some]:
                (Path(folder) / photos.paths[i]).write_bytes(photos.jpegs[i])


def write_rows():
    """Write one set of rows as every kind of file that a line names."""
    rng = np.random.default_rng(0)
    names, unseen = np.array(list("abcdefghijkl")), list("abcd")
    table = pd.DataFrame(rng.uniform(size=(12, 5)).round(4), names).add_prefix("a")
    y = np.repeat(names, 12)
    X = table.loc[y].to_numpy() @ rng.normal(size=(5, 8))
    X = (X + 0.1 * rng.normal(size=X.shape)).round(4)
    apart = (np.arange(len(y)) % 4 == 0) & ~np.isin(y, unseen)
    save_data(ZeroShotData("birds", X, y, table, unseen, seen_test=apart), "birds.npz")
    frame = pd.DataFrame(X).add_prefix("f")
    frame["label"] = np.where(np.isin(y, unseen), "", y)
    frame.to_csv("my_birds.csv", index=False)
    frame["ring"] = [f"r{i}" for i in range(len(frame))]
    frame.to_csv("birds.csv", index=False)
    frame.to_csv("more_birds.csv", index=False)
    survey = frame.rename(columns={"label": "species"}).assign(place="a pond")
    survey.to_csv("survey.csv", index=False)
    table.to_csv("attributes.csv", index_label="class")
    home = Path("my_birds")
    home.mkdir()
    np.save(home / "features.npy", X)
    pd.Series(y, name="label").to_csv(home / "labels.csv", index=False)
    table.insert(0, "split", np.where(np.isin(names, unseen), "unseen", "seen"))
    table.to_csv(home / "classes.csv", index_label="class")


PHOTOS = 'unseen label photos/ --classes "cat, dog, ship"'
# What a page takes for granted: the files that a line reads are what these write.
FIRST = {
    "unseen label new.csv --model tickets.unseen": [
        "unseen label tickets.csv --column text --classes topics.txt "
        "--save tickets.unseen --out tickets-labels.csv"
    ],
    "unseen export": [PHOTOS],
}


def copy_labels(line):
    """Write the tables that a person would have corrected or known."""
    if "labels.review" in line:
        Path("labels.review").mkdir(exist_ok=True)
        for name in ("reviewed.csv", "corrections.csv"):
            shutil.copy("labels.csv", Path("labels.review") / name)
    if "label new.csv" in line:
        shutil.copy("some_tickets.csv", "new.csv")
    shutil.rmtree("sorted", ignore_errors=True)
    shutil.rmtree("unseen-export", ignore_errors=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_what_can_be_run_here_runs(tmp_path, monkeypatch):
    """In the order of printing; what a line writes, a later one may read."""
    monkeypatch.chdir(tmp_path)
    write_workspace()
    failed, runner = [], CliRunner()

    def run(line, stdin=None):
        words = words_of(line)
        if words[0] not in ("data", "export", "review"):
            words.append("--force")
        ended = runner.invoke(app, words, input=stdin)
        if ended.exit_code:
            failed.append(f"{line}\n{ended.output}\n{ended.exception!r}")

    for line in printed():
        if is_elsewhere(line):
            continue
        for begin, before in FIRST.items():
            if line.startswith(begin):
                write_photos()
                for one in before:
                    run(one)
        copy_labels(line)
        piped = Path("headlines.txt").read_text() if line.startswith("cat ") else None
        run(line, piped)
    assert not failed, "\n\n".join(failed)
