"""Class embeddings from names alone: word vectors from a file, read as a stream.

Text, one word per line: GloVe (no header), word2vec and fastText ``.vec`` (a first
line with the number of words and dimensions), also compressed by gzip. Only wanted
words are kept, so the file may be of any size.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pandas as pd

from unseen.limits import check_plain_file, check_unpacked
from unseen.loading.parts import damaged_file, first_bytes

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
        GloVe, word2vec or fastText vectors as text.

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
        whole = [found[spelling] for spelling in _whole(name) if spelling in found]
        words = {w: found.get(w, found.get(w.lower())) for w in _words(name)}
        known = whole[:1] or [v for v in words.values() if v is not None]
        if known:
            rows[name] = np.mean(known, axis=0)
        if not whole and len(known) < max(1, len(words)):
            missing[name] = [word for word, vector in words.items() if vector is None]
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
    is_row = re.fullmatch(rb"[^ ,\t]+( [-+\d.e]+){2,} ?\r?\n?", line)
    return bool(is_row or is_header(line))


def is_header(line: bytes) -> bool:
    """Tell a first line with the numbers of words and dimensions."""
    return re.fullmatch(rb"\d+ \d+\s*", line) is not None


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
    packed = path.stat().st_size
    with _open(path) as file:
        line = file.readline(LONGEST_WORD * 8)
        header = is_header(line)
        n_dims = int(line.split()[1]) if header else line.rstrip().count(b" ")
        if not 0 < n_dims <= 100_000:
            raise ValueError(
                f"{path} holds no word vectors. Give a word and its numbers."
            )
        file.seek(len(line) if header else 0)
        lines = iter(lambda: file.readline(LONGEST_WORD + 64 * n_dims), b"")
        for number, line in enumerate(map(bytes.rstrip, lines), 1 + header):
            if isinstance(file, gzip.GzipFile):
                check_unpacked(file.tell(), packed, path)
            # A word may hold spaces: the numbers are the last fields.
            fields = line.rsplit(b" ", n_dims)
            if len(fields) <= n_dims:
                raise ValueError(
                    f"{path}: line {number} has {len(fields) - 1} numbers, but there "
                    f"are {n_dims} dimensions. Give text with one word per line; "
                    "word2vec's binary form is not read."
                )
            word = fields[0]
            if word in wanted and word.decode() not in found:
                found[word.decode()] = np.array(fields[1:], dtype=np.float64)
    return found
