"""NumPy archives (.npz): the layout common in the field, and our own.

Both are described in :mod:`unseen.loading.arrays`. Nothing is ever unpickled.
"""

import os
import zipfile
from pathlib import Path

import numpy as np

from unseen.data import ZeroShotData
from unseen.files import replace_file
from unseen.limits import limits, unpacked_allowance
from unseen.loading.arrays import (
    MARK,
    Arrays,
    own_arrays,
    read_field_layout,
    read_own_layout,
)
from unseen.loading.npy import MOST_HEADER, read_npy_header
from unseen.loading.parts import Parts
from unseen.loading.registry import reader

__all__ = ["read_npz", "read_own_npz", "save_data"]


def is_npz(path: Path) -> bool:
    """Tell a zip archive of arrays; a damaged archive counts if it is called .npz."""
    members = _members(path)
    if members is None:
        return _starts_like_zip(path) and path.suffix == ".npz"
    return any(member.endswith(".npy") for member in members)


def is_own_npz(path: Path) -> bool:
    """Tell an archive written by :func:`save_data`."""
    return f"{MARK}.npy" in (_members(path) or [])


@reader("data set saved by unseen (.npz)", recognises=is_own_npz)
def read_own_npz(path: Path) -> Parts:
    """Read what :func:`save_data` wrote.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Parts
        Of a set equal to the one saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading import load_data, save_data
    >>> from unseen.loading.npz import read_own_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_data(load_data("digits"), Path(folder) / "mine.npz")
    ...     read_own_npz(path).build("strokes").class_embeddings.shape
    (10, 7)
    """
    with Archive(path) as archive:
        return read_own_layout(archive)


@reader("NumPy archive (.npz) with X, y, class_names, tables", recognises=is_npz)
def read_npz(path: Path) -> Parts:
    """Read the layout of the field, see :mod:`unseen.loading.arrays`.

    Parameters
    ----------
    path : Path
        The file; its stem names the set.

    Returns
    -------
    Parts

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.npz import read_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "zoo.npz"
    ...     np.savez(
    ...         path,
    ...         X=np.eye(3, dtype=np.float16),
    ...         y=[0, 1, 2],
    ...         class_names=["zebra", "seal", "okapi"],
    ...         looks=np.array([[1, 1], [0, 0], [0.5, 1]]),
    ...         unseen=[2],
    ...     )
    ...     read_npz(path).build()
    ZeroShotData 'zoo': 3 rows x 3 features (float32)
      2 seen classes, 2 rows: zebra, seal
      1 unseen class, 1 row: okapi
      class embeddings: 2 dimensions (looks)
    """
    with Archive(path) as archive:
        return read_field_layout(archive)


def save_data(data: ZeroShotData, path: str | os.PathLike[str]) -> Path:
    """Save a data set as one .npz file that ``load_data`` reads back the same.

    The file appears whole or not at all; an older one of that name is replaced.

    Parameters
    ----------
    data : ZeroShotData
        What to save.
    path : path
        Where to; the folder must exist.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading import load_data, save_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_data(load_data("digits"), Path(folder) / "mine.npz")
    ...     again = load_data(path)
    >>> again.unseen.tolist()
    ['2', '5', '8']
    """
    path = Path(path)
    with replace_file(path) as file:
        np.savez(file, **own_arrays(data))  # numbers and text: nothing to pickle
    return path


class Archive(Arrays):
    """An open .npz file whose every fault is one clear ``ValueError``.

    What an array claims is compared with what the archive stores before any memory
    is taken for it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bytes = open(path, "rb")  # closed by __exit__
        try:
            self._file = zipfile.ZipFile(self._bytes)
            members = self._file.infolist()
        except Exception as error:  # damaged bytes raise anything
            self._bytes.close()
            raise self._damaged(error) from error
        self._members = {m.filename.removesuffix(".npy"): m for m in members}
        self.keys = list(self._members)
        if len(self.keys) < len(members) or len(members) > limits().arrays:
            self._bytes.close()
            raise ValueError(
                f"{path}: holds {len(members)} arrays under {len(self.keys)} names. "
                f"Give each its own, and at most {limits().arrays}."
            )

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._bytes.close()

    def shape(self, key: str) -> tuple[int, ...]:
        """Return the shape of an array without reading it."""
        try:
            with self._file.open(self._members[key]) as stream:
                return read_npy_header(stream)[1]
        except Exception as error:  # damaged bytes raise anything
            raise self._damaged(error, key) from error

    def get(self, key: str) -> np.ndarray:
        """Return one array; numbers and text only."""
        try:
            return self._read(self._members[key])
        except Exception as error:  # damaged bytes raise anything
            raise self._damaged(error, key) from error

    def _read(self, member: zipfile.ZipInfo) -> np.ndarray:
        with self._file.open(member) as stream:
            dtype, _, size = read_npy_header(stream)
        if dtype.hasobject:
            raise ValueError("it holds Python objects, which are never unpickled")
        if size != member.file_size:
            raise ValueError(f"{member.file_size} bytes where {size} are announced")
        if size > unpacked_allowance(member.compress_size):
            raise ValueError(
                f"{member.compress_size} bytes that unpack to {size}, see unseen.limits"
            )
        with self._file.open(member) as stream:
            return np.lib.format.read_array(
                stream, allow_pickle=False, max_header_size=MOST_HEADER
            )

    def _damaged(self, error: Exception, key: str | None = None) -> ValueError:
        what = f"array {key!r}" if key else "the archive"
        if "never unpickled" in str(error):
            return ValueError(
                f"{self.path}: {what} holds Python objects, which are never unpickled. "
                "Save it as numbers or as text of fixed width (dtype str)."
            )
        reason = " ".join(str(error).split())[:300]
        return ValueError(
            f"{self.path}: {what} is damaged ({type(error).__name__}: {reason}). "
            "Fetch or save the file again."
        )


def _starts_like_zip(path: Path) -> bool:
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"PK"


def _members(path: Path) -> list[str] | None:
    """Names in a zip archive; None for any other file or a damaged archive."""
    if not _starts_like_zip(path):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except Exception:  # damaged bytes raise anything
        return None
