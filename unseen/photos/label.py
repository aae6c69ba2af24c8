"""From a folder and class names to a label for every photo.

photos → features ─┐
names → prototypes ┴→ adapt to the photos → label, reliability, second choice
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from unseen.files import check_target
from unseen.labels import label_table
from unseen.models.given import NONE_OF_THESE
from unseen.naming.classes import ClassNames, read_classes
from unseen.naming.encoders import Encoder, encoders, find_encoder
from unseen.photos.folder import EncodedFolder, Progress, encode_folder
from unseen.photos.precomputed import (
    PrecomputedImageEncoder,
    PrecomputedTexts,
    is_features,
    match_features,
    read_vectors,
)
from unseen.storage import load_model

__all__ = ["label_folder", "label_photos"]

FOREIGN = 0.965  # novelty of a photo of no class
MISTAKEN = 0.02  # the share of photos of cats and dogs with more
TEXT_FOR = {"clip": "clip"}  # whose own text tower is the better default


def label_folder(
    folder: str | os.PathLike[str],
    classes: Any = None,
    *,
    encoder: str | os.PathLike[str] | Encoder = "lite0",
    text: str | os.PathLike[str] | Encoder | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    model: str | os.PathLike[str] | None = None,
    report: Callable[[pd.DataFrame, Any], Any] | None = None,
    save: str | os.PathLike[str] | None = None,
    allow_unknown: bool = False,
    unknown: bool = False,
    given: Mapping[str, str] | None = None,
    min_reliability: float = 0.0,
) -> pd.DataFrame:
    """Label every photo below a folder with one of some class names.

    No photo needs a label: class names become prototypes through the named classes an
    image classifier knows, and these adapt to the photos.

    Parameters
    ----------
    folder : path
    classes : str, path, list, dict or DataFrame
        See :func:`read_classes`.
    encoder : str, path or Encoder, default="lite0"
        A name of ``unseen.naming.encoders("image")``, an encoder, or a ``.npz`` or
        ``.npy`` file of features.
    text : str, path or Encoder, optional
        A name of ``unseen.naming.encoders("text")``, an encoder, or a ``.npy`` file of
        class vectors in the space of the features; by default ``"wordllama"``, and
        CLIP's own for CLIP.
    cache : path, optional
        Folder for features; by default in the user's cache folder.
    progress : callable, optional
        Called with the number of files done and in all.
    model : path, optional
        A model saved before, instead of ``classes``: photos get its answers as it is,
        nothing is adapted. Its image encoder is used.
    report : callable, optional
        Called with the answer and the photos, which have thumbnails;
        :func:`unseen.report.gallery.gallery_at` makes a page of them.
    save : path, optional
        Save the adapted model there; ``unseen.load_model`` reads it, and its
        ``predict`` labels features of new photos.
    allow_unknown : bool, default=False
        Take names that are no English noun, too, by their letters alone.
    unknown : bool, default=False
        Set photos apart that are like no class, as ``unseen.NONE_OF_THESE``.
    given : mapping of str to str, optional
        Labels of some photos by their ids, which are certain. A name that no class has
        makes a new class; ``unseen.NONE_OF_THESE`` says that no class fits.
    min_reliability : float, default=0
        Photos less reliable than this get no label.

    Returns
    -------
    DataFrame
        ``id`` (path below the folder, in order), ``label``, ``reliability`` (0 to 1),
        ``second`` (choice, "" if there is none), ``first_trusted`` (round, 0 for
        never), ``answer`` ("adapted", "names only" or "saved model"), ``novelty`` (how
        little it is like any class, 0 to 1), ``given`` if labels were given;
        :func:`unseen.labels.write_labels` writes it as CSV. Of ``frame.attrs``,
        ``classes`` lists who competed, ``skipped`` ``(path, reason)`` of all other
        files, ``message`` says whether the answer was adapted and if not why,
        ``weak_names`` why it is not to be trusted, ``readings`` how each name was read.

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
    if save is not None:
        check_target(save, reading=[folder])  # now, not after the work
    if not 0 <= min_reliability <= 1:
        raise ValueError(
            f"min_reliability is {min_reliability}. Give a number from 0 to 1."
        )
    options = {"cache": cache, "progress": progress}
    if model is None:
        if classes is None:
            raise ValueError("Neither classes nor a model are given. Name the classes.")
        named = read_classes(classes)
        if is_features(encoder):
            photos = see_folder(folder, encoder)
            fitted = fit_names(named, photos.encoder, text, allow_unknown)
        else:  # a name that cannot be read is said before hours of encoding
            encoder = find_encoder(encoder, "image")
            fitted = fit_names(named, encoder, text, allow_unknown)
            photos = see_folder(folder, encoder, **options)
        rows = given_rows(given, photos)
        frame = label_photos(fitted, photos, unknown, rows)
    else:
        if classes is not None:
            raise ValueError("A model knows its classes. Give classes or a model.")
        from unseen.photos.named import NamedPhotos

        fitted = load_model(model)
        if not isinstance(fitted, NamedPhotos):
            raise ValueError(
                f"{model}: is a {type(fitted).__name__}, which labels rows, "
                "not photos. Give a model that unseen label saved."
            )
        if not is_features(encoder):
            encoder = fitted.image_encoder
        photos = see_folder(folder, encoder, **options)
        rows = given_rows(given, photos)
        frame = predict_photos(fitted, photos, unknown)
    frame = finished(frame, rows, min_reliability)
    frame.attrs["classes"] = fitted.classes_.tolist()
    if save is not None:
        fitted.save(save)
    if report is not None:
        report(frame, photos)
    return frame


def see_folder(
    folder: str | os.PathLike[str], encoder: Any, **options: Any
) -> EncodedFolder:
    """Return the photos of a folder with their features; complain if there is none."""
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

    name = encoder.name
    if isinstance(encoder, PrecomputedImageEncoder) and name in encoders("image"):
        encoder = find_encoder(name, "image")  # has the head of whatever made them
    descriptions: dict[str, str] | None = named.descriptions or None
    if text is None:
        text = TEXT_FOR.get(name, "wordllama")
    if is_features(text):
        vectors = read_vectors(text)
        text, descriptions = PrecomputedTexts(named.names, vectors, space=name), None
    else:
        text = find_encoder(text)
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


def given_rows(given: Mapping[str, str] | None, photos: Any) -> dict[int, str]:
    """Return given labels by the numbers of photos; say which photo is not there."""
    place = {path: row for row, path in enumerate(photos.paths)}
    given = {os.path.normpath(path): label for path, label in (given or {}).items()}
    lost = [path for path in given or {} if path not in place]
    if lost:
        raise ValueError(
            f"A label is given for {min(lost)!r}, but {photos.folder} has no photo of "
            f"that path ({len(lost)} such labels). Write paths as in the table of "
            "labels, from that folder on."
        )
    return {place[path]: label for path, label in (given or {}).items()}


def finished(
    table: pd.DataFrame, given: Mapping[int, str], min_reliability: float
) -> pd.DataFrame:
    """Return the table without labels that are too doubtful, and with given ones.

    Examples
    --------
    >>> from unseen.labels import label_table
    >>> from unseen.photos.label import finished
    >>> table = label_table(["cat", "dog", "dog"], reliability=[0.9, 0.4, 0.3])
    >>> finished(table, {2: "fox"}, 0.5)[["label", "reliability", "given"]]
      label  reliability given
    0   cat          0.9
    1                0.4
    2   fox          1.0   fox
    """
    table = table.copy()
    table.loc[table["reliability"] < min_reliability, "label"] = ""
    if given:
        rows, labels = list(given), list(given.values())
        same = table["second"].iloc[rows].to_numpy() == np.array(labels)
        table["given"] = pd.Series(given, dtype=object).reindex(table.index).fillna("")
        table.loc[rows, "label"], table.loc[rows, "reliability"] = labels, 1.0
        table.loc[np.array(rows)[same], "second"] = ""
    return table


def label_photos(
    model: Any,
    photos: Any,
    unknown: bool = False,
    given: Mapping[int, str] | None = None,
) -> pd.DataFrame:
    """Adapt a model to photos and return its answer as a table."""
    model.adapt(photos.features(), given=given or None)
    table = _as_table(
        photos,
        model.labels_,
        reliability=model.reliability_,
        second=model.second_,
        first_trusted=model.first_trusted_,
        answer=["adapted" if model.adapted_ else "names only"] * len(photos),
        novelty=model.novelty_,
    )
    readings = zip(model.classes_, model.trust_, model.read_as_, strict=True)
    table.attrs |= {
        "adapted": bool(model.adapted_),
        "message": model.message_,
        "weak_names": model.weak_names_,
        "readings": list(readings),
    }
    return set_apart(table) if unknown else table


def predict_photos(model: Any, photos: Any, unknown: bool = False) -> pd.DataFrame:
    """Return the answer of a model as it is, as a table."""
    features = photos.features()
    chances = model.predict_proba(features)
    order = np.argsort(-chances, axis=1, kind="stable")
    table = _as_table(
        photos,
        model.classes_[order[:, 0]],
        reliability=chances.max(axis=1),
        second=model.classes_[order[:, 1]] if chances.shape[1] > 1 else None,
        answer=["saved model"] * len(photos),
        novelty=model.novelty(features),
    )
    table.attrs["message"] = "Labelled by the saved model as it is, not adapted."
    return set_apart(table) if unknown else table


def set_apart(table: pd.DataFrame) -> pd.DataFrame:
    """Say of photos that are like no class that they are of none.

    What they would have been is their second choice. Of the photos of the classes, a
    share of ``MISTAKEN`` is set apart, too: the fewer there are apart, the likelier it
    is that one is there by mistake.

    Examples
    --------
    >>> from unseen.labels import label_table
    >>> from unseen.photos.label import set_apart
    >>> novelty = [0.2] * 24 + [1.0]
    >>> labels, sure = ["cat"] * 24 + ["dog"], [0.9] * 25
    >>> table = label_table(labels, reliability=sure, novelty=novelty)
    >>> set_apart(table)[["label", "second", "reliability"]].tail(2)
                label second  reliability
    23            cat                 0.9
    24  none of these    dog          0.5
    """
    table = table.copy()
    apart = table["novelty"] > FOREIGN
    table.loc[apart, "second"] = table.loc[apart, "label"]
    table.loc[apart, "label"] = NONE_OF_THESE
    mistaken = MISTAKEN * len(table) / max(int(apart.sum()), 1)
    table.loc[apart, "reliability"] = max(1 - mistaken, 0.0)
    return table


def _as_table(photos: Any, labels: np.ndarray, **columns: Any) -> pd.DataFrame:
    table = label_table(labels, ids=photos.paths, **columns)
    table.attrs["skipped"] = [tuple(entry) for entry in photos.skipped]
    return table
