"""Parquet files, whole or a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen._command import needs_extra
from unseen._words import listed
from unseen.limits import check_plain_file, check_unpacked, limits
from unseen.loading.parts import damaged_file, first_bytes

__all__ = ["is_parquet", "iter_parquet", "open_parquet", "read_parquet"]

# Columns of these names number the rows: they are not features.
ROW_NUMBERS = ("id", "row", "index", "unnamed: 0", "__index_level_0__")


def is_parquet(path: Path) -> bool:
    """Tell a parquet file by its first bytes."""
    return first_bytes(path, 4) == b"PAR1"


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a parquet file whole."""
    with open_parquet(path) as (schema, batches):
        import pyarrow as pa

        return pa.Table.from_batches(batches, schema).to_pandas()


def pyarrow(path: Path) -> tuple[Any, Any]:
    """Return pyarrow and its module for parquet, or say what to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise needs_extra("pyarrow", "files", str(path)) from None
    return pyarrow, pyarrow.parquet


@contextmanager
def open_parquet(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Yield the schema of a parquet file and its rows in batches of Arrow.

    Texts are numbers of a dictionary. How many values the file claims to hold is
    compared with its size before it is read.
    """
    pa, pq = pyarrow(path)
    check_plain_file(path)
    with damaged_file(path):
        claims = pq.read_metadata(path)
        n_columns = claims.num_columns
        if n_columns > limits().columns:
            raise ValueError(f"{path} has {n_columns} columns. Give a column of lists.")
        groups = [claims.row_group(i) for i in range(claims.num_row_groups)]
        n = sum(g.column(i).num_values for g in groups for i in range(n_columns))
        check_unpacked(4 * n, path.stat().st_size, path)
        fields = claims.schema.to_arrow_schema()
        batch_bytes = 16 << 20  # not a whole column of a row group at once
        with pq.ParquetFile(
            path,
            read_dictionary=[f.name for f in fields if pa.types.is_string(f.type)],
            page_checksum_verification=True,
            pre_buffer=False,
            buffer_size=batch_bytes,
        ) as file:
            step = min(4096, max(1, batch_bytes // (8 * max(1, n_columns))))
            yield file.schema_arrow, file.iter_batches(step, use_threads=False)


def iter_parquet(path: Path, label: str | None = None) -> Iterator[Any]:
    """Go through the rows of a file, or of all files below a folder, by name.

    Features are the one column of lists, if there is one, else all columns of numbers;
    with a ``label``, pairs of them and that column are yielded.
    """
    files = [path]
    if path.is_dir():
        inside = (file.relative_to(path) for file in path.rglob("*.parquet"))
        shown = (f for f in inside if not any(p[0] in "._" for p in f.parts))
        files = [path / file for file in sorted(shown)]
    if not files or not all(map(is_parquet, files)):
        raise ValueError(f"{path} is neither .npy nor parquet. Give one of the two.")
    for file in files:
        with open_parquet(file) as (schema, batches):
            features = _feature_columns(schema, label, file)
            for batch in batches:
                X = _features_of(batch, features, file)
                y = None if label is None else batch.column(label).to_pandas()
                yield X if y is None else (X, np.asarray(y))


def _feature_columns(schema: Any, label: str | None, where: Path) -> list[str]:
    """Return the columns that hold features: one of lists, or those of numbers."""
    import pyarrow as pa

    kinds = {field.name: field.type for field in schema}
    if label is not None and label not in kinds:
        raise ValueError(f"{where} has no column {label!r} ({listed(kinds)}).")
    list_types = (pa.ListType, pa.LargeListType, pa.FixedSizeListType)
    lists = [name for name, kind in kinds.items() if isinstance(kind, list_types)]
    numbers = [
        name
        for name, kind in kinds.items()
        if name != label
        and name.lower() not in ROW_NUMBERS
        and (pa.types.is_floating(kind) or pa.types.is_integer(kind))
    ]
    if len(lists) > 1 or not lists + numbers:
        raise ValueError(
            f"{where} has {len(lists)} columns of lists, {len(numbers)} of numbers. "
            "Give one column of lists, or columns of numbers only."
        )
    return lists or numbers


def _features_of(batch: Any, features: list[str], where: Path) -> np.ndarray:
    """Return the features of a batch of Arrow."""
    columns = [batch.column(name) for name in features]
    if not hasattr(columns[0], "value_lengths"):  # no lists
        return np.column_stack([c.to_numpy(zero_copy_only=False) for c in columns])
    lengths = columns[0].value_lengths().to_numpy(zero_copy_only=False)
    if columns[0].null_count or len(np.unique(lengths)) > 1:
        raise ValueError(f"{where}: lists differ in length. Give every row one length.")
    values = columns[0].flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(batch), -1)
