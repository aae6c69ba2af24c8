"""Command lines in README, guide and help are those of the commands."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from unseen.cli import app
from unseen.experiments.plan import plan_names

ROOT = Path(__file__).parents[1]
UNSEEN = typer.main.get_command(app)
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


def of_help(command):
    """Yield the command lines in the examples of a command and of those below it."""
    for line in (command.epilog or "").splitlines():
        if re.match(r"  (cat .*\| )?unseen ", line):
            yield line.strip()
    for inner in getattr(command, "commands", {}).values():
        yield from of_help(inner)


def printed():
    """Return every command line that is printed anywhere, in order, once."""
    lines = [
        line
        for page in PAGES
        if page.name not in MADE
        for line in of_page(page.read_text("utf-8"))
    ]
    lines += of_help(UNSEEN)
    return list(dict.fromkeys(" ".join(line.split()) for line in lines))


def words_of(line):
    """Return what follows ``unseen``: no pipe, no comment, nothing redirected."""
    line = line.rsplit("| ", 1)[-1]
    words = shlex.split(line, comments=True)
    return words[1 : words.index(">") if ">" in words else None]


def parsed(words):
    """Return the context of the command that these words name, all options checked."""
    command, name = UNSEEN, "unseen"
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


def test_their_options_are_those_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text("id,label\n0,a\n")
    for folder in ("my_sets", "benchmarks/xlsa17/xlsa17/data", "unseen-results"):
        Path(folder).mkdir(parents=True)
    Path("benchmarks/xlsa17/data").mkdir()
    lines = printed()
    assert len(lines) > 50
    for line in lines:
        words = [w.replace("../shared/data", "my_sets") for w in words_of(line)]
        if line in MENTIONED:
            with pytest.raises(Exception, match=r"Missing param|requires an argument"):
                parsed(words)
            continue
        with parsed(words) as context:
            plans = context.params.get("plan") or []
        for plan in plans:
            assert plan == "all" or plan in plan_names() or plan.endswith(".toml"), line
