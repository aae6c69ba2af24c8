"""Words for messages: values as they are, but never longer than a line."""

from typing import Any

__all__ = ["shown"]


def shown(value: Any, most: int = 60) -> str:
    """Return how a value is written, cut if it is long.

    Examples
    --------
    >>> from unseen._words import shown
    >>> shown("okapi"), shown("a" * 100, most=5)
    ("'okapi'", "'aaaa...")
    """
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."
