"""Labels that a caller gives for some rows of a pile: certain, and few."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from unseen.class_table import Competition


def given_codes(given: Any, n: int, competition: Competition) -> np.ndarray | None:
    """Return the class number of every row with a label, -1 for all others.

    >>> import numpy as np
    >>> from unseen.class_table import Competition
    >>> from unseen.transduction.given import given_codes
    >>> who = Competition(np.array(["a", "b"]), np.eye(2))
    >>> given_codes({2: "b"}, 4, who)
    array([-1, -1,  1, -1])
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        strange = [row for row in given if not 0 <= int(row) < n]
        if strange:
            raise ValueError(
                f"given has a label for row {strange[0]}, but X has {n} rows. Rows are "
                "numbered from 0."
            )
        labels = np.full(n, None, dtype=object)
        for row, label in given.items():
            labels[int(row)] = label
    else:
        labels = np.asarray(given, dtype=object)
    if labels.shape != (n,):
        raise ValueError(
            f"given has shape {labels.shape}, but X has {n} rows. Give one entry per "
            "row, None where there is no label, or a mapping from row to label."
        )
    known = ~pd.isna(labels)
    columns = pd.Index(competition.columns.tolist())
    place = columns.get_indexer(pd.Index(labels[known].tolist()))
    if (place < 0).any():
        stranger = labels[known][place < 0][0]
        raise ValueError(
            f"given names the class {stranger!r}, which does not compete. Give labels "
            f"among {', '.join(map(str, columns[:3]))}, ..."
        )
    codes = np.full(n, -1)
    codes[known] = competition.spread(np.arange(len(competition)))[place]
    return codes


def in_chunks(codes: np.ndarray | None, rows: Any) -> Any:
    """Return the codes as the holder wants a state: on Dask, one array per chunk."""
    if codes is None or not hasattr(rows, "lengths"):
        return codes
    return np.split(codes, np.cumsum(rows.lengths)[:-1])
