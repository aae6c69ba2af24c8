"""Open the review of a table of labels: find its folder, items, and what labelled them.

labels.csv → origin → photos, texts or rows to look at
→ features and prototypes to learn with
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from unseen.labels import read_labels
from unseen.review.items import find_items, in_order, noted_rows, noted_texts
from unseen.review.journal import Entry, read_head
from unseen.review.origins import Origin, find_origin
from unseen.review.session import Session
from unseen.review.teaching import Stop, Teacher


def open_review(
    labels: Path,
    *,
    folder: Path | None = None,
    features: Path | None = None,
    show: Sequence[str] = (),
) -> Session:
    """Open a review of a table of labels, which needs its ids and labels only.

    ``folder`` is that of the photos, if it is not where the labels were made;
    ``features`` a file with a row per row of the table, or per path; ``show`` are
    columns by which to judge rows of features.
    """
    origin, table = find_origin(labels), read_labels(labels)
    ids = table["id"].tolist()

    def prepare(stop: Stop) -> Teacher:
        X = find_features(ids, origin, folder, features, progress=stop)
        stop()
        start = None if features else find_start(origin)
        stop()
        return Teacher(X, start)

    items = find_items(table, origin, folder, show)
    head = {  # what the review is about: the first line of its journal
        "table": digest_of(labels),
        "kind": origin.kind,
        "source": origin.source,
        "classes": sorted({*table["label"], *origin.names} - {""}),
    }
    own, others = find_review(labels, head)
    session = Session(labels, table, items, own, head, prepare)
    if others and not session.journal.entries:
        session.offer(list(others)[-1], earlier_answers(others, head))
    return session


def find_review(labels: Path, head: Entry) -> tuple[Path, dict[Path, Entry]]:
    """Find the folder of a table's own review, which may not be there yet.

    Also returns the reviews of other tables that had its name, the latest as the last.
    """
    others = {}
    for folder, known in reviews_of(labels):
        for path in (folder, *(folder.iterdir() if folder.is_dir() else ())):
            if path.is_symlink():
                raise ValueError(
                    f"{path} is a link, and a review follows none. Move it away."
                )
        bound = ("table", "kind", "classes")  # what answers belong to
        if known is None or all(known.get(key) == head[key] for key in bound):
            break
        others[folder] = known
    return folder, others


def earlier_answers(others: dict[Path, Entry], head: Entry) -> dict[str, str]:
    """Return answers of other reviews about the same items, by id; the latest count."""
    answers: dict[str, str] = {}
    for folder, known in others.items():
        given = folder / "corrections.csv"
        same = all(known.get(key) == head[key] for key in ("kind", "source"))
        if same and given.exists():
            table = read_labels(given)
            answers |= dict(zip(table["id"], table["label"], strict=True))
    return answers


def finished_review(labels: Path) -> Path | None:
    """Return the corrected table of a table of labels, None if there is none."""
    own = digest_of(labels)
    for folder, known in reviews_of(labels):
        reviewed = folder / "reviewed.csv"
        if known is None:
            break
        if known.get("table") == own and reviewed.exists():
            return reviewed
    return None


def reviews_of(labels: Path) -> Iterator[tuple[Path, Entry | None]]:
    """Yield folders of reviews and what they are about, a free one as the last."""
    for number in count(1):
        more = f"-{number}" if number > 1 else ""
        folder = labels.with_name(f"{labels.stem}.review{more}")
        yield folder, read_head(folder / "answers.jsonl")


def digest_of(labels: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(labels, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_start(origin: Origin) -> Any:
    """Return the mixture that made the labels of names; None where it is not known.

    So teaching is what ``unseen label --given`` does.
    """
    from unseen.photos.precomputed import is_features

    known: Any = None
    if not origin.names or origin.model:
        return None
    if origin.kind == "texts":
        from unseen.texts import NamedTexts

        return NamedTexts(origin.encoder or "wordllama").fit(origin.names).model_
    if origin.kind == "demo":
        from unseen.photos.bundled import load_photos

        photos = load_photos()
        known = photos.image_encoder, photos.text_encoder
    elif origin.kind == "photos" and not is_features(origin.encoder):
        known = origin.encoder or "lite0", origin.text or None
    if known is None or is_features(known[1]):
        return None  # no encoders
    from unseen.photos import NamedPhotos

    more = {"descriptions": origin.descriptions, "allow_unknown": True}
    return NamedPhotos(*known).fit(origin.names, **more).model_


def find_features(
    ids: list[str],
    origin: Origin,
    folder: Path | None = None,
    features: Path | None = None,
    progress: Any = None,
) -> np.ndarray:
    """Return the features of all rows of a table, as they were labelled by."""
    from unseen.naming.encoders import check_same, encode_texts, find_encoder

    if features is not None:
        from unseen.photos.precomputed import read_features

        X, paths, *_ = read_features(features)
        if paths is None and len(X) != len(ids):
            raise ValueError(
                f"{features} has {len(X)} rows, but the table has {len(ids)}. Give "
                "one row each, in the same order."
            )
        return X if paths is None else in_order(ids, paths, X, str(features))
    if origin.kind == "demo":
        from unseen.photos.bundled import load_photos

        photos = load_photos()
        return in_order(ids, photos.paths, photos.features, "the demo's photos")
    if origin.kind == "rows":
        _, X, known = noted_rows(origin)
        return in_order(ids, known, X, origin.source)
    if origin.kind == "texts":
        reader = find_encoder(origin.encoder or "wordllama")
        check_same(reader, origin.version, "the texts were labelled")
        return encode_texts(reader, noted_texts(origin, ids))
    place = folder or (Path(origin.source) if origin.kind == "photos" else None)
    if place is None:
        raise ValueError(
            "To learn, the features of these rows are needed, and nobody noted where "
            "they are. Start again with --features features.npz, or --photos FOLDER."
        )
    from unseen.photos.label import see_folder

    seen = see_folder(place, origin.encoder or "lite0", progress=progress)
    check_same(seen.encoder, origin.version, "the photos were labelled")
    return in_order(ids, seen.paths, seen.features(), str(place))
