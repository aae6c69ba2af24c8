"""Several class tables side by side, and each of them again."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from unseen._data_checks import few


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
