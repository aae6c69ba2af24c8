"""MATLAB 5 files (up to 7.2): matrices of numbers, text, and cells of text.

SciPy reads more of the format, but a damaged file can end its process. Here every
length is checked against what is left, and compressed variables are verified to
their last byte. After the header of 128 bytes a file is a row of elements:

    tag      type and size, 4 bytes each; or 2 and 2 if the data fit the next 4
    data     padded to 8 bytes; a matrix holds flags, shape, name and values as
             elements of their own; a compressed element holds one matrix
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from unseen.limits import limits, unpacked_allowance

__all__ = ["Mat5File"]

MATRIX, COMPRESSED = 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
NUMBERS |= {12: "i8", 13: "u8"}
TEXTS = {1: "latin-1", 2: "utf-8", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
CELL, CHAR = 1, 4
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4"}
CLASSES |= {14: "i8", 15: "u8"}
LONGEST_NAME = 4096


class Element(NamedTuple):
    """Where one variable lies in the file."""

    name: str
    offset: int
    size: int
    compressed: bool


class Mat5File:
    """The variables of a MATLAB 5 file, each read when it is asked for.

    Parameters
    ----------
    path : Path

    Examples
    --------
    >>> import numpy as np, scipy.io, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.mat5 import Mat5File
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "zoo.mat"
    ...     scipy.io.savemat(path, {"a": np.array([[1.0, 2], [3, 4]])})
    ...     Mat5File(path).read("a")
    array([[1., 2.],
           [3., 4.]])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with open(path, "rb") as file:
            header = file.read(128)
            if len(header) < 128 or header[126:] not in (b"IM", b"MI"):
                raise ValueError("it has no header of a MATLAB 5 file")
            self._order = "<" if header[126:] == b"IM" else ">"
            found = itertools.islice(self._scan(file), limits().arrays + 1)
            self._elements = {e.name: e for e in found}
        if len(self._elements) > limits().arrays:
            raise ValueError(f"it holds more than {limits().arrays} variables")
        self.keys = list(self._elements)

    def read(self, key: str) -> np.ndarray:
        """Return a matrix as MATLAB shows it; a cell array holds ``str``."""
        element = self._elements[key]
        with open(self.path, "rb") as file:
            file.seek(element.offset)
            data = _exactly(file, element.size)
        if element.compressed:
            kind, matrix, rest = self._element(memoryview(_inflate(data)))
            if kind != MATRIX or len(rest):
                raise ValueError("a compressed variable is no matrix")
            return self._matrix(matrix)[1]
        return self._matrix(memoryview(data))[1]

    def _scan(self, file: BinaryIO) -> Iterator[Element]:
        end = self.path.stat().st_size
        while file.tell() < end:
            tag = np.frombuffer(_exactly(file, 8), f"{self._order}u4")
            kind, size, offset = int(tag[0]), int(tag[1]), file.tell()
            if kind not in (MATRIX, COMPRESSED) or size > end - offset:
                raise ValueError(f"element of type {kind} and {size} bytes")
            start = _exactly(file, min(size, LONGEST_NAME))
            if kind == COMPRESSED:
                start = zlib.decompressobj().decompress(start, LONGEST_NAME)[8:]
            yield Element(self._name(start), offset, size, kind == COMPRESSED)
            file.seek(offset + size)

    def _name(self, start: bytes) -> str:
        rest: Any = memoryview(start)
        for _ in range(2):  # flags and shape stand before the name
            _, _, rest = self._element(rest)
        _, name, _ = self._element(rest)
        return bytes(name).decode("latin-1")

    def _element(self, data: memoryview) -> tuple[int, memoryview, memoryview]:
        """Return (type, data, what comes after) of the first element."""
        if len(data) < 8:
            raise ValueError("an element has no tag")
        first, size = (int(n) for n in np.frombuffer(data[:8], f"{self._order}u4"))
        if first >> 16:  # small: size and type share four bytes
            kind, size = first & 0xFFFF, first >> 16
            if size > 4:
                raise ValueError(f"a small element of {size} bytes")
            return kind, data[4 : 4 + size], data[8:]
        if size > len(data) - 8:
            raise ValueError(f"an element of {size} bytes where {len(data) - 8} are")
        padded = 8 + size + (-size) % 8
        return first, data[8 : 8 + size], data[padded:]

    def _matrix(self, data: memoryview, inside: bool = False) -> tuple[str, np.ndarray]:
        _, flags, data = self._element(data)
        kind_, shape_, data = self._element(data)
        _, name, data = self._element(data)
        if len(flags) != 8 or kind_ != 5 or not 8 <= len(shape_) <= 256:
            raise ValueError("a matrix without flags or shape")
        word = int(np.frombuffer(flags[:4], f"{self._order}u4")[0])
        shape = [int(n) for n in np.frombuffer(shape_, f"{self._order}i4")]
        if min(shape) < 0:
            raise ValueError(f"a matrix of shape {tuple(shape)}")
        n = 1
        for length in shape:
            n *= length
        kind, is_complex = word & 0xFF, word >> 8 & 0x08
        if kind == CELL and not inside:
            values = self._cells(data, n)
        elif kind == CHAR:
            values = self._text(data, shape)
            shape = list(values.shape)
        elif kind in CLASSES and not is_complex:
            values = self._numbers(data, n, CLASSES[kind])
        else:
            raise ValueError(f"a matrix of class {kind}, neither numbers nor text")
        return bytes(name).decode("latin-1"), values.reshape(shape, order="F")

    def _numbers(self, data: memoryview, n: int, dtype: str) -> np.ndarray:
        kind, values, rest = self._element(data)
        if kind not in NUMBERS or len(rest):
            raise ValueError(f"values of type {kind}")
        stored = np.dtype(f"{self._order}{NUMBERS[kind]}")
        if len(values) != n * stored.itemsize:
            raise ValueError(f"{len(values)} bytes for {n} numbers")
        return np.frombuffer(values, stored).astype(dtype, copy=False)

    def _text(self, data: memoryview, shape: list[int]) -> np.ndarray:
        kind, letters, _ = self._element(data)
        if kind not in TEXTS or len(shape) != 2:
            raise ValueError(f"letters of type {kind}")
        codec = TEXTS[kind]
        if kind in (4, 17, 18):
            codec += "-le" if self._order == "<" else "-be"
        text = bytes(letters).decode(codec)
        rows, columns = shape
        if len(text) != rows * columns:
            raise ValueError(f"{len(text)} letters in a matrix of {rows} by {columns}")
        lines = ["".join(text[row::rows]) for row in range(rows)]
        return np.array(lines, dtype=str)

    def _cells(self, data: memoryview, n: int) -> np.ndarray:
        if n > limits().classes or n * 8 > len(data):
            raise ValueError(f"a cell array of {n} cells")
        cells = np.empty(n, dtype=object)
        for place in range(n):
            kind, cell, data = self._element(data)
            if kind != MATRIX:
                raise ValueError(f"a cell of type {kind}")
            text = self._matrix(cell, inside=True)[1] if len(cell) else np.array([""])
            if text.dtype.kind != "U" or text.size > 1:
                raise ValueError("a cell that holds more than text")
            cells[place] = str(text[0]) if text.size else ""
        return cells


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ValueError(f"ends where {size} bytes should follow")
    return data


def _inflate(data: bytes) -> bytes:
    stream, most = zlib.decompressobj(), unpacked_allowance(len(data))
    inflated = stream.decompress(data, most)
    if len(inflated) == most:
        raise ValueError(
            f"a compressed variable of {len(data)} bytes unpacks to more than {most}"
        )
    if not stream.eof:
        raise ValueError("a compressed variable ends too soon")
    return inflated
