"""Numbers in README and documentation are those of stored results, by no other hand."""

import importlib.util
from pathlib import Path

import pytest

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


def test_every_table_is_what_its_results_say(tables):
    marked = 0
    for page in tables.pages():
        text = page.read_text("utf-8")
        marked += len(tables.plans_of(page))
        assert tables.fill(text) == text, f"{page}: run python docs/fill_tables.py"
    assert marked >= 6


def test_every_stored_file_is_shown_and_holds_what_its_plan_names(tables):
    shown = {plan for page in tables.pages() for plan in tables.plans_of(page)}
    stored = {path.name.split(".")[0]: path for path in tables.STORED.iterdir()}
    assert set(stored) <= shown
    for name, path in stored.items():
        results = tables.read_stored(path)
        plan = tables.find_plan(name)
        # What is counted of a data set has no method.
        assert set(results.method) - {""} <= {row.method for row in plan.rows}
        assert set(results.task) <= {plan.task, "statistics"}
        assert len(tables.needed(plan, results)) == len(results)


def test_costs_are_those_measured_last():
    last = a_module(ROOT / "benchmarks" / "last.py")
    text = last.PAGE.read_text("utf-8")
    assert last.filled(text) == text, "run python benchmarks/ratios.py --docs"
