"""The documentation keeps its word: its code runs, and every public name is in it."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import unseen
from unseen.transduction.anchored_rounds import WeakStartWarning

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [
    page
    for page in sorted((ROOT / "docs").glob("**/*.md"))
    if ">>>" in page.read_text("utf-8") and "_build" not in page.parts
]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)


@pytest.mark.parametrize("name", unseen.__all__)
def test_every_public_name_is_in_the_api_reference(name):
    reference = (ROOT / "docs" / "api" / "index.rst").read_text("utf-8").split()
    assert f"unseen.{name}" in reference


def test_the_api_reference_names_what_rooms_offer():
    """Each is importable, and from the room itself where that one offers it."""
    reference = (ROOT / "docs" / "api" / "index.rst").read_text("utf-8")
    listed = re.findall(r"^   (unseen[\w.]*)\.(\w+)$", reference, re.MULTILINE)
    assert len(listed) == len(set(listed)) > 100
    for place, name in listed:
        assert hasattr(import_module(place), name), f"{place}.{name}"
        room = import_module(".".join(place.split(".")[:2]))
        deep = place.count(".") > 1
        assert not (deep and name in getattr(room, "__all__", [])), f"{place}.{name}"


@pytest.mark.filterwarnings(
    "ignore::unseen.transduction.anchored_rounds.WeakStartWarning"
)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_as_shown(page):
    # The closing fence of a block is no part of its last answer.
    text = page.read_text("utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def test_the_python_of_the_readme_runs(capsys):
    blocks = python_blocks(README)
    assert blocks, "README shows no Python"
    with pytest.warns(WeakStartWarning):  # as README says
        for block in blocks:
            exec(compile(block, "README.md", "exec"), {})
    promised = re.findall(r"^print\(.*# (.*)$", "\n".join(blocks), re.M)
    assert promised, "README says nothing of what it prints"
    assert capsys.readouterr().out.split() == promised


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_the_readme_shows_both_commands(command):
    text = README.read_text("utf-8")
    assert re.search(rf"^(\$ )?{command}\b", text, re.M)


def test_the_files_the_readme_links_to_exist():
    links = re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", README.read_text("utf-8"))
    local = [a or b for a, b in links if "://" not in (a or b)]
    assert local
    missing = [link for link in local if not (ROOT / link).exists()]
    assert not missing


def test_the_same_picture_is_described_by_the_same_numbers():
    told = [
        re.search(pattern, (ROOT / page).read_text("utf-8"))[1]
        for page, pattern in {
            "README.md": r"!\[([^\]]*)\]\(docs/_static/before_after\.png\)",
            "docs/index.md": r"_static/before_after\.png\n:alt: (.*)",
        }.items()
    ]
    numbers = [set(re.findall(r"[\d.]+ %", text)) for text in told]
    assert numbers[0] == numbers[1] and len(numbers[0]) == 2
    assert all("photos" in text for text in told)


PRIVATE_WORDS = (
    "held to prototypes by",
    "never PyTorch",
    "tells nothing apart",
    "Decides every draw",
    "several fuse",
    "looked through",
    "as far as is due",
    "so-manieth",
)


@pytest.mark.parametrize("phrase", PRIVATE_WORDS)
def test_nobody_has_to_guess_what_is_meant(phrase):
    """Phrases that readers stumbled over stay away from all that users read."""
    told = [README, *ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/*.md")]
    told += [*ROOT.glob("unseen/cli/*.py"), *ROOT.glob("unseen/report/templates/*")]
    told += ROOT.glob("examples/*.py")
    assert len(told) > 50
    assert [
        p.name for p in told if phrase in " ".join(p.read_text("utf-8").split())
    ] == []


def test_every_page_leads_to_the_glossary():
    """By its footer; the pages of the guide in their text, too."""
    conf = (ROOT / "docs" / "conf.py").read_text("utf-8")
    footer = ROOT / "docs" / "_templates" / "glossary-link.html"
    assert '"footer_end": ["glossary-link"]' in conf
    assert "pathto('glossary')" in footer.read_text("utf-8")
    first = [README, *ROOT.glob("docs/guide/*.md"), *ROOT.glob("docs/*.md")]
    others = {"changelog", "glossary", "command_line"}
    lacking = {p.stem for p in first if "glossary.md" not in p.read_text("utf-8")}
    assert lacking <= others


def test_the_speeds_of_the_readme_are_those_last_measured(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    last = import_module("last")
    page = README.read_text("utf-8")
    assert last.filled(page) == page, "python benchmarks/ratios.py --readme"
    assert len(last.read()) >= 4 and page.count(last.BEGIN) == 1
