"""The text files of the old benchmarks: lists of names, of pairs, and of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, AnyStr

import numpy as np

from unseen.limits import check_plain_file, limits
from unseen.loading.parts import damaged_file

__all__ = ["iter_lines", "read_lines", "read_numbers", "read_pairs", "read_whole"]


def read_whole(path: Path) -> str:
    r"""Return the text of a small file; a byte order mark is left out.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.text_lists import read_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "testclasses.txt"
    ...     _ = path.write_text("seal\n")
    ...     read_whole(path)
    'seal\n'
    """
    check_plain_file(path)
    size, most = path.stat().st_size, limits().text_bytes
    if size > most:
        raise ValueError(
            f"{path}: has {size} bytes, too many for a list of names or settings. "
            f"Give at most {most}."
        )
    with damaged_file(path):
        return path.read_text("utf-8-sig")


def iter_lines(file: IO[AnyStr], path: Path) -> Iterator[AnyStr]:
    r"""Go through the lines of an open file, none of them without end.

    Examples
    --------
    >>> import io
    >>> from pathlib import Path
    >>> from unseen.loading.text_lists import iter_lines
    >>> list(iter_lines(io.StringIO("1 2\n3 4\n"), Path("numbers.txt")))
    ['1 2\n', '3 4\n']
    """
    most = limits().line_bytes
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most:
            raise ValueError(
                f"{path}: line {number} has more than {most} letters. Break it up."
            )
        yield line


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
    lines = read_whole(path).split("\n")
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
    check_plain_file(path)
    with damaged_file(path), open(path, encoding="utf-8-sig") as file:
        rows: list[np.ndarray] = []
        for number, line in enumerate(iter_lines(file, path), 1):
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
