"""What is reviewed: photos, texts or rows, each by its number in the table.

An item is asked for by number only. Ids come with a table that anybody may have
written, so an id leads to a photo only if that is a picture by its first bytes and lies
below the folder of photos, links resolved, with no hidden part in its path.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from unseen._words import listed
from unseen.core.linalg import to_unit
from unseen.labels import COLUMNS
from unseen.photos.photo import (
    NoPhotoError,
    decode,
    make_thumbnail,
    open_file,
    open_photo,
)
from unseen.review.origins import Origin

if TYPE_CHECKING:
    from unseen.loading import RawData

DECODING = threading.BoundedSemaphore(2)  # photos at a time


@dataclass(frozen=True)
class Items:
    """The text or the photo of every row.

    ``picture`` makes a JPEG or PNG of a row, at most so many pixels a side; None if
    there is none.
    """

    kind: str  # "photo", "text" or "row"
    texts: Sequence[str]
    picture: Callable[[int, int], bytes | None] = lambda row, side: None


def find_items(
    table: pd.DataFrame,
    origin: Origin,
    folder: Path | None = None,
    show: Sequence[str] = (),
) -> Items:
    """Find what a table of labels is about, by its origin or the folder that is given.

    Without these no folder is guessed: the table may be anybody's. ``show`` are the
    columns by which to judge rows of features.
    """
    ids = table["id"].tolist()
    photos = photo_folder(origin, folder)
    if photos is not None:

        def picture(row: int, side: int) -> bytes | None:
            path = find_photo(photos, ids[row])
            return None if path is None else as_jpeg(path, side)

        return Items("photo", [""] * len(ids), picture)
    if origin.kind == "demo":
        from unseen.photos.bundled import load_photos

        demo = load_photos()
        known = dict(zip(demo.paths, demo.jpegs, strict=True))
        return Items("photo", [""] * len(ids), lambda row, side: known.get(ids[row]))
    if "text" in table:
        return Items("text", table["text"].tolist())
    if origin.kind == "texts":
        return Items("text", noted_texts(origin, ids))
    source = origin.source
    if origin.kind == "rows" and (os.path.exists(source) or not os.path.isabs(source)):
        cards = RowCards(table, origin, show)
        if show:
            cards[0]  # a column that is not there is named now
        return Items("row", cards)
    rows = table[[name for name in table if name not in COLUMNS]].to_dict("records")
    described = ["\n".join(f"{k}: {v}" for k, v in row.items()) for row in rows]
    return Items("row", described)


class RowCards(Sequence[str]):
    """What there is to judge a row of features by, read when it is asked for.

    The columns that tell its label from the second choice, each with what is usual for
    both: the middle half of the rows that have this label in the table; or the columns
    asked for. Then the labelled rows most like it, all columns on one scale.
    """

    MOST = 8  # columns

    def __init__(
        self, table: pd.DataFrame, origin: Origin, show: Sequence[str]
    ) -> None:
        self.table, self.origin, self.show = table, origin, list(show)

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def _read(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
        """Return rows as shown, their features, and the labels there, all by id."""
        raw, features, ids = noted_rows(self.origin)
        X = pd.DataFrame(features, index=ids, columns=raw.feature_names)
        known = pd.Series(raw.y, index=ids)
        if known.dtype.kind in "iu":  # -1 for no label
            known = pd.Series(np.append(raw.class_names, "")[known], index=ids)
        shown = X
        if any(name not in X for name in self.show):
            source = self.origin.source
            shown = pd.read_csv(source, sep=None, engine="python", dtype=str)
            shown.index = X.index
        lost = [name for name in self.show if name not in shown]
        if lost:
            raise ValueError(
                f"{self.origin.source} has no column {lost[0]!r} to show. It has "
                f"{listed(list(map(str, shown.columns)))}."
            )
        return shown[self.show or list(X.columns)], X, known

    @cached_property
    def _usual(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Return the middle half of every column by label, and its mean."""
        own = self._read[1].reindex(self.table["id"])
        groups = own.groupby(self.table["label"].to_numpy())
        return groups.quantile(0.25), groups.quantile(0.75), groups.mean()

    @cached_property
    def _labelled(self) -> tuple[pd.DataFrame, np.ndarray, pd.Series]:
        """Return directions of all rows, of those that came with a label, and that."""
        _, X, known = self._read
        scaled = ((X - X.mean()) / (X.std() + 1e-12)).to_numpy(np.float32)
        units = pd.DataFrame(to_unit(scaled), index=X.index)
        known = known[(known != "") & ~known.index.isin(self.table["id"])]
        return units, units.loc[known.index].to_numpy(), known

    def __getitem__(self, row: Any) -> Any:
        """Return the text of a row."""
        shown, X, _ = self._read
        name, *two = self.table.loc[row, ["id", "label", "second"]]
        if name not in X.index:
            return "(this row is not in the file any more)"
        low, high, mean = self._usual
        two = [label for label in dict.fromkeys(two) if label in mean.index]
        columns = list(shown.columns)
        if not self.show and two:
            other = mean.loc[two[1]] if len(two) > 1 else mean.mean()
            apart = (mean.loc[two[0]] - other).abs() / (X.std() + 1e-12)
            columns = apart.nlargest(self.MOST).index.tolist()
        lines = []
        for column in columns:
            value = shown.loc[name, column]
            line = f"{column}: {value if isinstance(value, str) else f'{value:.4g}'}"
            spans = [f"{c} {low.loc[c, column]:.3g} to {high.loc[c, column]:.3g}"
                     for c in two if column in low]  # fmt: skip
            lines.append(f"{line}   ({'; '.join(spans)})" if spans else line)
        units, of_known, known = self._labelled
        if len(known):
            near = known.iloc[np.argsort(-(of_known @ units.loc[name]))[:3]]
            like = ", ".join(f"{label} ({one})" for one, label in near.items())
            lines.append(f"labelled rows most like it: {like}")
        return "\n".join(lines)


def photo_folder(origin: Origin, folder: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder that is given, or that of the origin; None if none is known."""
    if folder is not None and not Path(folder).is_dir():
        raise NotADirectoryError(f"{folder} is not a folder. Give that of the photos.")
    if folder is None and origin.kind == "photos":
        folder = origin.source
    return None if folder is None else Path(folder)


def noted_texts(origin: Origin, ids: Sequence[str]) -> list[str]:
    """Return the texts that were labelled, read again from where they are."""
    from unseen.texts.source import read_texts

    found = read_texts(
        origin.source, column=origin.column or None, id=origin.id or None
    )
    wanted = set(ids)
    pairs = (pair for batch in found for pair in zip(*batch, strict=True))
    known = {key: text for key, text in pairs if key in wanted}
    texts = np.array(list(known.values()), object)
    return in_order(ids, list(known), texts, found.name).tolist()


def noted_rows(origin: Origin) -> tuple[RawData, np.ndarray, list[str]]:
    """Return the rows that were labelled, read again, as features, and their ids."""
    from unseen.loading import read_raw
    from unseen.loading.parts import as_float

    raw = read_raw(origin.source, origin.column or None, origin.id or None)
    ids = range(len(raw.X)) if raw.ids is None else raw.ids
    return raw, as_float(raw.X), [*map(str, ids)]


def in_order(
    ids: Sequence[str], known: Sequence[str], X: np.ndarray, where: str
) -> np.ndarray:
    """Return what is known of some ids, in their order."""
    place = {name: row for row, name in enumerate(known)}
    lost = [name for name in ids if name not in place]
    if lost:
        raise ValueError(
            f"{where} has no {lost[0]!r} ({len(lost)} of {len(ids)} are missing). "
            "Label what is there now, and review that."
        )
    return X[[place[name] for name in ids]]


def find_photo(folder: Path, name: str) -> Path | None:
    """Return the picture that an id leads to; None unless it lies below the folder."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if "\0" in name or Path(name).is_absolute() or not visible(parts):
        return None
    root = Path(os.path.realpath(folder))
    path = Path(os.path.realpath(root / name))
    if root not in path.parents or not visible(path.relative_to(root).parts):
        return None
    try:
        open_photo(path).close()
        return path
    except NoPhotoError:
        return None


def visible(parts: Sequence[str]) -> bool:
    """Tell whether parts of a path lead down, and none of them is hidden."""
    return bool(parts) and not any(part.startswith((".", "/")) for part in parts)


def as_jpeg(path: Path, side: int) -> bytes | None:
    """Return a photo upright, at most so long, without metadata; None if it fails."""
    try:  # doubtful metadata is no reason; damaged pixels raise
        with DECODING, warnings.catch_warnings(action="ignore"):
            image = open_file(path)
            pixels = image.width * image.height
            image.draft("RGB", (side, side))  # JPEG: decode at a fraction
            if "progressive" not in image.info:
                pixels = image.width * image.height
            if pixels > 50_000_000:  # 150 MB, in the server's own process
                return None
            return make_thumbnail(*decode(image, side), side)
    except ImportError:
        raise
    except Exception:  # decoders raise whatever they stumble over: no picture
        return None
