"""Show results as one self-contained HTML page."""

from typing import TYPE_CHECKING

from unseen._lazy import lazy

if TYPE_CHECKING:
    from unseen.report.experiment import write_experiment_report
    from unseen.report.labels import write_labels_report

__all__ = ["write_experiment_report", "write_labels_report"]

__getattr__ = lazy(
    __name__,
    {"experiment": "write_experiment_report", "labels": "write_labels_report"},
)
