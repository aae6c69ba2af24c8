"""Parquet files: one row per sample, as :mod:`unseen.loading.frames` says.

A class table beside it, ``birds.classes.parquet`` for ``birds.parquet``, is taken
along.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen.loading.csv_file import with_table_beside
from unseen.loading.frames import read_frame
from unseen.loading.parts import Parts, damaged_file, needs_extra
from unseen.loading.registry import reader

__all__ = ["is_parquet", "read_parquet", "read_parquet_frame"]


def is_parquet(path: Path) -> bool:
    """Tell a parquet file by its first bytes."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


@reader("parquet with a column of labels", recognises=is_parquet, general=True)
def read_parquet(path: Path) -> Parts:
    """Read a parquet file of samples, with ``<stem>.classes.parquet`` if it is there.

    Parameters
    ----------
    path : Path
        The file; its stem names the set.

    Returns
    -------
    Parts

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.parquet import read_parquet
    >>> rows = pd.DataFrame(
    ...     {"label": ["zebra", "okapi"], "features": [[1.0, 2], [3, 4]]})
    >>> looks = pd.DataFrame({"stripes": [1.0, 0.5]}, index=["zebra", "okapi"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "zoo.parquet"
    ...     rows.to_parquet(path)
    ...     read_parquet(path).build(looks, unseen=["okapi"]).X
    array([[1., 2.],
           [3., 4.]])
    """
    with damaged_file(path):
        parts = read_frame(read_parquet_frame(path), path.stem, str(path))
    return with_table_beside(parts, path, ".classes.parquet")


def read_parquet_frame(path: Path) -> pd.DataFrame:
    """Read a parquet file whole, its checksums verified where it has them.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.parquet import read_parquet_frame
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "zoo.parquet"
    ...     pd.DataFrame({"a": [1, 2]}).to_parquet(path)
    ...     read_parquet_frame(path)
       a
    0  1
    1  2
    """
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise needs_extra("pyarrow", "files", str(path)) from None
    table = pq.read_table(path, page_checksum_verification=True, memory_map=False)
    columns: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = _to_numpy(column, f"{path}: column {name!r}")
    if "__index_level_0__" in columns:  # pandas keeps an index so
        columns = {"index": columns.pop("__index_level_0__"), **columns}
    return pd.DataFrame(columns)


def _to_numpy(column: Any, where: str) -> Any:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return column.to_numpy()
    if pa.types.is_boolean(kind):
        return np.array(column.to_pylist(), dtype=object)
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        cells = pd.Series(list(column.to_numpy()), dtype=object)
        if cells.isna().any():
            row = int(np.flatnonzero(cells.isna())[0])
            raise ValueError(f"{where} is empty in row {row}. Give every row a list.")
        return cells
    return pd.Series(column.to_pylist(), dtype=object)
