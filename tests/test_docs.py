"""The documentation keeps its word: its code runs, and every public name is in it."""

import doctest
import re
from importlib import import_module
from pathlib import Path
from shutil import which

import numpy as np
import pytest

import unseen

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
CLIP = ROOT / "../shared/data/clip/whurs19__clip-vitb32.npz"
PAGES = [
    page
    for page in sorted((ROOT / "docs").glob("**/*.md"))
    if ">>>" in page.read_text("utf-8") and "_build" not in page.parts
]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)


def test_the_api_reference_names_what_packages_offer():
    """Each is importable, and from the package itself where that one offers it."""
    reference = (ROOT / "docs" / "api" / "index.rst").read_text("utf-8")
    assert {f"unseen.{name}" for name in unseen.__all__} <= set(reference.split())
    listed = re.findall(r"^   (unseen[\w.]*)\.(\w+)$", reference, re.MULTILINE)
    assert len(listed) == len(set(listed)) > 100
    for place, name in listed:
        assert hasattr(import_module(place), name), f"{place}.{name}"
        package = import_module(".".join(place.split(".")[:2]))
        deep = place.count(".") > 1
        assert not (deep and name in getattr(package, "__all__", [])), place


@pytest.mark.filterwarnings("ignore::unseen.transduction.anchored.WeakStartWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_as_shown(page):
    # The closing fence of a block is no part of its last answer.
    text = page.read_text("utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.skipif(not CLIP.exists(), reason="CLIP features are not here")
def test_the_python_of_the_readme_prints_what_it_says(capsys):
    blocks = python_blocks(README)
    with np.load(CLIP, allow_pickle=False) as stored:
        given = {"image_features": stored["X"], "text_vectors": stored["P"]}
        given["truth"] = stored["y"]
    for block in blocks:
        exec(compile(block, "README.md", "exec"), given)
    promised = re.findall(r"^print\(.*# (.*)$", "\n".join(blocks), re.M)
    assert promised, "README says nothing of what it prints"
    assert capsys.readouterr().out.split() == promised


def test_the_files_the_readme_links_to_exist():
    links = re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", README.read_text("utf-8"))
    local = [a or b for a, b in links if "://" not in (a or b)]
    assert local
    missing = [link for link in local if not (ROOT / link).exists()]
    assert not missing


@pytest.mark.browser
@pytest.mark.skipif(not which("chromium"), reason="chromium is not installed")
def test_the_picture_of_the_readme_shows_what_the_page_does(tmp_path, monkeypatch):
    """Label, answer ten questions, teach: its two shares, within a point."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    picture = import_module("make_picture")
    _, shares = picture.film(tmp_path)
    for page in picture.PAGES:
        text = page.read_text("utf-8")
        for place, share in zip(picture.SHARES, shares, strict=True):
            (said,) = re.findall(place, text)
            assert abs(int(said) - int(share)) <= 1


@pytest.mark.filterwarnings("ignore::unseen.transduction.anchored.WeakStartWarning")
def test_the_first_fit_prints_what_it_says(capsys):
    text = (ROOT / "examples" / "plot_first_fit.py").read_text("utf-8")
    code = text.partition("# What the data are")[0]
    exec(compile(code, "plot_first_fit.py", "exec"), {})
    promised = re.findall(r"^print\(.*  # (.*)$", code, re.M)
    assert len(promised) == 3
    assert capsys.readouterr().out.splitlines() == promised
