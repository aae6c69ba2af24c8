"""What ``fit``, ``predict`` and ``run`` share: mixed piles, and labels left out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from unseen.data import ZeroShotData

UNKNOWN = "unknown"

Generalized = Annotated[
    bool,
    typer.Option(
        "--generalized", help="Rows may be of seen classes too: all classes compete."
    ),
]
MinReliability = Annotated[
    float,
    typer.Option(
        min=0, max=1, help="Label rows below this probability 'unknown' instead."
    ),
]


def calibrated(model: Any, data: ZeroShotData, seed: int) -> Any:
    """Return the model inside ``Calibrated``, fitted on folds of the seen classes."""
    from unseen.calibration import Calibrated

    made = Calibrated(model, cv=max(2, min(4, len(data.seen) // 2)), random_state=seed)
    return made.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)


def mixed_pile(data: ZeroShotData) -> np.ndarray:
    """Return the rows of a mixed pile: the usual ones and those set aside."""
    import numpy as np

    aside = np.zeros(len(data.y), bool) if data.seen_test is None else data.seen_test
    return np.union1d(data.pile, np.flatnonzero(aside))


def leave_unknown(table: pd.DataFrame, least: float) -> pd.DataFrame:
    """Return the table with labels below a reliability called unknown.

    >>> from unseen.labels import label_table
    >>> table = label_table(["okapi", "zebra"], reliability=[0.9, 0.4])
    >>> leave_unknown(table, 0.5)["label"].tolist()
    ['okapi', 'unknown']
    """
    if not least:
        return table
    if table["reliability"].isna().any():
        raise ValueError(
            "--min-reliability needs a reliability for every row, and these labels "
            "have none. Add --adapt, or fit with --generalized."
        )
    kept = table["reliability"] >= least
    if not kept.any() and len(kept):
        best = int(1000 * table["reliability"].max()) / 1000  # never rounded up
        warnings.warn(
            f"No label is this reliable; the best has {best:g}. Lower "
            "--min-reliability, or look at some labels by hand.",
            UserWarning,
            stacklevel=2,
        )
    return table.assign(label=table["label"].where(kept, UNKNOWN))


def names_given(labels: np.ndarray) -> str:
    """Say how many rows got how many names, and how many were left out.

    >>> import numpy as np
    >>> names_given(np.array(["okapi", "unknown", "zebra"]))
    '2 rows got 2 names, 1 stay unknown'
    """
    named = labels[labels != UNKNOWN]
    left = f", {len(labels) - len(named):,} stay unknown" * (len(named) < len(labels))
    n, n_names = len(named), len(set(named))
    rows, names = "row" if n == 1 else "rows", "name" if n_names == 1 else "names"
    return f"{n:,} {rows} got {n_names} {names}{left}"
