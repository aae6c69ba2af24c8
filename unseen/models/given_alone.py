"""A start from nothing but given labels: the mean row of each class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_array

from unseen._linalg import inverse_lengths
from unseen._params import DTYPES, refuse_masked, refuse_mixed
from unseen.models.given import NONE_OF_THESE, read_given
from unseen.rows.source import in_one_piece


def prototypes_of(X: Any, given: Any) -> pd.DataFrame:
    """Return the mean of the given rows of each class, at unit length before.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    given : mapping or Series of row → label, or array-like

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.models.given_alone import prototypes_of
    >>> prototypes_of(np.array([[0.0, 2.0], [3.0, 0.0]]), {0: "up", 1: "right"})
             0    1
    right  1.0  0.0
    up     0.0  1.0
    """
    refuse_masked(X, "X")
    rows = check_array(in_one_piece(X), dtype=DTYPES, input_name="X")
    numbers, labels = read_given(given, len(rows))
    fits = np.array([label != NONE_OF_THESE for label in labels], dtype=bool)
    numbers, labels = numbers[fits], labels[fits]
    refuse_mixed(labels, "given")
    if len(set(labels.tolist())) < 2:
        raise ValueError(
            f"given names {len(set(labels.tolist()))} classes, and there is nothing "
            "else to start from. Give labels of two classes at least, or prototypes."
        )
    some = rows[numbers].astype(np.float64)
    some *= inverse_lengths(some)[:, None]
    if not isinstance(labels[0], str):
        labels = labels.astype(int)
    return pd.DataFrame(some).groupby(np.array(labels.tolist())).mean()
