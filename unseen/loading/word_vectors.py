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
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pandas as pd

from unseen.limits import check_plain_file
from unseen.loading.parts import damaged_file, first_bytes

__all__ = ["NameEmbeddings", "embed_names", "is_word_vectors"]

LONGEST_WORD = 4096  # bytes


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
    wanted = {spelling for name in names for spelling in [*_whole(name), *_words(name)]}
    wanted |= {word.lower() for word in wanted}
    with damaged_file(path):
        found = _collect(path, {word.encode() for word in wanted})
    rows: dict[str, np.ndarray] = {}
    missing: dict[str, list[str]] = {}
    for name in names:
        whole = next((found[word] for word in _whole(name) if word in found), None)
        if whole is not None:
            rows[name] = whole
            continue
        vectors = {
            word: found.get(word, found.get(word.lower())) for word in _words(name)
        }
        known = [vector for vector in vectors.values() if vector is not None]
        if known:
            rows[name] = np.mean(known, axis=0)
        if len(known) < len(vectors) or not vectors:
            missing[name] = [word for word, vector in vectors.items() if vector is None]
    table = pd.DataFrame.from_dict(rows, orient="index", dtype=np.float64)
    return NameEmbeddings(table, missing)


def is_word_vectors(path: Path) -> bool:
    """Tell a file of word vectors by its first line."""
    if not path.is_file():
        return False
    try:
        with _open(path) as file:
            line = file.readline(LONGEST_WORD * 8)
    except (OSError, EOFError, zlib.error):
        return False
    word, *numbers = line.split(b" ")
    is_row = bool(word) and len(numbers) > 1 and all(map(_is_number, numbers))
    return (is_row or _header(line) is not None) and not re.search(rb"[,\t]", line)


def _whole(name: str) -> list[str]:
    """Return how a whole name may stand in the file, likeliest first."""
    joined = [name, *(sign.join(_words(name)) for sign in "_-")]
    return list(filter(None, dict.fromkeys([*joined, *(w.lower() for w in joined)])))


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:'[^\W_]+)?", re.sub(r"^\d+\.", "", name))


def _open(path: Path) -> BinaryIO:
    packed = first_bytes(path, 2) == b"\x1f\x8b"
    return gzip.open(path) if packed else open(path, "rb")  # type: ignore


def _collect(path: Path, wanted: set[bytes]) -> dict[str, np.ndarray]:
    """Return the vectors of wanted words; a packed file must end in good time."""
    found: dict[str, np.ndarray] = {}
    most = max(4 << 20, 20 * path.stat().st_size)  # lines take time, each of them
    with _open(path) as file:
        line = file.readline(LONGEST_WORD * 8)
        n_words, n_dims = _header(line) or (0, len(line.rstrip().split(b" ")) - 1)
        if not 0 < n_dims <= 100_000:
            raise ValueError(
                f"{path} holds no word vectors. Give a word and its numbers."
            )
        file.seek(len(line) if n_words else 0)
        binary = n_words > 0 and _is_binary(file, n_dims)
        read = _binary_rows if binary else _text_rows
        for word, numbers in read(file, path, n_words, n_dims):
            if isinstance(file, gzip.GzipFile) and file.tell() > most:
                raise ValueError(
                    f"{path}: unpacks to far more than its size. If you trust it, "
                    "unpack it first."
                )
            if word not in wanted or word.decode() in found:
                continue
            values = np.frombuffer(numbers, "<f4") if binary else numbers.split(b" ")
            found[word.decode()] = vector = np.array(values, dtype=np.float64)
            if not np.isfinite(vector).all():
                raise ValueError(
                    f"{path}: the vector of {word.decode()!r} holds NaN or infinity. "
                    "Give finite numbers."
                )
    return found


def _text_rows(
    file: BinaryIO, path: Path, n_words: int, n_dims: int
) -> Iterator[tuple[bytes, bytes]]:
    lines = iter(lambda: file.readline(LONGEST_WORD + 64 * n_dims), b"")
    for number, line in enumerate(map(bytes.rstrip, lines), 1):
        spaces = line.count(b" ")
        if spaces < n_dims:
            raise ValueError(
                f"{path}: line {number} has {spaces} numbers, but the first has "
                f"{n_dims}. Give one word and {n_dims} numbers per line."
            )
        end = line.find(b" ")
        if spaces > n_dims:  # of the word: the numbers are the last fields
            end = len(line.rsplit(b" ", n_dims)[0])
        yield line[:end], line[end + 1 :]


def _binary_rows(
    file: BinaryIO, path: Path, n_words: int, n_dims: int
) -> Iterator[tuple[bytes, bytes]]:
    buffer, place, size = b"", 0, 4 * n_dims
    for number in range(n_words):
        if len(buffer) - place < LONGEST_WORD + size:
            buffer, place = buffer[place:] + file.read(size + (1 << 20)), 0
        end = buffer.find(b" ", place, place + LONGEST_WORD)
        if end < 0 or len(buffer) < end + 1 + size:
            raise ValueError(
                f"{path}: ends at word {number} of {n_words}, or it has no end. Fetch "
                "it again."
            )
        start, place = place, end + 1 + size
        yield buffer[start:end].lstrip(b"\n"), buffer[end + 1 : place]


def _header(line: bytes) -> tuple[int, int] | None:
    """Return the number of words and of dimensions, if a first line says them."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def _is_binary(file: BinaryIO, n_dims: int) -> bool:
    """Tell the binary form by a look at the first word's numbers."""
    start = file.tell()
    sample = file.read(LONGEST_WORD + 64 * min(n_dims, 1000))
    file.seek(start)
    fields = sample.split(b"\n")[0].rstrip().rsplit(b" ", n_dims)
    return not (len(fields) == n_dims + 1 and all(map(_is_number, fields[1:])))


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
