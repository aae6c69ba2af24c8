"""Class names: how they are written down, and what reads them; for photos and texts."""

from unseen.naming.classes import ClassNames, read_classes
from unseen.naming.encoders import Encoder, encoders, find_encoder, register_encoder
from unseen.naming.reading import Reading, read_name, read_names

__all__ = [
    "ClassNames",
    "Encoder",
    "Reading",
    "encoders",
    "find_encoder",
    "read_classes",
    "read_name",
    "read_names",
    "register_encoder",
]
