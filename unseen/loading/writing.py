"""Write a data set in any of the kinds that can be written, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from unseen._files import replace_file
from unseen.data import ZeroShotData, one_table
from unseen.loading.csv_file import to_csv_text
from unseen.loading.hdf5 import write_hdf5
from unseen.loading.npz import save_data
from unseen.loading.parts import as_float, needs_extra
from unseen.rows.blocks import iter_blocks

__all__ = ["WRITERS", "kind_of", "write_data"]

SUFFIXES = {
    ".npz": "npz",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".csv": "csv",
    ".parquet": "parquet",
    "": "folder",
}


def write_data(
    data: ZeroShotData, path: str | os.PathLike[str], *, kind: str | None = None
) -> Path:
    """Write a data set so that ``load_data`` reads it back.

    Parameters
    ----------
    data : ZeroShotData
        What to write.
    path : path
        Where to; what is there already is replaced, once the new is complete. A folder
        is replaced only if it is empty or holds a data set.
    kind : str, optional
        ``"npz"``, ``"hdf5"``, ``"csv"``, ``"parquet"``, ``"folder"`` or ``"xlsa17"``;
        by default told by the suffix, a folder if there is none.

    Returns
    -------
    Path
        The file or folder written.

    Notes
    -----
    CSV and parquet keep one class table, in ``<stem>.classes.csv`` beside the rows;
    fused tables are written side by side. CSV keeps numbers, not their precision:
    they are read back as float64.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen import load_data
    >>> from unseen.loading import write_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_data(load_data("digits"), Path(folder) / "digits")
    ...     sorted(file.name for file in path.iterdir())
    ['about.json', 'classes', 'classes.csv', 'features.npy', 'labels.csv']
    """
    path = Path(path)
    WRITERS[kind_of(path, kind)](data, path)
    return path


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


def _write_folder(data: ZeroShotData, path: Path) -> None:
    tables = {name: one_table(data.class_embeddings, name) for name in data.tables}
    plain = not tables
    with _replace_folder(path, ("features.npy", "labels.csv")) as draft:
        _write_npy(data.X, draft / "features.npy")
        columns: dict[str, Any] = {"label": data.y}
        if data.seen_test is not None:
            columns["split"] = np.where(data.seen_test, "test", "train")
        (draft / "labels.csv").write_bytes(to_csv_text(pd.DataFrame(columns)))
        main = _split_frame(data)
        if plain:
            main = pd.concat([main, _dims(data.class_embeddings)], axis=1)
        (draft / "classes.csv").write_bytes(to_csv_text(main))
        if tables:
            (draft / "classes").mkdir()
        for name, table in tables.items():
            frame = pd.concat([_split_frame(data)[["class"]], _dims(table)], axis=1)
            file = draft / "classes" / f"{quote(name, safe=' ')}.csv"
            file.write_bytes(to_csv_text(frame))
        tables = tables or {"": data.class_embeddings}
        about = {
            "name": data.name,
            "fused": data.class_embeddings.columns.nlevels == 2,
            "tables": {k: str(as_float(t.to_numpy()).dtype) for k, t in tables.items()},
        }
        (draft / "about.json").write_text(json.dumps(about, indent=1), "utf-8")


def _write_csv(data: ZeroShotData, path: Path) -> None:
    with replace_file(path.with_name(path.stem + ".classes.csv")) as file:
        file.write(to_csv_text(_class_frame(data)))
    with replace_file(path) as file:
        for block in _row_frames(data):
            file.write(block)


def _row_frames(data: ZeroShotData) -> Iterator[bytes]:
    start = 0
    for X in iter_blocks(data.X, rows=10_000):
        here = slice(start, start + len(X))
        names = [f"x{i}" for i in range(X.shape[1])]
        frame = pd.DataFrame(X.astype(np.float64), columns=names)  # exact as text
        if data.seen_test is not None:
            frame.insert(0, "split", _row_splits(data)[here])
        frame.insert(0, "label", data.y[here])
        text = to_csv_text(frame)
        yield text if start == 0 else text.split(b"\n", 1)[1]
        start += len(X)


def _write_parquet(data: ZeroShotData, path: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise needs_extra("pyarrow", "files", str(path)) from None
    beside = path.with_name(path.stem + ".classes.parquet")
    with replace_file(beside) as file:
        frame = pa.Table.from_pandas(_class_frame(data), preserve_index=False)
        pq.write_table(frame, file, write_page_checksum=True)
    kind = pa.list_(pa.from_numpy_dtype(data.X.dtype), data.X.shape[1])
    fields = [("label", pa.string()), ("features", kind)]
    if data.seen_test is not None:
        fields.insert(1, ("split", pa.string()))
    schema = pa.schema(fields)
    splits = _row_splits(data) if data.seen_test is not None else None
    start = 0
    with (
        replace_file(path) as file,
        pq.ParquetWriter(file, schema, write_page_checksum=True) as writer,
    ):
        for X in iter_blocks(data.X):
            here = slice(start, start + len(X))
            columns = [
                pa.array(data.y[here], pa.string()),
                pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1]),
            ]
            if splits is not None:
                columns.insert(1, pa.array(splits[here], pa.string()))
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            start += len(X)


def _write_xlsa17(data: ZeroShotData, path: Path) -> None:
    from scipy.io import savemat

    if data.X.nbytes >= 2**32:
        raise ValueError(
            f"{path}: X has {data.X.nbytes} bytes, but a MATLAB 5 file holds less than "
            "4 GB at a piece. Write HDF5 or a folder."
        )
    rows = np.arange(1, len(data.y) + 1, dtype=np.float64)[:, None]
    first, *others = data.tables or ("",)
    tables = {"att": one_table(data.class_embeddings, first).to_numpy().T}
    if others:
        tables["original_att"] = (
            one_table(data.class_embeddings, others[0]).to_numpy().T
        )
    if len(others) > 1:
        raise ValueError(
            f"{path}: xlsa17 has room for two class tables, and {data.name} has "
            f"{len(data.tables)}. Choose with classes=."
        )
    names = np.empty((data.n_classes, 1), dtype=object)
    names[:, 0] = data.classes
    splits = {
        "allclasses_names": names,
        "trainval_loc": rows[data._in_training],
        "test_seen_loc": rows[data._set_aside],
        "test_unseen_loc": rows[data._in_unseen],
        **tables,
    }
    labels = (data._class_rows + 1).astype(np.float64)[:, None]
    features = {"features": np.asarray(data.X).T, "labels": labels}
    with _replace_folder(path, ("res101.mat", "att_splits.mat")) as draft:
        savemat(draft / "res101.mat", features, do_compression=True)
        savemat(draft / "att_splits.mat", splits, do_compression=True)


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


@contextmanager
def _replace_folder(path: Path, signs: tuple[str, ...]) -> Iterator[Path]:
    """Fill a folder beside ``path`` and move it there once it is complete."""
    strange = path.exists() and not (
        path.is_dir()
        and (not any(path.iterdir()) or all((path / s).is_file() for s in signs))
    )
    if strange:
        raise FileExistsError(
            f"{path}: is there already and holds no data set of this kind. "
            "Give another name, or remove it."
        )
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    old = draft.with_suffix(".old")
    draft.mkdir()
    try:
        yield draft
        if path.exists():
            os.replace(path, old)
        os.replace(draft, path)
    finally:
        for leftover in (draft, old):
            shutil.rmtree(leftover, ignore_errors=True)


WRITERS: dict[str, Callable[[ZeroShotData, Path], Any]] = {
    "npz": save_data,
    "hdf5": write_hdf5,
    "folder": _write_folder,
    "csv": _write_csv,
    "parquet": _write_parquet,
    "xlsa17": _write_xlsa17,
}
