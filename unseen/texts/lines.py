"""Lines of text files: encodings told apart, nothing lost, nothing endless.

A file starts with a byte-order mark or is UTF-8. Bytes that are no UTF-8 are read as
Windows-1252, one by one, so that the rest of their line stays what it is; how many
lines had such bytes is counted.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from typing import BinaryIO

from unseen._encodings import MARKS, ODD_BYTES
from unseen.limits import limits

__all__ = ["Lines"]


class Lines:
    r"""The lines of an open file, with their ends.

    Parameters
    ----------
    file : binary file
        Read from where it stands.
    where : str
        What messages call it.

    Attributes
    ----------
    n_odd : int
        Lines so far with bytes that are no UTF-8.

    Examples
    --------
    >>> import io
    >>> from unseen.texts.lines import Lines
    >>> lines = Lines(io.BytesIO("naïve\n".encode() + b"caf\xe9\n"), "notes.txt")
    >>> list(lines), lines.n_odd
    (['naïve\n', 'café\n'], 1)
    """

    def __init__(self, file: BinaryIO, where: str) -> None:
        self.file, self.where, self.n_odd = file, where, 0

    def __iter__(self) -> Iterator[str]:
        start = self.file.read(3)
        mark = next((mark for mark in MARKS if start.startswith(mark)), b"")
        self.file.seek(-len(start) + len(mark), io.SEEK_CUR)
        if mark and mark != codecs.BOM_UTF8:
            yield from self._wide(MARKS[mark])
            return
        longest = limits().line_bytes
        while line := self.file.readline(longest + 1):
            self._check_length(len(line), longest)
            try:
                yield line.decode()
            except UnicodeDecodeError:
                self.n_odd += 1
                yield line.decode("utf-8", ODD_BYTES)

    def _wide(self, encoding: str) -> Iterator[str]:
        longest = limits().line_bytes // 2
        text = io.TextIOWrapper(self.file, encoding, errors="replace", newline="")
        while line := text.readline(longest + 1):
            self._check_length(len(line), longest)
            yield line
        text.detach()

    def _check_length(self, length: int, longest: int) -> None:
        if length > longest:
            raise ValueError(
                f"{self.where}: a line is longer than {limits().line_bytes:,} bytes. "
                "Is it a file of texts?"
            )
