"""Write a data set in any of the kinds that can be written, whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from unseen._command import needs_extra
from unseen._data_checks import one_table
from unseen.data import ZeroShotData
from unseen.files import replace_file, replace_folder
from unseen.loading.arrays import save_data, write_hdf5
from unseen.loading.blocks import iter_blocks
from unseen.loading.parts import as_float

__all__ = ["WRITERS", "files_of", "kind_of", "write_data"]

SUFFIXES = {
    ".npz": "npz",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".csv": "csv",
    ".parquet": "parquet",
    "": "folder",
}


def write_data(
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
    >>> from unseen import load_data
    >>> from unseen.loading import write_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_data(load_data("digits"), Path(folder) / "digits")
    ...     sorted(file.name for file in path.iterdir())
    ['.made-by-unseen', 'about.json', 'classes', 'classes.csv', 'features.npy',
    'labels.csv']
    """
    path = Path(path)
    kind = kind_of(path, kind)
    if kind == "xlsa17":
        _check_xlsa17(data, path)
    if kind in FOLDERS:
        with replace_folder(path, force=force) as draft:
            WRITERS[kind](data, draft)
    else:
        WRITERS[kind](data, path)
    return path


def files_of(path: Path, kind: str | None = None) -> list[Path]:
    """Return the files or the folder that :func:`write_data` would write.

    Examples
    --------
    >>> from pathlib import Path
    >>> from unseen.loading.writing import files_of
    >>> [str(file) for file in files_of(Path("birds.csv"))]
    ['birds.classes.csv', 'birds.csv']
    """
    kind = kind_of(path, kind)
    if kind in ("csv", "parquet"):
        return [path.with_name(f"{path.stem}.classes.{kind}"), path]
    return [path]


def kind_of(path: Path, kind: str | None = None) -> str:
    """Return the kind to write: as asked, or as the suffix tells.

    Examples
    --------
    >>> from pathlib import Path
    >>> from unseen.loading.writing import kind_of
    >>> kind_of(Path("birds.h5")), kind_of(Path("birds"))
    ('hdf5', 'folder')
    """
    if kind is None:
        kind = SUFFIXES.get(path.suffix.lower(), "")
    if kind not in WRITERS:
        raise ValueError(
            f"{path}: no kind of file to write is called {kind or path.suffix!r}. "
            f"Give one of {', '.join(WRITERS)}."
        )
    return kind


def _write_folder(data: ZeroShotData, draft: Path) -> None:
    tables = {name: one_table(data.class_embeddings, name) for name in data.tables}
    plain = not tables
    _write_npy(data.X, draft / "features.npy")
    columns: dict[str, Any] = {"label": data.y}
    if data.seen_test is not None:
        columns["split"] = np.where(data.seen_test, "test", "train")
    _write(draft / "labels.csv", to_csv_text(pd.DataFrame(columns)))
    main = _split_frame(data)
    if plain:
        main = pd.concat([main, _dims(data.class_embeddings)], axis=1)
    _write(draft / "classes.csv", to_csv_text(main))
    if tables:
        (draft / "classes").mkdir()
    for name, table in tables.items():
        frame = pd.concat([_split_frame(data)[["class"]], _dims(table)], axis=1)
        file = draft / "classes" / f"{quote(name, safe=' ')}.csv"
        _write(file, to_csv_text(frame))
    tables = tables or {"": data.class_embeddings}
    about = {
        "name": data.name,
        "fused": data.class_embeddings.columns.nlevels == 2,
        "tables": {k: str(as_float(t.to_numpy()).dtype) for k, t in tables.items()},
    }
    _write(draft / "about.json", json.dumps(about, indent=1).encode())


def _write_csv(data: ZeroShotData, path: Path) -> None:
    beside, path = files_of(path, "csv")
    with replace_file(beside) as file:
        file.write(to_csv_text(_class_frame(data)))
    with replace_file(path) as file:
        for block in _row_frames(data):
            file.write(block)


def _row_frames(data: ZeroShotData) -> Iterator[bytes]:
    start = 0
    for X in iter_blocks(data.X, rows=10_000):
        here = slice(start, start + len(X))
        numbered = [f"x{i}" for i in range(X.shape[1])]
        names = numbered if data.feature_names is None else data.feature_names
        frame = pd.DataFrame(X.astype(np.float64), columns=names)  # exact as text
        if data.seen_test is not None:
            frame.insert(0, "split", _row_splits(data)[here])
        frame.insert(0, "label", data.y[here])
        if data.ids is not None:
            frame.insert(0, "id", data.ids[here])
        text = to_csv_text(frame)
        yield text if start == 0 else text.split(b"\n", 1)[1]
        start += len(X)


def _write_parquet(data: ZeroShotData, path: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise needs_extra("pyarrow", "files", str(path)) from None
    classes = pa.Table.from_pandas(_class_frame(data), preserve_index=False)
    kind = pa.list_(pa.from_numpy_dtype(data.X.dtype), data.X.shape[1])
    fields = [("label", pa.string()), ("features", kind)]
    if data.seen_test is not None:
        fields.insert(1, ("split", pa.string()))
    if data.ids is not None:
        fields.insert(0, ("id", pa.string()))
    schema = pa.schema(fields)
    beside, path = files_of(path, "parquet")
    with replace_file(beside) as file:
        pq.write_table(classes, file, write_page_checksum=True)
    with (
        replace_file(path) as file,
        pq.ParquetWriter(file, schema, write_page_checksum=True) as writer,
    ):
        for columns in _parquet_columns(data):
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _parquet_columns(data: ZeroShotData) -> Iterator[list[Any]]:
    """Yield label, split if there is one, and features, a block at a time."""
    import pyarrow as pa

    splits = _row_splits(data) if data.seen_test is not None else None
    start = 0
    for X in iter_blocks(data.X):
        here = slice(start, start + len(X))
        columns = [
            pa.array(data.y[here], pa.string()),
            pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1]),
        ]
        if splits is not None:
            columns.insert(1, pa.array(splits[here], pa.string()))
        if data.ids is not None:
            columns.insert(0, pa.array(data.ids[here], pa.string()))
        yield columns
        start += len(X)


def _check_xlsa17(data: ZeroShotData, path: Path) -> None:
    if data.X.nbytes >= 2**32:
        raise ValueError(
            f"{path}: X has {data.X.nbytes} bytes, but a MATLAB 5 file holds less than "
            "4 GB at a piece. Write HDF5 or a folder."
        )
    if len(data.tables) > 2:
        raise ValueError(
            f"{path}: xlsa17 has room for two class tables, and {data.name} has "
            f"{len(data.tables)}. Choose with classes=."
        )


def _write_xlsa17(data: ZeroShotData, draft: Path) -> None:
    from scipy.io import savemat

    rows = np.arange(1, len(data.y) + 1, dtype=np.float64)[:, None]
    tables = {
        place: one_table(data.class_embeddings, name).to_numpy().T
        for place, name in zip(
            ("att", "original_att"), data.tables or ("",), strict=False
        )
    }
    names = np.empty((data.n_classes, 1), dtype=object)
    names[:, 0] = data.classes
    splits = {
        "allclasses_names": names,
        "trainval_loc": rows[data._in_training],
        "test_seen_loc": rows[data._set_aside],
        "test_unseen_loc": rows[data.pile],
        **tables,
    }
    labels = np.where(data.y == "", np.nan, data._class_rows + 1.0)[:, None]
    features = {"features": np.asarray(data.X).T, "labels": labels}
    for name, content in {"res101.mat": features, "att_splits.mat": splits}.items():
        with open(draft / name, "xb") as file:
            savemat(file, content, do_compression=True)


def to_csv_text(frame: pd.DataFrame) -> bytes:
    """Return a frame as CSV; numbers read back as they were."""
    return frame.to_csv(index=False, lineterminator="\n").encode()


def _split_frame(data: ZeroShotData) -> pd.DataFrame:
    split = np.where(data._is_unseen, "unseen", "seen")
    return pd.DataFrame({"class": data.classes, "split": split})


def _class_frame(data: ZeroShotData) -> pd.DataFrame:
    return pd.concat([_split_frame(data), _dims(data.class_embeddings)], axis=1)


def _dims(table: pd.DataFrame) -> pd.DataFrame:
    names = [
        ".".join(map(str, label)) if isinstance(label, tuple) else str(label)
        for label in table.columns
    ]
    return table.reset_index(drop=True).set_axis(names, axis=1)


def _row_splits(data: ZeroShotData) -> np.ndarray:
    splits = np.where(data._in_unseen, "unseen", "seen").astype("<U6")
    splits[data._set_aside] = "test"
    return splits


def _write(path: Path, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)


def _write_npy(X: np.ndarray, path: Path) -> None:
    header = {
        "descr": np.lib.format.dtype_to_descr(X.dtype),
        "fortran_order": False,
        "shape": X.shape,
    }
    with open(path, "xb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for block in iter_blocks(X):
            file.write(np.ascontiguousarray(block).data)


WRITERS: dict[str, Callable[[ZeroShotData, Path], Any]] = {
    "npz": save_data,
    "hdf5": write_hdf5,
    "folder": _write_folder,
    "csv": _write_csv,
    "parquet": _write_parquet,
    "xlsa17": _write_xlsa17,
}
FOLDERS = ("folder", "xlsa17")
