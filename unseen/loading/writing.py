"""Write a data set in any of the kinds that can be written, whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from unseen.data import ZeroShotData, one_table
from unseen.files import replace_file, replace_folder
from unseen.loading.arrays import read_blocks, write_hdf5, write_npz
from unseen.loading.parquet import pyarrow
from unseen.loading.parts import as_float

__all__ = ["WRITERS", "files_of", "kind_of", "save_data"]

CSV: Any = {"index": False, "lineterminator": "\n"}  # the same bytes on any system


def save_data(
    data: ZeroShotData,
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    force: bool = False,
) -> Path:
    """Write a data set so that ``load_data`` reads it back.

    Parameters
    ----------
    data : ZeroShotData
        What to write.
    path : path
        Where to; a file that is there already is replaced, once the new is complete. A
        folder must be new or empty.
    kind : str, optional
        ``"npz"``, ``"hdf5"``, ``"csv"``, ``"parquet"``, ``"folder"`` or ``"xlsa17"``;
        by default told by the suffix, a folder if there is none.
    force : bool, default=False
        Replace a folder that this function wrote; never one that holds other files.

    Returns
    -------
    Path
        The file or folder written.

    Notes
    -----
    CSV and parquet keep one class table, in ``<stem>.classes.csv`` beside the rows;
    fused tables are written side by side. CSV keeps numbers, not their precision:
    they are read back as float64. Ids of rows are the column ``id``, for ``id="id"``
    of ``load_data``. Names of features are kept by CSV, ``.npz`` and HDF5.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen import load_data, save_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_data(load_data("photos-200"), Path(folder) / "mine.npz")
    ...     load_data(path).unseen[:3].tolist()
    ['airplane', 'automobile', 'bird']
    """
    path = Path(path)
    kind = kind_of(path, kind)
    if kind in FOLDERS:
        with replace_folder(path, force=force) as draft:
            WRITERS[kind](data, draft)
    else:
        WRITERS[kind](data, path)
    return path


def files_of(path: Path, kind: str | None = None) -> list[Path]:
    """Return the files or the folder that :func:`save_data` would write."""
    kind = kind_of(path, kind)
    if kind in ("csv", "parquet"):
        return [path.with_name(f"{path.stem}.classes.{kind}"), path]
    return [path]


def kind_of(path: Path, kind: str | None = None) -> str:
    """Return the kind to write: as asked, or as the suffix tells."""
    if kind is None:
        suffix = path.suffix.lower().removeprefix(".")
        kind = {"": "folder", "h5": "hdf5"}.get(suffix, suffix)
    if kind not in WRITERS:
        raise ValueError(
            f"{path}: no kind of file to write is called {kind or path.suffix!r}. "
            f"Give one of {', '.join(WRITERS)}."
        )
    return kind


def _write_folder(data: ZeroShotData, draft: Path) -> None:
    tables = {name: one_table(data.class_embeddings, name) for name in data.tables}
    np.save(draft / "features.npy", data.X)
    rows = pd.DataFrame({"label": data.y})
    if data.seen_test is not None:
        rows["split"] = np.where(data.seen_test, "test", "train")
    rows.to_csv(draft / "labels.csv", **CSV)
    main = _class_frame(data) if not tables else _class_frame(data)[["class", "split"]]
    main.to_csv(draft / "classes.csv", **CSV)
    for name, table in tables.items():
        (draft / "classes").mkdir(exist_ok=True)
        frame = pd.concat([main[["class"]], _dims(table)], axis=1)
        frame.to_csv(draft / "classes" / f"{quote(name, safe=' ')}.csv", **CSV)
    tables = tables or {"": data.class_embeddings}
    about = {
        "name": data.name,
        "fused": data.class_embeddings.columns.nlevels == 2,
        "tables": {k: str(as_float(t.to_numpy()).dtype) for k, t in tables.items()},
    }
    (draft / "about.json").write_text(json.dumps(about, indent=1))


def _write_csv(data: ZeroShotData, path: Path) -> None:
    beside, path = files_of(path, "csv")
    with replace_file(beside) as file:
        _class_frame(data).to_csv(file, **CSV)
    names = [f"x{i}" for i in range(data.X.shape[1])]
    columns = names if data.feature_names is None else data.feature_names.tolist()
    with replace_file(path) as file:
        for start, frame, X in _row_frames(data):
            numbers = pd.DataFrame(X.astype(np.float64), columns=columns)  # exact
            rows = pd.concat([frame, numbers], axis=1)
            rows.to_csv(file, header=start == 0, **CSV)


def _write_parquet(data: ZeroShotData, path: Path) -> None:
    pa, pq = pyarrow(path)
    beside, path = files_of(path, "parquet")
    with replace_file(beside) as file:
        _class_frame(data).to_parquet(file, index=False)
    with ExitStack() as stack:
        file, writer = stack.enter_context(replace_file(path)), None
        for _, frame, X in _row_frames(data):
            table = pa.Table.from_pandas(frame.assign(features=list(X)))
            writer = writer or stack.enter_context(pq.ParquetWriter(file, table.schema))
            writer.write_table(table)


def _row_frames(
    data: ZeroShotData,
) -> Iterator[tuple[int, pd.DataFrame, np.ndarray]]:
    """Yield where a block of rows starts, its ids, labels and split, and its rows."""
    splits = np.where(data._in_unseen, "unseen", "seen").astype("<U6")
    splits[data._set_aside] = "test"
    columns = {
        "id": data.ids,
        "label": data.y,
        "split": None if data.seen_test is None else splits,
    }
    start = 0
    for X in read_blocks(data.X, 10_000):
        here = slice(start, start + len(X))
        given = {key: all_[here] for key, all_ in columns.items() if all_ is not None}
        yield start, pd.DataFrame(given), X
        start += len(X)


def _write_xlsa17(data: ZeroShotData, draft: Path) -> None:
    from scipy.io import savemat

    if data.X.nbytes >= 2**32 or len(data.tables) > 2:
        raise ValueError(
            f"{data.name}: X has {data.X.nbytes} bytes and there are "
            f"{len(data.tables)} class tables, but an xlsa17 pair holds less than 4 GB "
            "and two tables. Choose with classes=, or write HDF5."
        )
    rows = np.arange(1, len(data.y) + 1, dtype=np.float64)[:, None]
    names = np.empty((len(data.classes), 1), dtype=object)
    names[:, 0] = data.classes
    splits = {
        "allclasses_names": names,
        "trainval_loc": rows[data._in_training],
        "test_seen_loc": rows[data._set_aside],
        "test_unseen_loc": rows[data.to_label],
    }
    places = ("att", "original_att")
    for place, name in zip(places, data.tables or ("",), strict=False):
        splits[place] = one_table(data.class_embeddings, name).to_numpy().T
    numbers = pd.Index(data.classes).get_indexer(pd.Index(data.y)) + 1.0
    labels = np.where(numbers == 0, np.nan, numbers)[:, None]
    features = {"features": np.asarray(data.X).T, "labels": labels}
    for name, content in {"res101.mat": features, "att_splits.mat": splits}.items():
        with open(draft / name, "xb") as file:
            savemat(file, content, do_compression=True)


def _class_frame(data: ZeroShotData) -> pd.DataFrame:
    split = np.where(data._is_unseen, "unseen", "seen")
    frame = pd.DataFrame({"class": data.classes, "split": split})
    return pd.concat([frame, _dims(data.class_embeddings)], axis=1)


def _dims(table: pd.DataFrame) -> pd.DataFrame:
    names = [
        ".".join(map(str, label)) if isinstance(label, tuple) else str(label)
        for label in table.columns
    ]
    return table.reset_index(drop=True).set_axis(names, axis=1)


WRITERS: dict[str, Callable[[ZeroShotData, Path], Any]] = {
    "npz": write_npz,
    "hdf5": write_hdf5,
    "folder": _write_folder,
    "csv": _write_csv,
    "parquet": _write_parquet,
    "xlsa17": _write_xlsa17,
}
FOLDERS = ("folder", "xlsa17")
