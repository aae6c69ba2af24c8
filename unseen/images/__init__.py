"""Photos and class names: image and text encoders, and what is done with them."""

from unseen.images.classes import ClassNames, read_classes
from unseen.images.encode import EncodedFolder, encode_folder, write_features
from unseen.images.encoder import (
    ImageEncoder,
    TextEncoder,
    image_encoder,
    image_encoders,
    register_image_encoder,
    register_text_encoder,
    text_encoder,
    text_encoders,
)
from unseen.images.label import label_folder, write_labels
from unseen.images.naming import NamedPhotos

__all__ = [
    "ClassNames",
    "EncodedFolder",
    "ImageEncoder",
    "NamedPhotos",
    "TextEncoder",
    "encode_folder",
    "image_encoder",
    "image_encoders",
    "label_folder",
    "read_classes",
    "register_image_encoder",
    "register_text_encoder",
    "text_encoder",
    "text_encoders",
    "write_features",
    "write_labels",
]
