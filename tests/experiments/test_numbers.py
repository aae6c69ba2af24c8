"""Numbers in README and documentation are those of stored results, by no other hand."""

import importlib.util
import re
from pathlib import Path

import pytest

from unseen.experiments import make_table

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not (ROOT / "docs" / "fill_tables.py").exists(), reason="no documentation here"
)


def a_module(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tables():
    return a_module(ROOT / "docs" / "fill_tables.py")


@pytest.fixture(scope="module")
def photos(tables):
    """What plan photos says of names read by WordNet, by data set and encoder."""
    results = tables.read_stored(tables.STORED / "photos.csv")
    mine = results[results.method == "guided"]
    return mine.set_index(["measure", "item", "data", "classes"])["value"]


def test_every_table_is_what_its_results_say(tables):
    marked = 0
    for page in tables.pages():
        text = page.read_text("utf-8")
        marked += len(tables.plans_of(page))
        assert tables.fill(text) == text, f"{page}: run python docs/fill_tables.py"
    assert marked >= 6


def test_a_typed_number_is_noticed(tables):
    text = (ROOT / "docs" / "guide" / "results.md").read_text("utf-8")
    cell = re.search(r"\| (\d\d\.\d|—) \|", text)[0]
    assert tables.fill(text.replace(cell, "| 99.9 |", 1)) == text


def test_every_stored_file_is_shown_and_holds_what_its_plan_names(tables):
    shown = {plan for page in tables.pages() for plan in tables.plans_of(page)}
    stored = {path.name.split(".")[0]: path for path in tables.STORED.iterdir()}
    assert set(stored) <= shown
    for name, path in stored.items():
        results = tables.read_stored(path)
        plan = tables.find_plan(name)
        # What is counted of a data set has no method.
        assert set(results.method) - {""} <= {row.method for row in plan.rows}
        assert set(results.task) == {plan.task}
        assert len(tables.needed(plan, results)) == len(results)


def test_results_are_told_in_tables_alone(tables):
    for name in ("docs/guide/results.md", "README.md"):
        text = (ROOT / name).read_text("utf-8")
        if name == "README.md":
            text = text[text.index("## Numbers") : text.index("## Speed")]
        prose = tables.MARKED.sub("", text)
        prose = re.sub(r"`[^`]*`", "", prose)  # settings are no results
        assert not re.findall(r"\d+\.\d", prose), name


def test_costs_are_those_measured_last():
    last = a_module(ROOT / "benchmarks" / "last.py")
    text = (ROOT / "README.md").read_text("utf-8")
    assert last.filled(text) == text, "run python benchmarks/ratios.py --readme"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_picture_shows_what_the_plan_says_of_its_photos(page, photos):
    (line,) = re.findall(
        r".*accuracy of every class.*", (ROOT / page).read_text("utf-8")
    )
    shown = re.findall(r"([\d.]+) %", line)
    demo = photos.loc["accuracy", ["names", "adapted"], "cifar10", "lite0"]
    assert shown == [f"{100 * value:.1f}" for value in demo]


def test_reliability_of_photos_is_as_near_as_the_guide_says(photos):
    text = " ".join((ROOT / "docs" / "guide" / "photos.md").read_text("utf-8").split())
    said = re.search(r"mean reliability of every set is within ([\d.]+) of", text)
    assert said is not None, "the guide no longer says how near"
    off = (photos["reliability"] - photos["right"]).abs()
    assert 0 < off.max() <= float(said[1])


def test_the_nine_intervals_of_ten_other_splits_lie_above_zero(tables):
    plan = tables.find_plan("splits")
    table = make_table(plan, tables.read_stored(tables.stored_file(plan)))
    cells = [cell for _, row in table.rows for cell in row if " to " in cell]
    assert len(cells) == 9
    assert all(float(cell.split(" to ")[0]) > 0 for cell in cells)
