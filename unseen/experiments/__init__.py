"""Run methods on data sets, under a protocol that never shows them a test label."""

from unseen.experiments.demo import run_demo

__all__ = ["run_demo"]
