"""Zero-shot classification that teaches itself on unlabelled data."""

__version__ = "0.1.0"
