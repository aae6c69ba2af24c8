"""Studies of our own development: plans, tasks and tables that are not in the package.

    python studies/trust.py                       # says which plans it has
    python studies/trust.py open --data ../shared/data --out studies-results

A study is a file of this folder with ``PLANS``, whose TOML files are in ``plans``. It
adds its tasks and tables to those of ``unseen reproduce`` when it is imported, and runs
as that command does: ``results.csv`` is continued, tables and a page are made from it.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from unseen.experiments import Plan, read_plan, read_results, run_plans
from unseen.report import write_experiment_report

HERE = Path(__file__).parent
STUDIES = ("ablation", "few_labels", "left_out_sets", "names", "photos", "race")
STUDIES += ("scenes", "splits", "sure", "texts", "trust")


def studies() -> dict[str, str]:
    """Import every study; return the file that each plan belongs to."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    return {plan: name for name in STUDIES for plan in import_module(name).PLANS}


def study_plan(name: str) -> Plan:
    """Read a plan of this folder."""
    return read_plan(HERE / "plans" / f"{name}.toml")


def main(study: str) -> None:
    """Run the plans of a study that are named on the command line."""
    known = import_module(study).PLANS  # as a module: workers import it by its name
    parser = argparse.ArgumentParser()
    parser.add_argument("plan", nargs="+", choices=known)
    parser.add_argument("--data", action="append", default=[], help="folder of sets")
    parser.add_argument("--out", type=Path, default=Path("studies-results"))
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    plans = [study_plan(name) for name in given.plan]
    results = run_plans(
        plans,
        given.data,
        given.out,
        n_jobs=given.jobs,
        progress=lambda run, _, share: print(f"{share:4.0%}", *run.key),
    )
    page = write_experiment_report(results, plans=plans)[0]
    n_failed = int((read_results(results).measure == "failed").sum())
    print(f"{n_failed} runs failed. Open {page}")
