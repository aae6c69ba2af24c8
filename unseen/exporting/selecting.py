"""Which rows go, and where their photos or texts are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from unseen.exporting.names import safe_names
from unseen.review.origins import Origin
from unseen.review.things import inside

__all__ = ["Selected", "select"]


@dataclass(frozen=True)
class Selected:
    """What is exported, row by row.

    Attributes
    ----------
    ids, labels : list of str
    reliability : list of float or None
    given : list of bool
        Whether a person said so.
    sources : list of Path
        Photos; empty for texts.
    texts : list of str
        Texts; empty for photos.
    files : list of str
        A safe name for each photo, none twice.
    classes : list of str
    left_out : dict
        How many rows do not go, by reason.
    """

    ids: list[str]
    labels: list[str]
    reliability: list[float | None]
    given: list[bool]
    sources: list[Path]
    texts: list[str]
    files: list[str]
    classes: list[str]
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def codes(self) -> list[int]:
        """Return the number of every row's class."""
        place = {name: code for code, name in enumerate(self.classes)}
        return [place[name] for name in self.labels]


def select(
    table: pd.DataFrame,
    *,
    folder: Path | None,
    min_reliability: float = 0.0,
) -> Selected:
    """Choose the rows that go.

    Parameters
    ----------
    table : DataFrame
        Of labels.
    folder : path, optional
        Of the photos; None for texts.
    min_reliability : float
        Rows below, and rows of unknown reliability if this is not 0, stay.
    """
    sure = table["reliability"].to_numpy(float)
    given = np.zeros(len(table), bool)
    if "given" in table:
        given = (table["given"] != "").to_numpy()
    named = (table["label"] != "").to_numpy()
    enough = given | (np.nan_to_num(sure, nan=-1.0) >= min_reliability)
    if min_reliability <= 0:
        enough[:] = True
    there = np.ones(len(table), bool)
    ids = table["id"].tolist()
    if folder is not None:
        there = np.array([inside(name) and (folder / name).is_file() for name in ids])
    kept = named & enough & there
    counts = {
        "have no label": int((~named).sum()),
        f"are less reliable than {min_reliability:g}": int((named & ~enough).sum()),
        f"are not in {folder}": int((named & enough & ~there).sum()),
    }
    part = table[kept]
    kept_ids, labels = part["id"].tolist(), part["label"].tolist()
    paths = [PurePosixPath(name) for name in kept_ids]
    return Selected(
        ids=kept_ids,
        labels=labels,
        reliability=[None if np.isnan(one) else float(one) for one in sure[kept]],
        given=given[kept].tolist(),
        sources=[] if folder is None else [folder / name for name in kept_ids],
        texts=part["text"].tolist() if folder is None and "text" in part else [],
        files=safe_names((path.stem, path.suffix.lower()) for path in paths),
        classes=sorted(set(labels)),
        left_out={reason: n for reason, n in counts.items() if n},
    )


def photo_folder(
    table: pd.DataFrame, labels: Path, origin: Origin | None, folder: Path | None
) -> Path | None:
    """Return where the photos of a table are; None if it is about texts."""
    if folder is not None:
        if not folder.is_dir():
            raise NotADirectoryError(f"{folder}: is no folder. Give the photos' own.")
        return folder
    if origin is not None and origin.kind == "photos":
        return Path(origin.source)
    if "text" in table or (origin is not None and origin.kind == "texts"):
        return None
    if origin is not None and origin.kind == "demo":
        raise ValueError(
            "The demo's photos are inside the package and no files. Label a folder of "
            "your own photos, and export that."
        )
    for place in (labels.parent, Path.cwd()):
        ids = table["id"].tolist()
        if any(inside(name) and (place / name).is_file() for name in ids[:20]):
            return place
    raise ValueError(
        f"{labels}: nobody noted where its photos are. Give their folder: --photos."
    )
