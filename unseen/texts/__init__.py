"""Texts: readers, encoders, and labels by class names alone."""

from typing import TYPE_CHECKING

from unseen._lazy import lazy

if TYPE_CHECKING:
    from unseen.texts.bundled import DemoTexts, load_demo_texts
    from unseen.texts.label import TextJob, label_texts
    from unseen.texts.named import NamedTexts
    from unseen.texts.source import TextSource, read_texts

__all__ = [
    "DemoTexts",
    "NamedTexts",
    "TextJob",
    "TextSource",
    "label_texts",
    "load_demo_texts",
    "read_texts",
]

__getattr__ = lazy(
    __name__,
    {
        "bundled": "DemoTexts load_demo_texts",
        "label": "TextJob label_texts",
        "named": "NamedTexts",
        "source": "TextSource read_texts",
    },
)
