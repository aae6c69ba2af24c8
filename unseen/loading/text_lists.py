"""The text files of the old benchmarks: lists of names, of pairs, and of numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unseen.loading.parts import damaged_file

__all__ = ["read_lines", "read_numbers", "read_pairs"]


def read_lines(path: Path) -> list[str]:
    r"""Return the lines that hold something.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.text_lists import read_lines
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "testclasses.txt"
    ...     _ = path.write_text("seal\nrat\n\n")
    ...     read_lines(path)
    ['seal', 'rat']
    """
    with damaged_file(path):
        lines = path.read_text("utf-8").split("\n")
        return [line.strip() for line in lines if line.strip()]


def read_pairs(path: Path, counted: bool = True) -> list[str]:
    r"""Return the second fields of lines such as ``3 killer+whale``.

    The first fields number the lines, from 1, without a gap, if ``counted``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.text_lists import read_pairs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "classes.txt"
    ...     _ = path.write_text("  1\tantelope\n  2\tgrizzly+bear\n")
    ...     read_pairs(path)
    ['antelope', 'grizzly+bear']
    """
    seconds = []
    for number, line in enumerate(read_lines(path), 1):
        first, _, second = line.replace("\t", " ").partition(" ")
        if not second.strip() or (counted and first != str(number)):
            raise ValueError(
                f"{path}: line {number} is {line[:60]!r}. Number the lines from 1 and "
                "put one space or tab behind the number."
            )
        seconds.append(second.strip())
    return seconds


def read_numbers(path: Path, n_rows: int | None = None) -> np.ndarray:
    r"""Return a matrix of numbers separated by white space or commas.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.text_lists import read_numbers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "predicate-matrix-binary.txt"
    ...     _ = path.write_text("1 0 1\n0 1 0\n")
    ...     read_numbers(path).shape
    (2, 3)
    """
    with damaged_file(path), open(path, encoding="utf-8") as file:
        rows = []
        for number, line in enumerate(file, 1):
            fields = line.replace(",", " ").split()
            if not fields:
                continue
            try:
                rows.append(np.array(fields, dtype=np.float64))
            except ValueError:
                raise ValueError(
                    f"{path}: line {number} holds something that is no number."
                ) from None
            if len(rows[-1]) != len(rows[0]):
                raise ValueError(
                    f"{path}: line {number} has {len(rows[-1])} numbers, but the first "
                    f"has {len(rows[0])}. Give as many in every line."
                )
    if not rows or (n_rows is not None and len(rows) != n_rows):
        raise ValueError(
            f"{path}: has {len(rows)} lines of numbers"
            + (f", but {n_rows} are needed." if n_rows is not None else ".")
        )
    return np.stack(rows)
