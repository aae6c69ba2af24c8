"""The readers, one per kind of file, in the order they are asked.

A new kind is one file in this folder: write ``read``, put :func:`reader` above it, and
import the module in ``unseen/loading/__init__.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.data import ZeroShotData

__all__ = ["Classes", "Reader", "bundled", "reader", "readers"]

Classes = str | Sequence[str] | None
"""Which class tables to take: one by name, several to fuse, or the default."""


@dataclass(frozen=True)
class Reader:
    """One kind of file: its name, a look at the content, and the reading itself."""

    kind: str
    recognises: Callable[[Path], bool]
    read: Callable[[Path, Classes], ZeroShotData]


readers: list[Reader] = []
bundled: dict[str, Callable[[Classes], ZeroShotData]] = {}


def reader(kind: str, recognises: Callable[[Path], bool]) -> Callable:
    """Register the decorated ``read(path, classes)`` for files that are recognised.

    Parameters
    ----------
    kind : str
        What the file is called in messages, such as ``"NumPy archive (.npz)"``.
    recognises : callable
        ``recognises(path)`` looks at the content and never raises.

    Examples
    --------
    >>> from unseen.loading.registry import reader, readers
    >>> @reader("always empty", recognises=lambda path: False)
    ... def read(path, classes):
    ...     raise NotImplementedError
    >>> readers.pop().kind
    'always empty'
    """

    def register(read: Callable[[Path, Classes], ZeroShotData]) -> Callable:
        readers.append(Reader(kind, recognises, read))
        return read

    return register
