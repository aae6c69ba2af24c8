"""What a review comes to, as files in the one schema of labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from unseen.labels import label_table, write_labels
from unseen.models.given import NONE_OF_THESE
from unseen.review.answers import Model

__all__ = ["write_tables"]

OWN = {"id", "label", "reliability", "second", "first_trusted", "given", "changed"}


def write_tables(
    folder: Path,
    table: pd.DataFrame,
    given: Mapping[int, str],
    model: Model,
    labels: np.ndarray,
    first: np.ndarray,
) -> None:
    """Write ``corrections.csv`` and ``reviewed.csv``, each whole or not at all.

    Parameters
    ----------
    folder : path
    table : DataFrame
        That is reviewed.
    given : mapping of row to label
        By people.
    model : Model
        Its labels of now.
    labels, first : array of shape (n,)
        All labels as they are now, and as they were at the start.
    """
    rows, ids = sorted(given), table["id"].tolist()
    named = [given[row] or NONE_OF_THESE for row in rows]
    corrections = label_table(named, ids=[ids[row] for row in rows])
    write_labels(corrections[["id", "label"]], folder / "corrections.csv")
    held = np.isin(np.arange(len(labels)), rows)
    reviewed = label_table(
        labels,
        ids=ids,
        reliability=np.where(held, 1.0, model.reliability),
        second=np.where(held, "", model.second),
        first_trusted=table["first_trusted"],
        given=np.where(held, "yes", ""),
        changed=np.where(labels != first, "yes", ""),
        **{str(name): table[name] for name in table if name not in OWN},
    )
    write_labels(reviewed, folder / "reviewed.csv")
