"""What is looked at: photos, texts or rows, each by its number in the table.

A thing is asked for by number only. Ids of a table may hold anything: one that leads
out of the folder of photos is not followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

import pandas as pd

from unseen.labels import COLUMNS
from unseen.review.origins import Origin
from unseen.review.pictures import large_jpeg, small_jpeg

__all__ = [
    "DemoPhotos",
    "Photos",
    "Texts",
    "Things",
    "find_things",
    "inside",
    "noted_texts",
]

SHOWN = 20_000  # characters of a text in the large view


class Things(Protocol):
    """Photos, texts or rows to look at."""

    kind: str  # one of them: "photo", "text" or "row"

    def small(self, row: int) -> bytes | None:
        """Return a small JPEG; None if there is nothing to show."""

    def large(self, row: int) -> bytes | None:
        """Return a JPEG as large as a screen."""

    def text(self, row: int) -> str:
        """Return what there is to read."""


class Photos:
    """Photos below a folder, by their paths.

    Examples
    --------
    >>> from pathlib import Path
    >>> from unseen.review.things import Photos
    >>> Photos(Path("."), ["../secret.jpg"]).small(0) is None
    True
    """

    kind = "photo"

    def __init__(self, folder: Path, ids: Sequence[str]) -> None:
        self.folder = folder
        self.ids = list(ids)

    def path(self, row: int) -> Path | None:
        """Return where a photo is; None if that is outside of the folder."""
        name = self.ids[row]
        return self.folder / name if inside(name) else None

    def small(self, row: int) -> bytes | None:
        """Return a small JPEG."""
        path = self.path(row)
        return None if path is None else small_jpeg(path)

    def large(self, row: int) -> bytes | None:
        """Return a JPEG as large as a screen."""
        path = self.path(row)
        return None if path is None else large_jpeg(path)

    def text(self, row: int) -> str:
        """Return nothing: a photo is looked at."""
        return ""


class DemoPhotos:
    r"""The photos in the package, by their names.

    Examples
    --------
    >>> from unseen.review.things import DemoPhotos
    >>> DemoPhotos(["test_00003.jpg"]).small(0)[:2]
    b'\xff\xd8'
    """

    kind = "photo"

    def __init__(self, ids: Sequence[str]) -> None:
        from unseen.photos.bundled import load_photos

        photos = load_photos()
        known = dict(zip(photos.paths, photos.jpegs, strict=True))
        self.jpegs = [known.get(name) for name in ids]

    def small(self, row: int) -> bytes | None:
        """Return the photo: it is small."""
        return self.jpegs[row]

    large = small

    def text(self, row: int) -> str:
        """Return nothing: a photo is looked at."""
        return ""


class Texts:
    """Texts, or rows of which a table says something in further columns."""

    def __init__(self, kind: str, texts: Sequence[str]) -> None:
        self.kind = kind
        self.texts = list(texts)

    def small(self, row: int) -> None:
        """Return nothing: a text is read."""

    large = small

    def text(self, row: int) -> str:
        """Return the text, or as much of it as anyone reads."""
        return self.texts[row][:SHOWN]


def inside(name: str) -> bool:
    """Tell whether a relative path stays below the folder it starts from.

    Examples
    --------
    >>> from unseen.review.things import inside
    >>> inside("zoo/a.jpg"), inside("../a.jpg"), inside("/etc/passwd")
    (True, False, False)
    """
    path = PurePosixPath(name.replace("\\", "/"))
    odd = path.is_absolute() or ".." in path.parts or "\0" in name
    return bool(path.parts) and not odd and not Path(name).is_absolute()


def find_things(
    table: pd.DataFrame,
    labels: Path,
    origin: Origin | None,
    folder: Path | None = None,
) -> Things:
    """Find what a table of labels is about.

    Parameters
    ----------
    table : DataFrame
    labels : path
        Of the table: photos may lie beside it.
    origin : Origin, optional
        How it was made.
    folder : path, optional
        Where the photos are, if that is to be said.
    """
    ids = table["id"].tolist()
    if folder is not None:
        if not folder.is_dir():
            raise NotADirectoryError(
                f"{folder}: is no folder. Give that of the photos."
            )
        return Photos(folder, ids)
    if origin is not None and origin.kind == "demo":
        return DemoPhotos(ids)
    if origin is not None and origin.kind == "photos":
        return Photos(Path(origin.source), ids)
    if origin is not None and origin.kind == "texts" and "text" not in table:
        return Texts("text", noted_texts(origin, ids))
    if "text" in table:
        return Texts("text", table["text"].tolist())
    for place in (labels.parent, Path.cwd()):
        if ids and any(inside(name) and (place / name).is_file() for name in ids[:20]):
            return Photos(place, ids)
    return Texts("row", [describe(row) for row in table.to_dict("records")])


def noted_texts(origin: Origin, ids: Sequence[str]) -> list[str]:
    """Return the texts that were labelled, read again from where they are."""
    from unseen.texts.source import texts_of

    return texts_of(
        origin.source, ids, column=origin.column or None, id=origin.id or None
    )


def describe(row: dict) -> str:
    """Say what a table tells of a row besides its label."""
    more = [f"{name}: {row[name]}" for name in row if name not in COLUMNS]
    return "\n".join(more)
