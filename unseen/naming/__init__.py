"""Class names: how they are written down, and what reads them; for photos and texts."""

from unseen.naming.classes import ClassNames, read_classes
from unseen.naming.encoders import (
    TextEncoder,
    register_text_encoder,
    text_encoder,
    text_encoders,
)
from unseen.naming.reading import Reading, read_name, read_names

__all__ = [
    "ClassNames",
    "Reading",
    "TextEncoder",
    "read_classes",
    "read_name",
    "read_names",
    "register_text_encoder",
    "text_encoder",
    "text_encoders",
]
