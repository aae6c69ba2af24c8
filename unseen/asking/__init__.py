"""What to ask a person, and what the answers say: suggestions, checks, accuracy."""

from unseen.asking.accuracy import AccuracyEstimate, draw_check, estimate_accuracy
from unseen.asking.suggest import suggest

__all__ = ["AccuracyEstimate", "draw_check", "estimate_accuracy", "suggest"]
