"""Run methods on data sets, under a protocol that never shows them a test label."""

from unseen.experiments.demo import run_demo
from unseen.experiments.plan import Plan, plan_names, read_plan
from unseen.experiments.run import read_results, run_plans
from unseen.experiments.tables import Table, make_table
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
