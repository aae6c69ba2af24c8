"""Export labels: a plan that can be looked at, then the work."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from unseen.exporting.formats import FORMATS, TEXT_FORMATS, WITHOUT_PHOTOS
from unseen.exporting.placing import (
    WAYS,
    check_new,
    list_moves,
    move_all,
    new_folder,
    place_all,
)
from unseen.exporting.selecting import Selected, photo_folder, select
from unseen.files import check_apart
from unseen.labels import read_labels
from unseen.review.origins import find_origin
from unseen.review.things import noted_texts

__all__ = ["Export", "plan_export"]


@dataclass(frozen=True)
class Export:
    """What would be exported; :meth:`run` does it.

    Attributes
    ----------
    chosen : Selected
    to, how : str
        Format, and the way of photos.
    out : Path
    """

    chosen: Selected
    to: str
    how: str
    out: Path

    @property
    def has_photos(self) -> bool:
        """Whether photos get a place of their own."""
        return bool(self.chosen.sources) and self.to not in WITHOUT_PHOTOS

    def run(self) -> Path:
        """Write everything, or nothing; return the folder."""
        sources, moving = self.chosen.sources, self.how == "move" and self.has_photos
        with new_folder(self.out) as draft:
            places = FORMATS[self.to](self.chosen, draft, self.out)
            pairs = list(zip(sources, places, strict=True)) if self.has_photos else []
            if moving:
                list_moves(draft / "moved.csv", self.chosen.ids, pairs)
            else:
                place_all([(old, draft / new) for old, new in pairs], self.how)
        if moving:
            move_all([(old, self.out / new) for old, new in pairs])
        return self.out


def plan_export(
    labels: str | os.PathLike[str],
    to: str,
    out: str | os.PathLike[str],
    *,
    how: str = "copy",
    min_reliability: float = 0.0,
    photos: str | os.PathLike[str] | None = None,
) -> Export:
    r"""Find out what would be exported, and complain of what cannot be.

    Parameters
    ----------
    labels : path
        Table of labels.
    to : {'folders', 'imagefolder', 'hf', 'coco', 'label-studio', 'fiftyone', 'xmp'}
    out : path
        Folder to make; it must be absent or empty.
    how : {'copy', 'hardlink', 'symlink', 'move'}
        What becomes of the photos.
    min_reliability : float, default=0
        Labels below stay; what a person gave goes.
    photos : path, optional
        Folder of the photos, if it is not where they were labelled.

    Returns
    -------
    Export
        Nothing is written before its ``run``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.exporting.export import plan_export
    >>> with tempfile.TemporaryDirectory() as home:
    ...     (Path(home) / "a.jpg").touch()
    ...     _ = (Path(home) / "labels.csv").write_text("id,label\na.jpg,okapi\n")
    ...     plan = plan_export(Path(home) / "labels.csv", "folders", Path(home) / "out")
    ...     [path.name for path in plan.run().rglob("*")]
    ['okapi', 'a.jpg']
    """
    labels, out = Path(labels), Path(out)
    if to not in FORMATS:
        raise ValueError(f"--to is {to!r}. Give one of {', '.join(FORMATS)}.")
    if how not in WAYS:
        raise ValueError(f"--how is {how!r}. Give one of {', '.join(WAYS)}.")
    table = read_labels(labels)
    given = None if photos is None else Path(photos)
    origin = find_origin(labels)
    folder = photo_folder(table, labels, origin, given)
    if folder is None and to not in TEXT_FORMATS:
        raise ValueError(
            f"{labels}: is about texts, and {to} is for photos. Texts go to "
            f"{' or '.join(sorted(TEXT_FORMATS))}."
        )
    if to in WITHOUT_PHOTOS and how != "copy":
        raise ValueError(f"{to} holds no photo as a file, so --how {how} has no sense.")
    check_new(out)
    check_apart(out, [labels])
    if folder is not None and Path(os.path.realpath(out)) in (
        *Path(os.path.realpath(folder)).parents,
        Path(os.path.realpath(folder)),
    ):
        raise FileExistsError(f"{out}: holds the photos. Give another --out.")
    if folder is None and origin is not None and "text" not in table:
        table = table.assign(text=noted_texts(origin, table["id"].tolist()))
    chosen = select(table, folder=folder, min_reliability=min_reliability)
    if not len(chosen):
        reasons = "; ".join(f"{n} {why}" for why, n in chosen.left_out.items())
        raise ValueError(f"{labels}: nothing is left to export. {reasons or 'No row'}.")
    return Export(chosen, to, how, out)
