"""Write files whole, and never over what is there: one rule for every writer.

    temporary name beside the target -> write -> fsync -> rename -> fsync of the folder

A command asks :func:`check_outputs` before its work. A file that exists stays as it is
unless the user says ``--force``; the message names a free name. Only in a folder of
results, which a command marked as its own, the same question may be asked again.

Links are followed to their target, an existing file keeps its mode, missing folders
are made, devices are refused, and errors name the file that was asked for.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, BinaryIO

MARK = ".made-by-unseen"  # in a folder of small copies of photos
QUESTION = ".results-of"  # in a folder of results: what was asked
AnyPath = str | os.PathLike[str]


@contextmanager
def replace_file(path: AnyPath) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path``; rename it to ``path`` once it is complete.

    If the block raises, the temporary file is removed and ``path`` keeps its content.
    """
    path = Path(path)
    target = check_target(path)
    draft = temporary_name(target)
    with named(path, draft):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(draft, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                os.chmod(draft, stat.S_IMODE(target.stat().st_mode))
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
        sync(target.parent)


@contextmanager
def replace_folder(path: AnyPath) -> Iterator[Path]:
    """Yield a hidden folder beside ``path``; rename it to ``path`` once it is complete.

    ``path`` is a new name or an empty folder.
    """
    path = Path(path)
    check_folder(path)
    target = Path(os.path.realpath(path))
    draft = temporary_name(target)
    with named(path, draft):
        try:
            draft.mkdir(parents=True)
            yield draft
            if target.exists():
                target.rmdir()
            os.replace(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        sync(target.parent)


def check_outputs(
    *files: Path | None, reading: Iterable[AnyPath | None] = (), force: bool = False
) -> None:
    """Raise, before the work, if a file may not be written.

    None stands for a file that is not written. Nothing is written over or into what is
    ``reading``, with ``force`` or without; what does not exist there is a name and no
    file.
    """
    targets: set[Path] = set()
    for file in filter(None, files):
        target = check_target(file, reading=reading)
        if target in targets:
            raise ValueError(f"{file} would be written twice. Give another name.")
        targets.add(target)
        if target.exists() and not force:
            raise FileExistsError(
                f"{file} already exists. Give another name, such as "
                f"{free_name(file)}, or replace it with force=True."
            )


def check_results(
    folder: Path,
    question: str,
    *files: Path,
    reading: Iterable[AnyPath | None] = (),
    force: bool = False,
) -> None:
    """Raise if a folder of results holds something else; otherwise mark it.

    It may be new, empty, or marked by the same question, such as ``"unseen demo"``:
    then ``files`` are made again. All else is as in :func:`check_outputs`.
    """
    mark = folder / QUESTION
    asked = mark.read_text("utf-8") if mark.is_file() else None
    if asked != question and not force and folder.is_dir() and any(folder.iterdir()):
        holds = "other files" if asked is None else f"the results of {asked!r}"
        raise FileExistsError(
            f"{folder} already exists, with {holds}. Give another name, such as "
            f"{free_name(folder)}, or write into it with force=True."
        )
    check_outputs(*files, reading=reading, force=True)
    check_apart(folder, reading)
    with replace_file(mark) as file:
        file.write(question.encode())


def check_folder(path: AnyPath) -> None:
    """Raise unless a folder is new or empty."""
    path = Path(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise FileExistsError(
            f"{path} already exists. Give another name, such as {free_name(path)}."
        )


def check_target(path: AnyPath, reading: Iterable[AnyPath | None] = ()) -> Path:
    """Return where a file is to be written, links followed; raise if it cannot be."""
    path = Path(path)
    with named(path):
        target = Path(os.path.realpath(path))
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = stat.S_IFREG
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise FileExistsError(f"{path} is {kind}. Give the name of a file to write.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    check_apart(path, reading)
    return target


def check_apart(path: AnyPath, reading: Iterable[AnyPath | None]) -> None:
    """Raise if a file or folder to write is, holds or lies in one that is read."""
    target = Path(os.path.realpath(path))
    for source in reading:
        if source is None or not os.path.exists(source):
            continue  # a name, and no file
        read = Path(os.path.realpath(source))
        same = target == read or (target.exists() and target.samefile(read))
        if same or target in read.parents:
            raise FileExistsError(f"{path} is being read. Give another name.")
        if read in target.parents:
            raise FileExistsError(
                f"{path} would lie in {source}, which is being read. Give a name in "
                "another folder."
            )


def free_name(path: AnyPath) -> Path:
    """Return a name like ``path`` that nothing has yet: labels.csv, labels-2.csv."""
    path = Path(path if Path(path).name.strip(".") else os.path.abspath(path))
    names = (path.with_name(f"{path.stem}-{n}{path.suffix}") for n in count(2))
    return next(name for name in names if not name.exists())


@contextmanager
def named(path: Path, draft: Path | None = None) -> Iterator[None]:
    """Let errors of the system name the file that was asked for, not its draft."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # of a library, which says what it knows in words
            reason = str(error).replace(str(draft or path), str(path))
            words = f"{path}: {reason.removeprefix(f'{path}: ')}"
            raise type(error)(words) from error
        if draft and error.filename and draft.name not in str(error):
            raise  # of another file
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


def temporary_name(target: Path) -> Path:
    """Return a hidden name beside a target; of fixed length, as names have a limit."""
    return target.with_name(f".unseen-{uuid.uuid4().hex}.tmp")


def sync(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
    if os.name == "nt":  # nothing there can be opened for that
        return
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)


def append(file: io.FileIO, data: bytes) -> None:
    """Write data to the end of an open file, all of it on the disk or none."""
    end = file.seek(0, os.SEEK_END)
    try:
        while data:
            data = data[file.write(data) :]
        os.fsync(file.fileno())
    except OSError:  # such as a full disk: half a line would hide what comes after it
        file.truncate(end)
        raise


def lock(file: IO[bytes], path: Path) -> None:
    """Let no other program write until a file is closed, or its program has died."""
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(2**40)  # beyond the end: locked bytes cannot be read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise FileExistsError(
            f"{path}: another unseen program writes it. Wait for it, or end it first."
        ) from None
