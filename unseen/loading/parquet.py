"""Parquet files, whole or a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from unseen._command import needs_extra
from unseen.limits import check_plain_file, check_unpacked, limits
from unseen.loading.parts import damaged_file, first_bytes

__all__ = ["is_parquet", "open_parquet", "pyarrow", "read_parquet"]


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
