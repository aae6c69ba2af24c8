"""What a :class:`unseen.data.ZeroShotData` must hold, and its class tables."""

import re
import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd
from pandas.api.types import is_complex_dtype, is_numeric_dtype

from unseen._words import shown
from unseen.limits import limits

# Control characters, separators of lines and halves of letters.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_names(name: str, table: pd.DataFrame) -> None:
    """Refuse names that are no text, too long, or not to be printed."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            f"{name}: class_embeddings is a {type(table).__name__}. "
            "Give a pandas DataFrame indexed by class name."
        )
    odd = [label for label in table.index.tolist() if not isinstance(label, str)]
    if odd:
        raise TypeError(
            f"{name}: the index of class_embeddings holds {odd[0]!r}, which is "
            "no string. Index the table by class name."
        )
    most, longest = limits().name_letters, max(map(len, table.index), default=0)
    if longest > most or len(table) > limits().classes:
        raise ValueError(
            f"{name}: class_embeddings has {len(table)} classes with names of up to "
            f"{longest} letters. Give at most {limits().classes} and {most} letters."
        )
    for label in table.index:
        if not label.strip() or UNPRINTABLE.search(label):
            raise ValueError(
                f"{name}: class_embeddings has a class called {shown(label)}. Give a "
                "name of one line, without signs that cannot be printed."
            )


def check_table(name: str, table: pd.DataFrame) -> None:
    """Refuse what is not one row of finite numbers per class."""
    if table.size == 0:
        raise ValueError(
            f"{name}: class_embeddings is empty, with shape {table.shape}. "
            "Give one row per class and at least one column."
        )
    if table.columns.nlevels > 2:
        raise ValueError(
            f"{name}: the columns of class_embeddings have {table.columns.nlevels} "
            "levels. Use one, or two: table and dimension."
        )
    if table.columns.nlevels == 2 and not all(
        isinstance(table_name, str) for table_name in table.columns.unique(0)
    ):
        raise TypeError(
            f"{name}: the first level of the columns of class_embeddings is "
            f"{list(table.columns.unique(0))}. Name the fused tables by strings."
        )
    if not table.index.is_unique:
        again = np.asarray(table.index[table.index.duplicated()])
        raise ValueError(
            f"{name}: class_embeddings holds {few(again)} more than once. "
            "Give one row per class."
        )
    odd_columns = [
        str(column)
        for column, dtype in zip(table.columns, table.dtypes, strict=True)
        if not is_numeric_dtype(dtype) or is_complex_dtype(dtype)
    ]
    if odd_columns:
        raise TypeError(
            f"{name}: column {few(odd_columns)} of class_embeddings is not numeric. "
            "Give numbers only."
        )
    finite = np.isfinite(table.to_numpy(dtype=float)).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{name}: the class embedding of {few(np.asarray(table.index)[~finite])} "
            "holds NaN or infinity. Give finite numbers."
        )


def check_features(name: str, X: np.ndarray) -> None:
    """Refuse what is no matrix of floats."""
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(f"{name}: X is a masked array. Fill or drop what is masked.")
    if not isinstance(X, np.ndarray) or X.dtype not in (np.float32, np.float64):
        kind = X.dtype if isinstance(X, np.ndarray) else type(X).__name__
        raise TypeError(
            f"{name}: X is {kind}. Give a NumPy array of float32 or float64."
        )
    if X.ndim != 2 or X.size == 0:
        raise ValueError(
            f"{name}: X has shape {X.shape}. "
            "Give two dimensions, rows and features, neither empty."
        )


def as_name_array(
    name: str, field: str, values: object, gaps: bool = False
) -> np.ndarray:
    """Return class names as text; with ``gaps``, a missing one is empty."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name}: {field} is a masked array. Fill it with ''.")
    # NumPy would turn [1, "okapi"] into text.
    plain = isinstance(values, np.ndarray) and values.dtype.kind == "U"
    names = np.asarray(values) if plain else np.array(values, dtype=object)
    if names.ndim != 1:
        raise ValueError(
            f"{name}: {field} has shape {names.shape}. "
            "Give one dimension of class names."
        )
    odd = []
    if names.dtype.kind != "U":
        if gaps:
            names = np.where(pd.isna(names), "", names)
        odd = [label for label in names.tolist() if not isinstance(label, str)]
    if odd:
        raise TypeError(
            f"{name}: {field} holds {odd[0]!r}, which is no string. "
            "Give class names as in the index of class_embeddings."
        )
    return names.astype(str, copy=False)


def check_unique(name: str, field: str, names: np.ndarray, count: int) -> None:
    """Refuse names of rows or columns that are too few, too many, or there twice."""
    again = names[pd.Index(names).duplicated()]
    if len(names) != count or len(again):
        fault = f"{few(again)} twice" if len(again) else f"{len(names)} names"
        raise ValueError(
            f"{name}: {field} holds {fault}. Give {count} different names."
        )


def few(names: Sequence[str] | np.ndarray, most: int = 5) -> str:
    """Quote the first few of some names."""
    names = list(dict.fromkeys(map(str, names)))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more


def side_line(side: str, names: np.ndarray, n_rows: int) -> str:
    """Say in one line who is on one side of the split."""
    several = "class" if len(names) == 1 else "classes"
    rows = "row" if n_rows == 1 else "rows"
    listed = textwrap.shorten(", ".join(names), 60, placeholder=" ...")
    return f"  {len(names)} {side} {several}, {n_rows} {rows}: {listed}".rstrip(": ")


def match_features(
    X: np.ndarray,
    names: Sequence[str] | np.ndarray | None,
    known: Sequence[str] | np.ndarray | None,
    where: str = "X",
) -> np.ndarray:
    """Put the columns of new rows in the order of those a model has learned from.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        New rows.
    names : array of str or None
        What the columns of ``X`` are called.
    known : array of str or None
        What the columns were called that the model has learned from. If either has no
        names, the columns are taken as they come.
    where : str, default="X"
        What messages call the new rows.

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.data import match_features
    >>> match_features(np.array([[1.0, 2.0]]), ["b", "a"], known=["a", "b"])
    array([[2., 1.]])
    """
    if names is None or known is None:
        return X
    place = {str(name): column for column, name in enumerate(names)}
    wanted = [str(name) for name in known]
    missing = [name for name in wanted if name not in place]
    foreign = sorted(set(place) - set(wanted))
    if missing or foreign:
        lacks = f" It needs {few(missing)}, which is missing." if missing else ""
        knows = f" It does not know {few(foreign)}." if foreign else ""
        raise ValueError(
            f"{where}: the columns are not those the model has learned from."
            f"{lacks}{knows} Give the same columns, in any order."
        )
    order = [place[name] for name in wanted]
    return X if order == list(range(len(order))) else X[:, order]


def fuse_tables(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Put several class tables side by side, under two-level columns.

    Parameters
    ----------
    tables : dict of str to DataFrame
        Tables indexed by the same class names, in any order.

    Returns
    -------
    DataFrame
        First level of the columns: the table's name; second: its dimension. The rows
        follow the first table.

    Examples
    --------
    >>> import pandas as pd
    >>> from unseen.data import fuse_tables
    >>> looks = pd.DataFrame({"stripes": [1.0, 0.0]}, index=["zebra", "seal"])
    >>> words = pd.DataFrame({0: [0.3, 0.1], 1: [0.2, 0.4]}, index=["zebra", "seal"])
    >>> fuse_tables({"looks": looks, "words": words})
            looks words
          stripes     0    1
    zebra     1.0   0.3  0.2
    seal      0.0   0.1  0.4
    """
    if not tables:
        raise ValueError("fuse_tables got no table. Give at least one by name.")
    first_name, first = next(iter(tables.items()))
    for name, table in tables.items():
        if not table.index.is_unique:
            raise ValueError(
                f"Class table {name!r} holds a class more than once. "
                "Give one row per class."
            )
        apart = first.index.symmetric_difference(table.index)
        if len(apart):
            raise ValueError(
                f"Class tables {first_name!r} and {name!r} differ in "
                f"{few(np.asarray(apart))}. Fuse tables of the same classes."
            )
    plain = {
        name: table.reindex(first.index).rename_axis(columns=None)
        for name, table in tables.items()
    }
    return pd.concat(plain, axis=1)


def one_table(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Take table ``name`` out of fused ones; a plain table is its only one."""
    if table.columns.nlevels == 1:
        return table
    columns = table.columns.get_level_values(0) == name
    return table.loc[:, columns].droplevel(0, axis=1)


def pick_tables(
    where: str,
    tables: dict[str, pd.DataFrame],
    names: str | Sequence[str] | None,
) -> pd.DataFrame:
    """One table by name, several fused, or the first if no name is given."""
    wanted = [names] if isinstance(names, str) else names
    missing = [name for name in wanted or [] if name not in tables]
    if missing:
        raise ValueError(
            f"{where}: there is no class table {few(missing)}. "
            f"The tables are {few(list(tables))}."
        )
    if wanted is not None and not isinstance(names, str):
        return fuse_tables({name: tables[name] for name in wanted})
    name = wanted[0] if wanted else next(iter(tables))
    return tables[name].rename_axis(columns=name)
