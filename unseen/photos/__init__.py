"""Photos: image encoders, features, and labels by class names alone."""

from unseen.photos.doubt import WeakNamesWarning
from unseen.photos.encode import EncodedFolder, encode_folder, write_features
from unseen.photos.encoders import (
    ImageEncoder,
    image_encoder,
    image_encoders,
    register_image_encoder,
)
from unseen.photos.label import label_folder
from unseen.photos.named import NamedPhotos

__all__ = [
    "EncodedFolder",
    "ImageEncoder",
    "NamedPhotos",
    "WeakNamesWarning",
    "encode_folder",
    "image_encoder",
    "image_encoders",
    "label_folder",
    "register_image_encoder",
    "write_features",
]
