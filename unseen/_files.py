"""Write files whole or not at all: the one place where this package does it.

    draft (hidden, beside the target) -> write -> fsync -> rename -> fsync of the folder

Links are followed to their target, an existing file keeps its mode, missing folders
are made. Devices and the like are refused, and every error names the file that was
asked for, not the draft.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, cast

__all__ = [
    "check_apart",
    "check_target",
    "named",
    "new_file",
    "renamed",
    "replace_file",
    "replace_together",
    "sync",
    "sync_folder",
    "watching",
]

KINDS = {
    stat.S_ISDIR: "a folder",
    stat.S_ISFIFO: "a pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}
AnyPath = str | os.PathLike[str]
_watchers: ContextVar[tuple[Callable[[Path], None], ...]] = ContextVar("_watchers")
Replace = Callable[[AnyPath], AbstractContextManager[BinaryIO]]


@contextmanager
def replace_file(path: AnyPath) -> Iterator[BinaryIO]:
    """Open a draft beside ``path`` and move it there once it is complete.

    If the block raises, the draft is removed and ``path`` keeps what it held.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen._files import replace_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "new" / "notes.txt"
    ...     with replace_file(path) as file:
    ...         _ = file.write(b"whole")
    ...     path.read_text(), len(list(path.parent.iterdir()))
    ('whole', 1)
    """
    with replace_together() as replace, replace(path) as file:
        yield file


@contextmanager
def replace_together() -> Iterator[Replace]:
    """Yield a function that opens drafts, all of which are put in place at the end.

    If anything fails, all targets keep what they held.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen._files import replace_together
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replace_together() as replace:
    ...         for name in ("rows.csv", "classes.csv"):
    ...             with replace(Path(folder) / name) as file:
    ...                 _ = file.write(b"whole")
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['classes.csv', 'rows.csv']
    """
    drafts: list[_Draft] = []

    @contextmanager
    def replace(path: AnyPath) -> Iterator[BinaryIO]:
        draft = _Draft(Path(path))
        drafts.append(draft)
        yield from draft.fill()

    try:
        yield replace
        _put_in_place(drafts)
    finally:
        for draft in drafts:
            draft.remove()


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that must not be there yet, for folders that are drafts themselves.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen._files import new_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with new_file(Path(folder) / "one.txt") as file:
    ...         file.write(b"one")
    3
    """
    with io.BufferedWriter(_DraftFile(path, path)) as file:
        yield cast(BinaryIO, file)


@contextmanager
def watching(notify: Callable[[Path], None]) -> Iterator[None]:
    """Call ``notify`` with every file that is put in place inside the block.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen._files import replace_file, watching
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with watching(lambda path: print(path.name)):
    ...         with replace_file(Path(folder) / "one.txt") as file:
    ...             _ = file.write(b"one")
    one.txt
    """
    token = _watchers.set((*_watchers.get(()), notify))
    try:
        yield
    finally:
        _watchers.reset(token)


def check_target(path: AnyPath, reading: Iterable[AnyPath] = ()) -> Path:
    """Return where a file is to be written, links followed; raise if it may not be.

    Parameters
    ----------
    path : path
    reading : paths
        Files and folders that are being read: nothing is written over or into them.

    Examples
    --------
    >>> from unseen._files import check_target
    >>> check_target("/dev/null")
    Traceback (most recent call last):
    FileExistsError: /dev/null: is a device. Give the name of a file to write.
    """
    path = Path(path)
    with named(path):
        target = Path(os.path.realpath(path))
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = None
    if mode is not None and not stat.S_ISREG(mode):
        kind = next((word for test, word in KINDS.items() if test(mode)), "no file")
        raise FileExistsError(f"{path}: is {kind}. Give the name of a file to write.")
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    check_apart(path, reading)
    return target


def check_apart(path: AnyPath, reading: Iterable[AnyPath]) -> None:
    """Raise if a file or folder to write is, holds or lies in one that is being read.

    Examples
    --------
    >>> from unseen._files import check_apart
    >>> check_apart("photos/labels.csv", reading=["photos"])
    Traceback (most recent call last):
    FileExistsError: photos/labels.csv: would lie in photos, which is being read. Give a
    name in another folder.
    """
    target = Path(os.path.realpath(path))
    for source in map(Path, reading):
        read = Path(os.path.realpath(source))
        same = target.exists() and read.exists() and target.samefile(read)
        if same or target == read or target in read.parents:
            raise FileExistsError(f"{path}: is being read. Give another name.")
        if read in target.parents:
            raise FileExistsError(
                f"{path}: would lie in {source}, which is being read. Give a name in "
                "another folder."
            )


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Let errors of the system name the file that was asked for."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


class _DraftFile(io.FileIO):
    """A file whose errors bear another name."""

    def __init__(self, draft: Path, asked: Path) -> None:
        def opener(name: str, flags: int) -> int:
            return os.open(name, flags, 0o666)  # less what the umask takes away

        super().__init__(str(draft), "xb", opener=opener)
        self.asked = asked

    def write(self, data: Any) -> int:
        with named(self.asked):
            return os.write(self.fileno(), data)


class _Draft:
    """A hidden file that takes the place of a target once it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.target = check_target(path)
        # Of fixed length: a target's own name may be as long as names can be.
        self.draft = self.target.with_name(f".unseen-{uuid.uuid4().hex}.tmp")
        self.old = self.draft.with_suffix(".old")

    def fill(self) -> Iterator[BinaryIO]:
        """Yield the open draft, in the folder of the target."""
        with named(self.path):
            self.target.parent.mkdir(parents=True, exist_ok=True)
            file = io.BufferedWriter(_DraftFile(self.draft, self.path))
        with renamed(self.draft, self.path), file:
            yield cast(BinaryIO, file)

    def complete(self) -> None:
        """Have all of it on the disk, with the mode of the file it replaces."""
        with named(self.path):
            sync(self.draft)
        with named(self.path), suppress(FileNotFoundError):
            os.chmod(self.draft, stat.S_IMODE(os.stat(self.target).st_mode))

    def put(self, keep: bool) -> None:
        """Rename; keep what was there, if asked."""
        with named(self.path):
            if keep and self.target.exists():
                _link(self.target, self.old)
            os.replace(self.draft, self.target)

    def undo(self) -> None:
        """Put back what was there."""
        if self.old.exists():
            os.replace(self.old, self.target)
        else:
            self.target.unlink()

    def remove(self) -> None:
        for path in (self.draft, self.old):
            with suppress(OSError):  # a hidden leftover is no reason to fail
                path.unlink()


def _put_in_place(drafts: list[_Draft]) -> None:
    for draft in drafts:
        draft.complete()
    put: list[_Draft] = []
    try:
        for draft in drafts:
            draft.put(keep=draft is not drafts[-1])
            put.append(draft)
    except BaseException:
        for draft in reversed(put):
            draft.undo()
        raise
    for draft in drafts:
        for notify in _watchers.get(()):
            notify(draft.target)
    for folder, path in {draft.target.parent: draft.path for draft in drafts}.items():
        with named(path):
            sync_folder(folder)


@contextmanager
def renamed(draft: Path, path: Path) -> Iterator[None]:
    """Like ``named``, for what others do with the draft by its name."""
    try:
        yield
    except OSError as error:
        if draft.name not in str(error):
            raise
        code = error.errno or errno.EIO
        raise OSError(code, os.strerror(code), str(path)) from error


def _link(path: Path, other: Path) -> None:
    try:
        os.link(path, other)
    except OSError:  # some file systems have no hard links
        shutil.copy2(path, other)


def sync(path: Path) -> None:
    """Wait until the disk has a file."""
    opened = os.open(path, os.O_WRONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder, where that can be asked for."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)
