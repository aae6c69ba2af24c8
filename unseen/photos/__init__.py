"""Photos: features, and labels by class names alone."""

from unseen.photos.doubt import WeakNamesWarning
from unseen.photos.folder import EncodedFolder, encode_folder
from unseen.photos.label import label_folder
from unseen.photos.named import NamedPhotos
from unseen.photos.precomputed import write_features

__all__ = [
    "EncodedFolder",
    "NamedPhotos",
    "WeakNamesWarning",
    "encode_folder",
    "label_folder",
    "write_features",
]
