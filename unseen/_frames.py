"""Frames of any library as pandas has them."""

from __future__ import annotations

from typing import Any

import pandas as pd

__all__ = ["as_pandas"]


def as_pandas(frame: Any) -> Any:
    """Return a frame that narwhals reads as a pandas one; anything else as it is.

    Polars, pyarrow, modin and others; pandas' own keep their index.

    Examples
    --------
    >>> import pyarrow
    >>> from unseen._frames import as_pandas
    >>> as_pandas(pyarrow.table({"class": ["okapi"], "stripes": [1.0]}))
       class  stripes
    0  okapi      1.0
    >>> as_pandas([1, 2])
    [1, 2]
    """
    if isinstance(frame, pd.DataFrame) or not hasattr(frame, "columns"):
        return frame
    import narwhals

    read = narwhals.from_native(frame, pass_through=True)
    if isinstance(read, narwhals.LazyFrame):
        read = read.collect()
    if not isinstance(read, narwhals.DataFrame):
        return frame
    if read.implementation.is_pyarrow():
        return read.to_native().to_pandas()
    return pd.DataFrame({name: _column(read[name]) for name in read.columns})


def _column(series: Any) -> Any:
    numbers = series.dtype.is_numeric()
    return series.to_numpy() if numbers else pd.Series(series.to_list(), dtype=object)
