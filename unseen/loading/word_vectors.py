"""Class embeddings from names alone: word vectors from a file, read as a stream.

Text, one word per line: GloVe (no header), word2vec and fastText ``.vec`` (a first
line with the number of words and dimensions). Binary: word2vec ``.bin``. Either may
be compressed by gzip. Only wanted words are kept, so the file may be of any size.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pandas as pd

from unseen.limits import MIB, check_plain_file, limits
from unseen.loading.parts import damaged_file

__all__ = ["NameEmbeddings", "embed_names", "is_word_vectors"]

FASTTEXT_MODEL = b"\xba\x16\x4f\x2f"  # 793712314: a fastText model, not its vectors
LONGEST_WORD = 4096
MOST_DIMENSIONS = 100_000
CHUNK = 1 << 20
FREE = 4 * MIB  # that any packed file may unpack to


class NameEmbeddings(NamedTuple):
    """A class table made of word vectors, and the words that had none.

    ``table`` has a row for every name with at least one known word; ``missing`` maps
    names to their unknown words.
    """

    table: pd.DataFrame
    missing: dict[str, list[str]]


def embed_names(
    names: Sequence[str] | np.ndarray, path: str | os.PathLike[str]
) -> NameEmbeddings:
    r"""Look class names up in a file of word vectors.

    A name that is a word of the file, with ``_`` or ``-`` for spaces or not, takes its
    vector. Other names are split into words, whose vectors are averaged. Words are
    looked for as they are written, then in lower case.

    Parameters
    ----------
    names : sequence of str
        Class names, such as ``"grizzly+bear"`` or ``"001.Black_footed_Albatross"``.
    path : path
        GloVe, word2vec or fastText vectors as text, or word2vec's binary form.

    Returns
    -------
    NameEmbeddings
        ``(table, missing)``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading import embed_names
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "glove.txt"
    ...     _ = path.write_text("bear 1 2\ngrizzly 3 0\nseal 0 1\n")
    ...     table, missing = embed_names(["grizzly+bear", "elephant seal"], path)
    >>> table
                     0    1
    grizzly+bear   2.0  1.0
    elephant seal  0.0  1.0
    >>> missing
    {'elephant seal': ['elephant']}
    """
    path = Path(path)
    check_plain_file(path)
    names = [str(name) for name in names]
    wanted = {spelling for name in names for spelling in _spellings(name)}
    with damaged_file(path):
        found = _collect(path, wanted)
    rows: dict[str, np.ndarray] = {}
    missing: dict[str, list[str]] = {}
    for name in names:
        whole = next((found[w] for w in _whole(name) if w in found), None)
        if whole is not None:
            rows[name] = whole
            continue
        vectors = []
        for word in _words(name):
            vector = found.get(word, found.get(word.lower()))
            if vector is None:
                missing.setdefault(name, []).append(word)
            else:
                vectors.append(vector)
        if vectors:
            rows[name] = np.mean(vectors, axis=0)
        elif name not in missing:
            missing[name] = []  # nothing in it but signs
    table = pd.DataFrame.from_dict(rows, orient="index", dtype=np.float64)
    return NameEmbeddings(table, missing)


def is_word_vectors(path: Path) -> bool:
    """Tell a file of word vectors by its first line."""
    if not path.is_file():
        return False
    try:
        with _open(path) as file:
            line = file.readline(LONGEST_WORD * 8)
    except (OSError, EOFError, ValueError, zlib.error):
        return False
    if line.startswith(FASTTEXT_MODEL) or b"," in line or b"\t" in line:
        return line.startswith(FASTTEXT_MODEL)
    if _header(line):
        return True
    word, *numbers = line.split(b" ")
    return bool(word) and len(numbers) > 1 and all(map(_is_number, numbers))


def _spellings(name: str) -> Iterator[str]:
    yield from _whole(name)
    for word in _words(name):
        yield word
        yield word.lower()


def _whole(name: str) -> list[str]:
    """Return how a whole name may stand in the file, likeliest first."""
    words = _words(name)
    joined = [name, *(sign.join(words) for sign in "_-")] if words else [name]
    return list(dict.fromkeys([*joined, *(word.lower() for word in joined)]))


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:'[^\W_]+)?", re.sub(r"^\d+\.", "", name))


def _collect(path: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    keys = {word.encode() for word in wanted}
    with _open(path) as file:
        line = file.readline(LONGEST_WORD * 8)
        if line.startswith(FASTTEXT_MODEL):
            raise ValueError(
                f"{path}: is a fastText model (.bin). Give its vectors as text (.vec)."
            )
        header = _header(line)
        if header and _is_binary(file, header[1]):
            pairs = _binary_vectors(file, path, *header)
        else:
            n_dims = header[1] if header else len(line.rstrip().split(b" ")) - 1
            first = [] if header else [line]
            pairs = _text_vectors(file, path, first, n_dims)
        found: dict[str, np.ndarray] = {}
        for word, read in pairs:
            if word in keys and word.decode() not in found:
                vector = read()
                if not np.isfinite(vector).all():
                    raise ValueError(
                        f"{path}: the vector of {word.decode()!r} holds NaN or "
                        "infinity. Give finite numbers."
                    )
                found[word.decode()] = vector
    return found


def _text_vectors(file: BinaryIO, path: Path, first: list[bytes], n_dims: int):
    if not 0 < n_dims <= MOST_DIMENSIONS:
        raise ValueError(f"{path}: holds no word vectors. Give a word and its numbers.")
    longest = LONGEST_WORD + 64 * n_dims
    rest = iter(lambda: file.readline(longest), b"")
    for number, line in enumerate(chain(first, rest), 1):
        yield _text_pair(line, path, number, n_dims)


def _text_pair(line: bytes, path: Path, number: int, n_dims: int):
    line = line.rstrip()
    spaces = line.count(b" ")
    if spaces < n_dims:
        raise ValueError(
            f"{path}: line {number} has {spaces} numbers, but the first has "
            f"{n_dims}. Give one word and {n_dims} numbers per line."
        )

    def read() -> np.ndarray:
        fields = line.rsplit(b" ", n_dims)
        try:
            return np.array([float(field) for field in fields[1:]])
        except ValueError:
            raise ValueError(
                f"{path}: line {number} holds something that is no number. "
                f"Give one word and {n_dims} numbers per line."
            ) from None

    # A word may hold spaces: the numbers are the last fields. Few lines are wanted, so
    # only those that need it are taken apart.
    if spaces > n_dims:
        return line.rsplit(b" ", n_dims)[0], read
    return line[: line.index(b" ")], read


def _binary_vectors(file: BinaryIO, path: Path, n_words: int, n_dims: int):
    size = 4 * n_dims
    buffer, place = b"", 0
    for number in range(n_words):
        while True:
            end = buffer.find(b" ", place, place + LONGEST_WORD)
            if end < 0 and len(buffer) - place >= LONGEST_WORD:
                raise ValueError(f"{path}: word {number} has no end. Fetch it again.")
            if end >= 0 and len(buffer) >= end + 1 + size:
                break
            more = file.read(CHUNK + size)
            if not more:
                raise ValueError(
                    f"{path}: ends at word {number} of {n_words}. Fetch it again."
                )
            buffer, place = buffer[place:] + more, 0
        word = buffer[place:end].lstrip(b"\n")
        vector = buffer[end + 1 : end + 1 + size]
        yield word, lambda v=vector: np.frombuffer(v, "<f4").astype(np.float64)
        place = end + 1 + size


def _header(line: bytes) -> tuple[int, int] | None:
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    n_words, n_dims = map(int, fields)
    return (n_words, n_dims) if 0 < n_dims <= MOST_DIMENSIONS else None


def _is_binary(file: BinaryIO, n_dims: int) -> bool:
    """Tell the binary form by a look at the first word's numbers."""
    start = file.tell()
    sample = file.read(LONGEST_WORD + 64 * min(n_dims, 1000))
    file.seek(start)
    line = sample.split(b"\n")[0]
    fields = line.rstrip().rsplit(b" ", n_dims)
    return not (len(fields) == n_dims + 1 and all(map(_is_number, fields[1:])))


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _open(path: Path) -> BinaryIO:
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return _Unpacked(path) if packed else open(path, "rb")  # type: ignore


class _Unpacked(gzip.GzipFile):
    """A packed file that refuses to grow without end."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        packed = path.stat().st_size
        self._most = max(FREE, limits().packed_text_ratio * packed)
        self._path = path

    def read(self, size: int | None = -1) -> bytes:
        return self._counted(super().read(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._counted(super().readline(size))

    def _counted(self, data: bytes) -> bytes:
        self._most -= len(data)
        if self._most < 0:
            raise ValueError(
                f"{self._path}: unpacks to far more than its size. If you trust it, "
                "unpack it first."
            )
        return data
