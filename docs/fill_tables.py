"""Write the results into README and documentation, so that nobody types a number.

    python docs/fill_tables.py                       # from what docs/results holds
    python docs/fill_tables.py unseen-results        # first take over new results
    python docs/fill_tables.py --check               # change nothing; 1 if stale

A table stands between two comments. What is between them is made from
``docs/results/PLAN.csv`` (``.gz`` where it is long) and replaced as a whole:

    <!-- results: begin plan=race rows=tstd,ast -->
    <!-- results: end -->

``rows`` chooses methods, all by default; their answer a row at a time is
``ast@by-row``. ``columns=1,3`` chooses columns by their place, ``caption=no`` omits the
caption.

``docs/results/PLAN.csv`` are those lines of a ``results.csv``, by ``unseen reproduce``
or a study of the folder ``studies``, that the table needs. Figures,
``_static/figures/PLAN.svg``, are drawn from the same results by ``docs/conf.py``.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd

from unseen.experiments import make_table, plan_names, read_plan, read_results
from unseen.experiments.plan import Plan, Row
from unseen.experiments.run import COLUMNS
from unseen.experiments.tables import in_column
from unseen.report.figures import draw_plan
from unseen.report.page import as_files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "studies"))
import laboratory  # noqa: E402, it is no package

STUDIES = laboratory.studies()
STORED = ROOT / "docs" / "results"
MARKED = re.compile(
    r"(<!-- results: begin (?P<options>[^>]*?) -->\n).*?(<!-- results: end -->)",
    re.DOTALL,
)
DRAWN = re.compile(r"\(_static/figures/(\w+)\.svg\)")
LONG = 200_000  # bytes
UNTOLD = ("recall", "given", "warning", "chosen")  # not in any table


def pages() -> list[Path]:
    """Return every page that may hold a table."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def take_over(results: Path) -> list[Path]:
    """Store what new results say of every plan that a page shows."""
    found = read_results(results)
    written = []
    shown = {plan for page in pages() for plan in plans_of(page)}
    for name in sorted(shown):
        plan = find_plan(name)
        new = needed(plan, found)
        if new.empty:
            continue
        path = stored_file(plan)
        if path.exists():  # runs that are not in the new results stay
            old = needed(plan, read_stored(path))
            keys = list(old.columns[:5])
            known = old.set_index(keys).index.isin(new.set_index(keys).index)
            new = pd.concat([old[~known], new]).sort_values(keys, kind="stable")
        STORED.mkdir(exist_ok=True)
        text = new.to_csv(index=False, float_format="%.5g").encode()
        path.unlink(missing_ok=True)
        path = STORED / f"{name}.csv{'.gz' if len(text) > LONG else ''}"
        path.write_bytes(gzip.compress(text, mtime=0) if len(text) > LONG else text)
        written.append(path)
    return written


def read_stored(path: Path) -> pd.DataFrame:
    """Read stored results, compressed or not."""
    if path.suffix != ".gz":
        return read_results(path)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "results.csv"
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        return read_results(plain)


def stored_file(plan: Plan) -> Path:
    """Return where the results of a plan are, or would be."""
    found = sorted(STORED.glob(f"{plan.name}.csv*"))
    return found[0] if found else STORED / f"{plan.name}.csv"


def needed(plan: Plan, results: pd.DataFrame) -> pd.DataFrame:
    """Return the lines that a plan's table is made from, without words and times."""
    tasks = [plan.task, "statistics"]  # which say what was loaded
    mine = results[results.task.isin(tasks) & ~results.measure.isin(UNTOLD)]
    methods = ["", *(row.method for row in plan.rows)]
    mine = mine[mine.method.isin(methods)]
    here = [in_column(mine, column) for column in plan.columns]
    here.append(mine["data"] == "made-up")
    mine = mine[pd.concat(here, axis=1).any(axis=1)]
    if plan.show in ("plain table", "table"):
        mine = mine[(mine.measure != "accuracy") | (mine["round"] == 0)]
    words = mine["note"].where(mine.measure.isin(["failed", "loaded"]), "")
    timed = mine["seconds"] if plan.task == "complexity" else None  # what is drawn
    return mine.assign(note=words, seconds=timed).sort_values(
        list(mine.columns[:5]), kind="stable"
    )


def draw_figures(folder: Path) -> None:
    """Draw every figure that pages show, for the pages and for print."""
    names = {
        name for page in pages() for name in DRAWN.findall(page.read_text("utf-8"))
    }
    for name in sorted(names):
        plan = find_plan(name)
        path = stored_file(plan)
        nothing = pd.DataFrame(columns=list(COLUMNS))
        figure = draw_plan(plan, read_stored(path) if path.exists() else nothing)
        if figure is not None:
            folder.mkdir(parents=True, exist_ok=True)
            forms = zip(("svg", "pdf", "png"), as_files(figure, name), strict=True)
            for kind, content in forms:
                (folder / f"{name}.{kind}").write_bytes(content)


def plans_of(page: Path) -> list[str]:
    """Return the plans whose tables a page holds."""
    text = page.read_text("utf-8")
    tables = [options(match)["plan"] for match in MARKED.finditer(text)]
    return [*tables, *DRAWN.findall(text)]


def options(match: re.Match) -> dict[str, str]:
    """Read ``plan=race rows=tstd,ast``."""
    words = match["options"].split()
    return dict(word.split("=", 1) for word in words)


def fill(text: str) -> str:
    """Return a page with every table as the stored results have it."""
    return MARKED.sub(lambda match: match[1] + between(options(match)) + match[3], text)


def between(wanted: dict[str, str]) -> str:
    """Return the command and the table that stand between two comments."""
    plan = find_plan(wanted["plan"])
    if "rows" in wanted:
        names = wanted["rows"].split(",")
        named = {name_of(row): row for row in plan.rows}
        plan = replace(plan, rows=tuple(named[name] for name in names))
    if "columns" in wanted:
        places = [int(place) - 1 for place in wanted["columns"].split(",")]
        plan = replace(
            plan,
            columns=tuple(plan.columns[place] for place in places),
            rows=tuple(
                replace(row, paper=tuple(row.paper[place] for place in places))
                for row in plan.rows
            ),
        )
    path = stored_file(plan)
    nothing = pd.DataFrame(columns=list(COLUMNS))
    results = read_stored(path) if path.exists() else nothing
    table = make_table(plan, results).to_markdown()
    if wanted.get("caption") == "no":
        table = table.split("\n\n", 1)[1]
    study = STUDIES.get(plan.name)
    command = f"python studies/{study}.py" if study else "unseen reproduce"
    return (
        f"```console\n$ {command} {plan.name} --data ../shared/data\n```\n\n{table}\n"
    )


def find_plan(name: str) -> Plan:
    """Read a plan of the package or of a study."""
    return read_plan(name) if name in plan_names() else laboratory.study_plan(name)


def name_of(row: Row) -> str:
    """Return what a marker calls a row."""
    answer = row.answer.replace(" ", "-")
    return row.method if answer == "final" else f"{row.method}@{answer}"


def main() -> int:
    """Fill every page, or see whether that would change one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="?", type=Path, help="of unseen reproduce")
    parser.add_argument("--check", action="store_true", help="change nothing")
    given = parser.parse_args()
    if given.results is not None and not given.check:
        for path in take_over(given.results):
            print(f"stored {path.relative_to(ROOT)}")
    stale = 0
    for page in pages():
        text = page.read_text("utf-8")
        filled = fill(text)
        if filled != text:
            stale += 1
            print(f"{'stale' if given.check else 'filled'} {page.relative_to(ROOT)}")
            if not given.check:
                page.write_text(filled, "utf-8")
    return int(given.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
