"""Show results as one self-contained HTML page."""

from unseen.report.demo import write_demo_report

__all__ = ["write_demo_report"]
