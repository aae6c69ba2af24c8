"""Write a data set in any of the kinds that can be written, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen.data import ZeroShotData
from unseen.files import replace_file
from unseen.loading.arrays import read_blocks, write_hdf5, write_npz
from unseen.loading.frames import beside, pyarrow

CSV: Any = {"index": False, "lineterminator": "\n"}  # the same bytes on any system


def save_data(data: ZeroShotData, path: str | os.PathLike[str]) -> Path:
    """Write a data set so that ``load_data`` reads it back.

    Parameters
    ----------
    data : ZeroShotData
        What to write.
    path : path
        Where to, ``.npz``, ``.h5``, ``.csv`` or ``.parquet``; a file that is there
        already is replaced, once the new is complete.

    Returns
    -------
    Path
        The file written.

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
    *table, path = files_of(path)
    WRITERS[path.suffix.lower()](data, path, *table)
    return path


def files_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that :func:`save_data` would write, that of the rows last."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in WRITERS:
        raise ValueError(
            f"{path}: no kind of file to write ends like this. Give one of "
            f"{', '.join(WRITERS)}."
        )
    return [beside(path), path] if suffix in (".csv", ".parquet") else [path]


def _write_csv(data: ZeroShotData, path: Path, table: Path) -> None:
    with replace_file(table) as file:
        _class_frame(data).to_csv(file, **CSV)
    names = data.feature_names
    columns = [f"x{i}" for i in range(data.X.shape[1])] if names is None else names
    with replace_file(path) as file:
        for frame, X in _row_frames(data):
            numbers = pd.DataFrame(X.astype(np.float64), columns=columns)  # exact
            rows = pd.concat([frame, numbers], axis=1)
            rows.to_csv(file, header=not file.tell(), **CSV)


def _write_parquet(data: ZeroShotData, path: Path, table: Path) -> None:
    pa, pq = pyarrow(path)
    with replace_file(table) as file:
        _class_frame(data).to_parquet(file, index=False)
    with ExitStack() as stack:
        file, writer = stack.enter_context(replace_file(path)), None
        for frame, X in _row_frames(data):
            rows = pa.Table.from_pandas(frame.assign(features=list(X)))
            writer = writer or stack.enter_context(pq.ParquetWriter(file, rows.schema))
            writer.write_table(rows)


def _row_frames(data: ZeroShotData) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Yield ids, labels and splits of a block of rows, and the rows."""
    columns = {"label": data.y}
    if data.ids is not None:
        columns = {"id": data.ids} | columns
    if data.seen_test is not None:
        sides = np.where(np.isin(data.y, data.unseen), "unseen", "seen")
        columns["split"] = np.where(data.seen_test, "test", sides)
    frame = pd.DataFrame(columns)
    for X in read_blocks(data.X, 10_000):
        yield frame[: len(X)].reset_index(drop=True), X
        frame = frame[len(X) :]


def _class_frame(data: ZeroShotData) -> pd.DataFrame:
    table = data.class_embeddings
    names = [
        ".".join(map(str, label)) if isinstance(label, tuple) else str(label)
        for label in table.columns
    ]
    split = np.where(np.isin(data.classes, data.unseen), "unseen", "seen")
    frame = pd.DataFrame({"class": data.classes, "split": split})
    dims = table.reset_index(drop=True).set_axis(names, axis=1)
    return pd.concat([frame, dims], axis=1)


WRITERS: dict[str, Callable[..., None]] = {
    ".npz": write_npz,
    ".h5": write_hdf5,
    ".hdf5": write_hdf5,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}
