"""The readers, one per kind of file.

A new kind is one file in this folder: write ``read``, put :func:`reader` above it, and
import the module in ``unseen/loading/__init__.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unseen.data import ZeroShotData
from unseen.limits import check_plain_file
from unseen.loading.parts import RawData

__all__ = ["Classes", "Reader", "bundled", "find_reader", "reader", "readers"]

Classes = str | Sequence[str] | None
"""Which class tables to take: one by name, several to fuse, or the default."""


@dataclass(frozen=True)
class Reader:
    """One kind of file: its name, a look at the content, and the reading itself."""

    kind: str
    recognises: Callable[[Path], bool]
    read: Callable[..., RawData]
    general: bool = False
    by_column: bool = False

    def raw(
        self, path: Path, column: str | None = None, id: str | None = None
    ) -> RawData:
        """Read a file; its labels and ids are in columns, if they are named."""
        if self.by_column:
            return self.read(path, column, id)
        for what, name in {"column": column, "id": id}.items():
            if name:
                raise ValueError(
                    f"{path}: {what}={name!r} names a column, which only CSV, parquet "
                    f"and Excel files have. This is: {self.kind}."
                )
        return self.read(path)


readers: list[Reader] = []
bundled: dict[str, Callable[[Any], ZeroShotData]] = {}


def reader(
    kind: str,
    recognises: Callable[[Path], bool],
    *,
    general: bool = False,
    by_column: bool = False,
) -> Callable:
    """Register the decorated ``read(path)`` for files that are recognised.

    Parameters
    ----------
    kind : str
        What the file is called in messages, such as ``"NumPy archive (.npz)"``.
    recognises : callable
        ``recognises(path)`` looks at the content and never raises.
    general : bool, default=False
        Ask this reader after all that are not: any text with commas is CSV.
    by_column : bool, default=False
        Whether it is ``read(path, column, id)``, with the names of the columns of
        labels and of ids, or None.

    Examples
    --------
    >>> from unseen.loading.registry import reader, readers
    >>> @reader("always empty", recognises=lambda path: False)
    ... def read(path):
    ...     raise ValueError(f"{path}: there is nothing to read")
    >>> readers.pop().kind
    'always empty'
    """

    def register(read: Callable[..., RawData]) -> Callable:
        readers.append(Reader(kind, recognises, read, general, by_column))
        return read

    return register


def find_reader(path: Path) -> Reader:
    """Return the reader that recognises a file or folder."""
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file {str(path)!r}. Give a path, or the name of a bundled "
            f"set: {', '.join(bundled)}."
        )
    check_plain_file(path, folders=True)
    for known in sorted(readers, key=lambda known: known.general):
        if known.recognises(path):
            return known
    raise ValueError(
        f"{str(path)!r} is none of the kinds that can be read: "
        f"{'; '.join(known.kind for known in readers)}. CSV needs a line of column "
        "names, and commas, semicolons, tabs or | between the columns."
    )
