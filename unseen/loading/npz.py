"""NumPy archives (.npz): the layout common in the field, and our own.

Both are described in :mod:`unseen.loading.arrays`. Nothing is ever unpickled.
"""

import os
import zipfile
from pathlib import Path

import numpy as np

from unseen._files import replace_file
from unseen.data import ZeroShotData
from unseen.loading.arrays import (
    MARK,
    Arrays,
    own_arrays,
    read_field_layout,
    read_own_layout,
)
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
    """An open .npz file whose every fault is one clear ``ValueError``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bytes = open(path, "rb")  # closed by __exit__
        try:
            self._file = np.load(self._bytes, allow_pickle=False)
            self.keys = list(self._file.files)
        except Exception as error:  # damaged bytes raise anything
            self._bytes.close()
            raise self._damaged(error) from error

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._bytes.close()

    def get(self, key: str) -> np.ndarray:
        """Return one array; numbers and text only."""
        try:
            array = self._file[key]
        except Exception as error:  # damaged bytes raise anything
            raise self._damaged(error, key) from error
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{self.path}: {key!r} is no array. Save it by NumPy.")
        return array

    def _damaged(self, error: Exception, key: str | None = None) -> ValueError:
        what = f"array {key!r}" if key else "the archive"
        if "allow_pickle" in str(error):
            return ValueError(
                f"{self.path}: {what} holds Python objects, which are never unpickled. "
                "Save it as numbers or as text of fixed width (dtype str)."
            )
        return ValueError(
            f"{self.path}: {what} is damaged ({type(error).__name__}: {error}). "
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
