"""Texts: readers, encoders, and labels by class names alone."""

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
