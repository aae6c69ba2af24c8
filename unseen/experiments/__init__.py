"""Run methods on data sets, under a protocol that never shows them a test label."""

from unseen.experiments.demo import run_demo
from unseen.experiments.filling import make_table
from unseen.experiments.plan import Plan, plan_names, read_plan
from unseen.experiments.results import read_results
from unseen.experiments.runner import run_plans
from unseen.experiments.tables import Table
from unseen.methods import register

__all__ = [
    "Plan",
    "Table",
    "make_table",
    "plan_names",
    "read_plan",
    "read_results",
    "register",
    "run_demo",
    "run_plans",
]
