"""How good labels are, on mixed piles too, and how far stated probabilities hold."""

from unseen.metrics.accuracy import confusion, per_class_accuracy, top_k_accuracy
from unseen.metrics.generalized import (
    ausuc,
    generalized_scores,
    harmonic_mean,
    told_side_scores,
)
from unseen.metrics.trust import (
    expected_calibration_error,
    reliability_curve,
    risk_coverage,
)

__all__ = [
    "ausuc",
    "confusion",
    "expected_calibration_error",
    "generalized_scores",
    "harmonic_mean",
    "per_class_accuracy",
    "reliability_curve",
    "risk_coverage",
    "told_side_scores",
    "top_k_accuracy",
]
