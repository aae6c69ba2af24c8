"""Export labels: a plan that can be looked at, then the work."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from unseen.exporting.formats import FORMATS, Row, Selected
from unseen.exporting.placing import WAYS, put, safe_names
from unseen.files import AnyPath, check_apart, check_folder, replace_folder
from unseen.labels import read_labels
from unseen.review.items import find_photo, noted_texts, photo_folder
from unseen.review.origins import find_origin


@dataclass(frozen=True)
class Export:
    """What would be exported; :meth:`run` does it."""

    chosen: Selected
    to: str
    how: str
    out: Path
    places: list[str]  # of photos in ``out``; empty if none has a file of its own

    def run(self) -> Path:
        """Write everything, or nothing; return the folder."""
        with replace_folder(self.out) as draft:
            FORMATS[self.to].write(self.chosen, draft, self.out)
            for row, place in zip(self.chosen.rows, self.places, strict=False):
                put(row.source, draft / place, self.how)
        return self.out


def plan_export(
    labels: AnyPath,
    to: str,
    out: AnyPath,
    *,
    how: str = "copy",
    min_reliability: float = 0.0,
    sure: bool = False,
    photos: AnyPath | None = None,
) -> Export:
    """Find out what would be exported, and complain of what cannot be.

    Nothing is written before ``run`` of the plan. ``out`` must be absent or empty, and
    outside of the photos' folder, which is by default where they were labelled. Labels
    below ``min_reliability`` stay, but those that a person gave; with ``sure`` all that
    are not above the sure line, which a check has to have drawn.
    """
    labels, out = Path(labels), Path(out)
    if to not in FORMATS:
        raise ValueError(f"--to is {to!r}. Give one of {', '.join(FORMATS)}.")
    if how not in WAYS:
        raise ValueError(f"--how is {how!r}. Give one of {', '.join(WAYS)}.")
    table, origin, format = read_labels(labels), find_origin(labels), FORMATS[to]
    folder = photo_folder(origin, photos)
    of_texts = "text" in table or origin.kind == "texts"
    if folder is None and origin.kind == "demo":
        raise ValueError(
            "The demo's photos are inside the package and no files. Label a folder of "
            "your own photos, and export that."
        )
    if folder is None and not of_texts:  # never guessed: the table may be anybody's
        raise ValueError(
            f"{labels}: its photos were not found. Give their folder: --photos."
        )
    if folder is None and not format.takes_texts:
        takers = " or ".join(sorted(n for n, f in FORMATS.items() if f.takes_texts))
        raise ValueError(
            f"{labels} is about texts, and {to} is for photos. Texts go to {takers}."
        )
    if format.place is None and how != "copy":
        raise ValueError(
            f"{to} holds no photo as a file, so --how {how} makes no sense."
        )
    check_apart(out, [labels, folder])
    check_folder(out)
    if folder is None and "text" not in table:
        table = table.assign(text=noted_texts(origin, table["id"].tolist()))
    chosen = select(table, folder, min_reliability, sure)
    if not chosen.rows:
        reasons = "; ".join(f"{n} {why}" for why, n in chosen.left_out.items())
        raise ValueError(f"{labels}: nothing is left to export. {reasons or 'No row'}.")
    places = format.place(chosen) if format.place and chosen.are_photos else []
    return Export(chosen, to, how, out, places)


def select(
    table: pd.DataFrame, folder: Path | None, min_reliability: float, only_sure: bool
) -> Selected:
    """Choose the rows that go: all with a label that is reliable enough and an item.

    Without a folder of photos they are texts. What people gave is reliable.
    """
    texts = table["text"].tolist() if "text" in table else [""] * len(table)
    given = [bool(one) for one in table.get("given", [""] * len(table))]
    called = table.get("sure", pd.Series("", table.index))
    left_out: Counter[str] = Counter()
    rows: list[Row] = []
    found: set[Path] = set()
    columns = table["id"], table["label"], table["reliability"], given, called, texts
    for name, label, chance, by_person, sure, text in zip(*columns, strict=True):
        source = None
        if not label:
            left_out["have no label"] += 1
        elif not by_person and min_reliability > 0 and not chance >= min_reliability:
            left_out[f"are less reliable than {min_reliability:g}"] += 1
        elif only_sure and sure != "yes":
            left_out["are not sure (see unseen review, Check)"] += 1
        elif folder is not None and (source := find_photo(folder, name)) is None:
            left_out[f"are not pictures in {folder}"] += 1
        elif source is not None and source in found:
            left_out["lead to the photo of another row"] += 1
        else:
            reliability = None if np.isnan(chance) else float(chance)
            rows.append(Row(name, label, 0, reliability, by_person, text, source, ""))
            found |= set() if source is None else {source}
    classes = sorted({row.label for row in rows})
    codes = {name: code for code, name in enumerate(classes)}
    paths = [PurePosixPath(row.id) for row in rows]
    files = safe_names((path.stem, path.suffix.lower()) for path in paths)
    rows = [
        row._replace(code=codes[row.label], file=file)
        for row, file in zip(rows, files, strict=True)
    ]
    return Selected(rows, classes, dict(left_out))
