"""Parquet files, whole or a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen._command import needs_extra
from unseen._words import listed
from unseen.limits import check_plain_file, check_unpacked, limits
from unseen.loading.parts import damaged_file

__all__ = ["is_parquet", "iter_parquet", "open_parquet", "read_parquet"]

# Columns of these names number the rows: they are no features.
ROW_NUMBERS = ("id", "row", "index", "unnamed: 0", "__index_level_0__")
BATCH_BYTES = 16 << 20


def is_parquet(path: Path) -> bool:
    """Tell a parquet file by its first bytes."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a parquet file whole."""
    with open_parquet(path) as (schema, batches):
        import pyarrow as pa

        return pa.Table.from_batches(batches, schema).to_pandas()


@contextmanager
def open_parquet(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Yield the schema of a parquet file and its rows in batches of Arrow.

    Texts are numbers of a dictionary. How many values the file claims to hold is
    compared with its size before it is read.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise needs_extra("pyarrow", "files", str(path)) from None
    check_plain_file(path)
    with damaged_file(path):
        claims = pq.read_metadata(path)
        n_columns = claims.num_columns
        if n_columns > limits().columns:
            raise ValueError(
                f"{path}: has {n_columns} columns. Give a column of lists."
            )
        groups = [claims.row_group(i) for i in range(claims.num_row_groups)]
        n = sum(g.column(i).num_values for g in groups for i in range(n_columns))
        check_unpacked(4 * n, path.stat().st_size, path)
        fields = claims.schema.to_arrow_schema()
        with pq.ParquetFile(
            path,
            read_dictionary=[f.name for f in fields if pa.types.is_string(f.type)],
            page_checksum_verification=True,
            pre_buffer=False,
            buffer_size=BATCH_BYTES,  # not a whole column of a row group at once
        ) as file:
            step = min(4096, max(1, BATCH_BYTES // (8 * max(1, n_columns))))
            yield file.schema_arrow, file.iter_batches(step, use_threads=False)


def iter_parquet(source: Any, label: str | None = None) -> Iterator[Any]:
    """Go through the rows of a file, a folder of files or a dataset of pyarrow.

    Features are the one column of lists, if there is one, else all columns of numbers;
    with a ``label``, pairs of them and that column are yielded.
    """
    if hasattr(source, "to_batches"):
        features = _feature_columns(source.schema, label, "the dataset")
        # One batch at a time, in order: reading ahead would hold many.
        batches = source.to_batches(
            columns=features if label is None else [*features, label],
            batch_size=4 * 4096,
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
        )
        yield from _arrays(batches, features, label, "the dataset")
        return
    for path in _files(Path(source)):
        with open_parquet(path) as (schema, batches):
            features = _feature_columns(schema, label, str(path))
            yield from _arrays(batches, features, label, str(path))


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


def _is_list(kind: Any) -> bool:
    import pyarrow.types as types

    kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(is_one(kind) for is_one in kinds)


def _feature_columns(schema: Any, label: str | None, where: str) -> list[str]:
    """Return the columns that hold features: one of lists, or those of numbers."""
    import pyarrow.types as types

    kinds = {field.name: field.type for field in schema}
    if label is not None and label not in kinds:
        raise ValueError(f"{where}: has no column {label!r} ({listed(kinds)}).")
    lists = [name for name, kind in kinds.items() if _is_list(kind)]
    numbers = [
        name
        for name, kind in kinds.items()
        if name != label
        and name.lower() not in ROW_NUMBERS
        and (types.is_floating(kind) or types.is_integer(kind))
    ]
    if len(lists) > 1 or not lists + numbers:
        raise ValueError(
            f"{where}: has {len(lists)} columns of lists, {len(numbers)} of numbers. "
            "Give one column of lists, or columns of numbers only."
        )
    return lists or numbers


def _arrays(
    batches: Iterable[Any], features: list[str], label: str | None, where: str
) -> Iterator[Any]:
    """Yield features, and labels if asked for, of batches of Arrow."""
    for batch in batches:
        columns = [batch.column(name) for name in features]
        if _is_list(columns[0].type):
            X = _stacked(columns[0], where)
        else:
            X = np.column_stack([c.to_numpy(zero_copy_only=False) for c in columns])
        yield X if label is None else (X, np.asarray(batch.column(label).to_pandas()))


def _stacked(column: Any, where: str) -> np.ndarray:
    """Return lists of one length as a matrix."""
    values = column.flatten().to_numpy(zero_copy_only=False)
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    if column.null_count or len(np.unique(lengths)) > 1:
        raise ValueError(f"{where}: lists differ in length. Give every row one length.")
    return values.reshape(len(column), -1)
