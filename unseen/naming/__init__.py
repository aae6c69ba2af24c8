"""Class names: how they are written down, and what reads them; for photos and texts."""

from unseen.naming.classes import ClassNames, read_classes
from unseen.naming.encoders import (
    TextEncoder,
    register_text_encoder,
    text_encoder,
    text_encoders,
)

__all__ = [
    "ClassNames",
    "TextEncoder",
    "read_classes",
    "register_text_encoder",
    "text_encoder",
    "text_encoders",
]
