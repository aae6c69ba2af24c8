"""Parquet files, whole or a batch at a time, and columns of Arrow as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen._command import needs_extra
from unseen._words import listed
from unseen.limits import check_plain_file, limits, unpacked_allowance
from unseen.loading.parts import ROW_NUMBERS, damaged_file

__all__ = [
    "is_arrow_dataset",
    "is_parquet",
    "iter_parquet",
    "read_parquet_frame",
]

PARQUET_ROWS = 16_384  # of a dataset of pyarrow, decoded at a time
BATCH_BYTES = 16 << 20


def is_parquet(path: Path) -> bool:
    """Tell a parquet file by its first bytes."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def read_parquet_frame(path: Path) -> pd.DataFrame:
    """Read a parquet file whole, its checksums verified where it has them."""
    check_plain_file(path)
    with open_parquet(path) as (schema, batches):
        import pyarrow as pa

        table = pa.Table.from_batches(batches, schema)
    columns: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = column_to_numpy(column, f"{path}: column {name!r}")
    if "__index_level_0__" in columns:  # pandas keeps an index so
        columns = {"index": columns.pop("__index_level_0__"), **columns}
    return pd.DataFrame(columns)


@contextmanager
def open_parquet(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Yield the schema of a parquet file and its rows in batches of Arrow.

    Texts are numbers of a dictionary. What the file claims is compared with its size
    before it is read, and what it gives while it is.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise needs_extra("pyarrow", "files", str(path)) from None
    with damaged_file(path), pq.ParquetFile(path) as file:
        fields, n_rows = file.schema_arrow, file.metadata.num_rows
        texts = [field.name for field in fields if pa.types.is_string(field.type)]
    allowed = unpacked_allowance(path.stat().st_size)
    if len(fields) > limits().columns:
        raise ValueError(f"{path}: has {len(fields)} columns. Give a column of lists.")
    if 4 * max(1, len(fields)) * n_rows > allowed:
        raise ValueError(f"{path}: claims {n_rows} rows of {len(fields)} columns.")
    step = min(4096, max(1, BATCH_BYTES // (8 * max(1, len(fields)))))

    def counted(batches: Iterable[Any]) -> Iterator[Any]:
        left = allowed
        for batch in batches:
            left -= batch.nbytes
            if left < 0:
                raise ValueError(f"{path}: unpacks to more than {allowed} bytes.")
            yield batch

    with (
        damaged_file(path),
        pq.ParquetFile(
            path,
            read_dictionary=texts,
            page_checksum_verification=True,
            pre_buffer=False,
            buffer_size=BATCH_BYTES,  # not a whole column of a row group at once
        ) as file,
    ):
        yield file.schema_arrow, counted(file.iter_batches(step, use_threads=False))


def column_to_numpy(column: Any, where: str) -> Any:
    """Return a column of Arrow as numbers, texts or lists."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return column.to_numpy()
    if pa.types.is_boolean(kind):
        return np.array(column.to_pylist(), dtype=object)
    if _is_list(kind):
        cells = pd.Series(list(column.to_numpy()), dtype=object)
        if cells.isna().any():
            row = int(np.flatnonzero(cells.isna())[0])
            raise ValueError(f"{where} is empty in row {row}. Give every row a list.")
        return cells
    if pa.types.is_dictionary(kind):
        return _spelled_out(column.unify_dictionaries(), where)
    return pd.Series(column.to_pylist(), dtype=object)


def _is_list(kind: Any) -> bool:
    import pyarrow.types as types

    return any(
        is_one(kind)
        for is_one in (types.is_list, types.is_large_list, types.is_fixed_size_list)
    )


def _spelled_out(column: Any, where: str) -> pd.Series:
    """Return the texts of a dictionary column, each of them once in memory."""
    parts = []
    for chunk in column.chunks:
        words = np.array([*chunk.dictionary.to_pylist(), None], dtype=object)
        codes = chunk.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
        parts.append(words[codes])
    return pd.Series(np.concatenate(parts) if parts else [], dtype=object)


def iter_parquet(source: Any, label: str | None = None) -> Iterator[Any]:
    """Go through the rows of parquet files, a batch at a time.

    Parameters
    ----------
    source : path of a file or of a folder of files, or pyarrow dataset
    label : str, optional
        The column that holds the labels. Features are the one column of lists, if
        there is one, else all columns of numbers.

    Yields
    ------
    ndarray of shape (n_rows, n_features), or a pair of it and the labels

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.parquet import iter_parquet
    >>> rows = pd.DataFrame({"kind": ["zebra", "okapi"], "a": [1.0, 2], "b": [3.0, 4]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows.to_parquet(Path(folder) / "zoo.parquet")
    ...     for X, y in iter_parquet(Path(folder) / "zoo.parquet", "kind"):
    ...         print(X.tolist(), y.tolist())
    [[1.0, 3.0], [2.0, 4.0]] ['zebra', 'okapi']
    """
    if is_arrow_dataset(source):
        features, _ = wanted = _feature_columns(source.schema, label, "the dataset")
        # One batch at a time, in order: reading ahead would hold many.
        batches = source.to_batches(
            columns=features if label is None else [*features, label],
            batch_size=PARQUET_ROWS,
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
        )
        yield from _arrays(batches, *wanted, label, "the dataset")
        return
    for path in _files(Path(source)):
        with open_parquet(path) as (schema, batches):
            wanted = _feature_columns(schema, label, str(path))
            yield from _arrays(batches, *wanted, label, str(path))


def is_arrow_dataset(source: Any) -> bool:
    """Tell a ``pyarrow.dataset.Dataset``, without loading pyarrow."""
    return type(source).__module__ == "pyarrow._dataset"


def _files(path: Path) -> list[Path]:
    """Return one file, or all parquet files below a folder, by name."""
    found = [path]
    if path.is_dir():
        inside = (file.relative_to(path) for file in path.rglob("*.parquet"))
        shown = (f for f in inside if not any(p[0] in "._" for p in f.parts))
        found = [path / file for file in sorted(shown)]
    if not found or not all(map(is_parquet, found)):
        raise ValueError(f"{path}: is neither .npy nor parquet. Give one of the two.")
    return found


def _feature_columns(
    schema: Any, label: str | None, where: str
) -> tuple[list[str], bool]:
    """Return the columns that hold features, and whether they are one of lists."""
    import pyarrow as pa

    kinds = {field.name: field.type for field in schema}
    if label is not None and label not in kinds:
        raise ValueError(f"{where}: has no column {label!r} ({listed(kinds)}).")
    lists = [name for name, kind in kinds.items() if _is_list(kind)]
    numbers = [
        name
        for name, kind in kinds.items()
        if name != label
        and name.lower() not in ROW_NUMBERS
        and (pa.types.is_floating(kind) or pa.types.is_integer(kind))
    ]
    features = lists or numbers
    if len(lists) > 1 or not features:
        raise ValueError(
            f"{where}: has {len(lists)} columns of lists, {len(numbers)} of numbers. "
            "Give one column of lists, or columns of numbers only."
        )
    return features, bool(lists)


def _arrays(
    batches: Iterable[Any],
    features: list[str],
    lists: bool,
    label: str | None,
    where: str,
) -> Iterator[Any]:
    """Yield features, and labels if asked for, of batches or tables of Arrow."""
    for batch in batches:
        columns = [batch.column(name) for name in features]
        X = _stacked(columns[0], where) if lists else _side_by_side(columns)
        if label is None:
            yield X
        else:
            y = column_to_numpy(_in_pieces(batch.column(label)), where)
            yield X, np.asarray(y)


def _in_pieces(column: Any) -> Any:
    import pyarrow as pa

    return column if hasattr(column, "chunks") else pa.chunked_array([column])


def _side_by_side(columns: list[Any]) -> np.ndarray:
    arrays = [column.to_numpy(zero_copy_only=False) for column in columns]
    return np.column_stack(arrays)


def _stacked(column: Any, where: str) -> np.ndarray:
    """Return lists of one length as a matrix."""
    values = column.flatten().to_numpy(zero_copy_only=False)
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    if column.null_count or len(np.unique(lengths)) > 1:
        raise ValueError(f"{where}: lists differ in length. Give every row one length.")
    return values.reshape(len(column), -1)
