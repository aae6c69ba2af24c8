"""Open the review of a table of labels: find its items, and what labelled them.

labels.csv → origin → photos, texts or rows to look at
→ features and prototypes to learn with
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unseen.labels import read_labels
from unseen.review.items import find_items, noted_texts
from unseen.review.learning import Stop
from unseen.review.origins import Origin, find_origin
from unseen.review.session import Session
from unseen.review.teaching import Teacher

__all__ = ["find_features", "open_review"]


def open_review(
    labels: Path,
    *,
    folder: Path | None = None,
    features: Path | None = None,
    encoder: str | None = None,
) -> Session:
    """Open a review of a table of labels.

    Parameters
    ----------
    labels : path
        As ``unseen label``, ``run`` or ``demo`` wrote it, or any with id and label.
    folder : path, optional
        Folder of the photos, if it is not where the labels were made.
    features : path, optional
        ``.npz`` or ``.npy`` with one row per row of the table, or per path.
    encoder : str, optional
        What encodes the photos, for learning; by default what labelled them.
    """
    origin, table = find_origin(labels), read_labels(labels)
    ids = table["id"].tolist()

    def prepare(stop: Stop) -> Teacher:
        X = find_features(ids, origin, folder, features, encoder, progress=stop)
        stop()
        start = find_start(origin, encoder)
        stop()
        return Teacher(X, start)

    items = find_items(table, origin, folder)
    return Session(labels, table, items, origin, prepare)


def find_start(origin: Origin | None, encoder: str | None) -> Any:
    """Return the mixture that made the labels of names; None where it is not known.

    So teaching is what ``unseen label --given`` does.
    """
    if origin is None or not origin.names or origin.model or encoder is not None:
        return None
    if origin.kind == "texts":
        from unseen.texts import NamedTexts

        return NamedTexts(origin.encoder or "wordllama").fit(origin.names).model_
    from unseen.photos import NamedPhotos

    if origin.kind == "demo":
        from unseen.photos.bundled import load_photos

        photos = load_photos()
        named = NamedPhotos(photos.image_encoder, photos.text_encoder)
    elif origin.kind == "photos":
        if any(Path(one).exists() for one in (origin.encoder, origin.text) if one):
            return None  # files of features or vectors, and no encoders
        named = NamedPhotos(origin.encoder or "lite0", origin.text or "wordllama")
    else:
        return None
    known = origin.descriptions
    return named.fit(origin.names, descriptions=known, allow_unknown=True).model_


def find_features(
    ids: list[str],
    origin: Origin | None,
    folder: Path | None,
    features: Path | None,
    encoder: str | None,
    progress: Any = None,
) -> np.ndarray:
    """Return the features of all rows of a table, as they were labelled by."""
    kind = None if origin is None else origin.kind
    if features is not None:
        return from_file(features, ids)
    if kind == "demo":
        from unseen.photos.bundled import load_photos

        photos = load_photos()
        return in_order(ids, photos.paths, photos.features, "the demo's photos")
    if origin is not None and kind == "rows":
        from unseen.loading import read_raw
        from unseen.loading.parts import as_float

        parts = read_raw(origin.source, origin.column or None, origin.id or None)
        known = range(len(parts.X)) if parts.ids is None else parts.ids
        return in_order(ids, [*map(str, known)], as_float(parts.X), origin.source)
    if origin is not None and kind == "texts":
        from unseen.naming.encoders import encode_texts, find_encoder

        reader = find_encoder(encoder or origin.encoder or "wordllama")
        return encode_texts(reader, noted_texts(origin, ids))
    if folder is None and kind != "photos":
        raise ValueError(
            "To learn, the features of these rows are needed, and nobody noted where "
            "they are. Start again with --features features.npz, or --photos FOLDER."
        )
    from unseen.photos.label import see_folder

    place = folder if folder is not None else Path(origin.source)  # type: ignore[union-attr]
    used = encoder or (origin.encoder if origin else "") or "lite0"
    cache = origin.cache if origin and origin.cache else None
    seen = see_folder(place, used, cache=cache, progress=progress)
    return in_order(ids, seen.paths, seen.features(), str(place))


def from_file(path: Path, ids: list[str]) -> np.ndarray:
    """Return the features of a file, by path or in the order of the table."""
    from unseen.photos.precomputed import read_features

    X, paths, _ = read_features(path)
    if paths is not None:
        return in_order(ids, paths, X, str(path))
    if len(X) != len(ids):
        raise ValueError(
            f"{path}: has {len(X)} rows, but the table has {len(ids)}. Give one row "
            "each, in the same order."
        )
    return X


def in_order(ids: list[str], known: list[str], X: np.ndarray, where: str) -> np.ndarray:
    """Return the features of some ids, in their order."""
    place = {name: row for row, name in enumerate(known)}
    lost = [name for name in ids if name not in place]
    if lost:
        raise ValueError(
            f"{where} has no {lost[0]!r} ({len(lost)} of {len(ids)} are missing). "
            "Label what is there now, and review that."
        )
    return X[[place[name] for name in ids]]
