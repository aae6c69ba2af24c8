"""From a folder and class names to a label for every photo.

photos → features ─┐
names → prototypes ┴→ adapt to the photos → label, reliability, second choice
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pandas as pd

from unseen._files import check_target
from unseen.labels import label_table
from unseen.naming.classes import ClassNames, read_classes
from unseen.naming.encoders import TextEncoder, text_encoder
from unseen.photos.encode import EncodedFolder, Progress, encode_folder
from unseen.photos.encoders import ImageEncoder, image_encoders
from unseen.photos.precomputed import (
    PrecomputedFolder,
    PrecomputedImageEncoder,
    PrecomputedTexts,
    is_features,
    match_features,
)
from unseen.storage import load

__all__ = ["label_folder", "label_photos"]

TEXT_FOR = {"clip": "clip"}  # whose own text tower is the better default


def label_folder(
    folder: str | os.PathLike[str],
    classes: Any = None,
    *,
    encoder: str | os.PathLike[str] | ImageEncoder = "lite0",
    text: str | os.PathLike[str] | TextEncoder | None = None,
    cache: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    model: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    save: str | os.PathLike[str] | None = None,
    allow_unknown: bool = False,
) -> pd.DataFrame:
    """Label every photo below a folder with one of some class names.

    No photo needs a label: class names become prototypes through the named classes an
    image classifier knows, and these adapt to the photos.

    Parameters
    ----------
    folder : path
    classes : str, path, list, dict or DataFrame
        See :func:`read_classes`.
    encoder : str, path or ImageEncoder, default="lite0"
        A name of :func:`image_encoders`, an encoder, or a ``.npz`` or ``.npy`` file of
        features.
    text : str, path or TextEncoder, optional
        A name of :func:`text_encoders`, an encoder, or a ``.npy`` file of class
        vectors in the space of the features; by default ``"wordllama"``, and CLIP's
        own for CLIP.
    cache : path, optional
        Folder for features; by default in the user's cache folder.
    workers : int, optional
        Processes that decode, 0 for none; by default one per processor, at most 8.
    progress : callable, optional
        Called with the number of files done and in all.
    model : path, optional
        A model saved before, instead of ``classes``: photos get its answers as it is,
        nothing is adapted. Its image encoder is used.
    report : path, optional
        Write a gallery of the photos by class there.
    save : path, optional
        Save the adapted model there; ``unseen.load`` reads it, and its ``predict``
        labels features of new photos.
    allow_unknown : bool, default=False
        Take names that are no English noun, too, by their letters alone.

    Returns
    -------
    DataFrame
        ``id`` (path below the folder, in order), ``label``, ``reliability`` (0 to 1),
        ``second`` (choice, "" if there is none), ``first_trusted`` (round, 0 for
        never), ``answer`` ("adapted", "names only" or "saved model");
        :func:`unseen.labels.write_labels` writes it as CSV. Of ``frame.attrs``,
        ``skipped`` lists ``(path, reason)`` of all other files, ``message`` says
        whether the answer was adapted and if not why, ``weak_names`` why it is not to
        be trusted, ``readings`` how each name was read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from sklearn.datasets import load_sample_images
    >>> from unseen.photos import label_folder
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for i, pixels in enumerate(load_sample_images().images):
    ...         Image.fromarray(pixels).save(Path(name) / f"{i}.png")
    ...     frame = label_folder(name, "palace, flower", cache=Path(name) / ".cache")
    >>> frame["label"].tolist()
    ['palace', 'flower']
    """
    for target in (report, save):
        if target is not None:
            check_target(target, reading=[folder])  # now, not after the work
    options = {"cache": cache, "workers": workers, "progress": progress}
    if model is None:
        if classes is None:
            raise ValueError("Neither classes nor a model are given. Name the classes.")
        named = read_classes(classes)
        photos = see_folder(folder, encoder, **options)
        fitted = fit_names(named, photos.encoder, text, allow_unknown)
        frame = label_photos(fitted, photos)
    else:
        if classes is not None:
            raise ValueError("A model knows its classes. Give classes or a model.")
        from unseen.photos.named import NamedPhotos

        fitted = load(model)
        if not isinstance(fitted, NamedPhotos):
            raise ValueError(
                f"{model}: is a {type(fitted).__name__}, which labels rows, "
                "not photos. Give a model that unseen label saved."
            )
        if not is_features(encoder):
            encoder = fitted.image_encoder
        photos = see_folder(folder, encoder, **options)
        frame = predict_photos(fitted, photos)
    if save is not None:
        fitted.save(save)
    if report is not None:
        from unseen.report.gallery import write_gallery

        title = f"{photos.folder.resolve().name}: {len(fitted.classes_)} classes"
        about = " ".join(
            filter(None, [frame.attrs["message"], frame.attrs.get("weak_names", "")])
        )
        write_gallery(
            frame, report, thumbnails=photos.thumbnail, title=title, about=about
        )
    return frame


def see_folder(
    folder: str | os.PathLike[str], encoder: Any, **options: Any
) -> EncodedFolder | PrecomputedFolder:
    """Return the photos of a folder with their features; complain if there is none."""
    photos: EncodedFolder | PrecomputedFolder
    if is_features(encoder):
        photos = match_features(folder, encoder)
    else:
        photos = encode_folder(folder, encoder=encoder, **options)
    if not len(photos):
        raise ValueError(f"{photos.folder}: {_why_none(photos)}")
    return photos


def _why_none(photos: Any) -> str:
    if not photos.skipped:
        return "there is no file in this folder."
    path, reason = photos.skipped[0]
    return (
        f"there is no photo among its {len(photos.skipped)} files or folders; "
        f"{path}: {reason}."
    )


def fit_names(
    named: ClassNames, encoder: Any, text: Any, allow_unknown: bool = False
) -> Any:
    """Turn class names into prototypes for the features of an image encoder."""
    from unseen.photos.named import NamedPhotos

    if isinstance(encoder, str) and encoder not in image_encoders():
        encoder = PrecomputedImageEncoder(encoder)
    name = getattr(encoder, "name", encoder)
    descriptions: dict[str, str] | None = named.descriptions or None
    if text is None:
        text = TEXT_FOR.get(name, "wordllama")
    if is_features(text):
        vectors = np.load(text, allow_pickle=False)
        text, descriptions = PrecomputedTexts(named.names, vectors, space=name), None
    elif isinstance(text, str):
        text = text_encoder(text)
    _warn_of_scripts(named, text.name)
    model = NamedPhotos(image_encoder=encoder, text_encoder=text)
    return model.fit(
        named.names, descriptions=descriptions, allow_unknown=allow_unknown
    )


def _warn_of_scripts(named: ClassNames, reader: str) -> None:
    """Say which names are in no script that English is written in."""
    strange = [
        name
        for name in named.names
        if name not in named.descriptions
        and any(char.isalpha() for char in name)
        and not any(char.isascii() and char.isalpha() for char in name)
    ]
    if strange and reader != PrecomputedTexts.name:
        warnings.warn(
            f"{reader} reads English, and {', '.join(strange[:3])} is not. Describe "
            f"such a class in English: '{strange[0]}: ...'.",
            stacklevel=4,
        )


def label_photos(model: Any, photos: Any) -> pd.DataFrame:
    """Adapt a model to photos and return its answer as a table."""
    model.adapt(photos.features())
    table = _as_table(
        photos,
        model.labels_,
        reliability=model.reliability_,
        second=model.second_,
        first_trusted=model.first_trusted_,
        answer=["adapted" if model.adapted_ else "names only"] * len(photos),
    )
    readings = zip(model.classes_, model.trust_, model.read_as_, strict=True)
    table.attrs |= {
        "adapted": bool(model.adapted_),
        "message": model.message_,
        "weak_names": model.weak_names_,
        "readings": list(readings),
    }
    return table


def predict_photos(model: Any, photos: Any) -> pd.DataFrame:
    """Return the answer of a model as it is, as a table."""
    chances = model.predict_proba(photos.features())
    order = np.argsort(-chances, axis=1, kind="stable")
    second = model.classes_[order[:, 1]] if chances.shape[1] > 1 else None
    labels = model.classes_[order[:, 0]]
    table = _as_table(
        photos,
        labels,
        reliability=chances.max(axis=1),
        second=second,
        answer=["saved model"] * len(photos),
    )
    table.attrs["message"] = "Labelled by the saved model as it is, not adapted."
    return table


def _as_table(photos: Any, labels: np.ndarray, **columns: Any) -> pd.DataFrame:
    table = label_table(labels, ids=photos.paths, **columns)
    table.attrs["skipped"] = [tuple(entry) for entry in photos.skipped]
    return table
