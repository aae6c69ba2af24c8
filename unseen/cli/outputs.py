"""What a command may write over: its own files, as long as nobody changed them.

For every file a command wrote, the cache keeps its size and time under a digest of its
path. A file that still has both is the program's own work and may be made again; any
other that is there already is somebody's, and needs ``--force`` or another name.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

Force = Annotated[
    bool,
    typer.Option("--force", help="Overwrite files that this program did not write."),
]


@contextmanager
def outputs(
    *files: Path | None,
    folder: Path | None = None,
    reading: Iterable[str | Path | None] = (),
    force: bool = False,
) -> Iterator[None]:
    """Refuse before the work what may not be written; remember what is.

    Parameters
    ----------
    *files : paths
        Files to be written; None for those that are not.
    folder : path, optional
        Folder to be written, which carries its own mark.
    reading : paths or names
        Files and folders that are read; nothing is written over or into them, with
        force or without. What does not exist is no file, but a name.
    force : bool, default=False
        Write over files that were changed or never written by this program.
    """
    from unseen._files import check_apart, check_target, watching
    from unseen._folders import check_folder

    wanted = [file for file in files if file is not None]
    sources = [Path(source) for source in reading if source is not None]
    sources = [beside for source in sources for beside in with_companions(source)]
    if folder is not None:
        check_apart(folder, sources)
        check_folder(folder, force=force)
    targets: dict[Path, Path] = {}
    for file in wanted:
        target = check_target(file, reading=sources)
        if target in targets:
            raise ValueError(f"{file}: would be written twice. Choose another name.")
        targets[target] = file
        if not force and file.exists() and not is_own(file):
            raise FileExistsError(
                f"{file}: already exists, and this program did not write it, or it was "
                "changed since. Choose another --out, or overwrite it with --force."
            )

    def note(target: Path) -> None:  # at once: what comes next may fail
        if target in targets:
            remember(targets[target])

    with watching(note):
        yield


def with_companions(source: Path) -> list[Path]:
    """Return a source that exists, with the class table that is read beside it."""
    if not os.path.exists(source):  # a name, however long it is
        return []
    beside = source.parent.glob(f"{glob.escape(source.stem)}.classes.*")
    return [source, *beside] if source.is_file() else [source]


def is_own(file: Path) -> bool:
    """Tell whether a file is as this program left it."""
    from unseen._folders import stamp

    try:
        known = json.loads(record_of(file).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return False
    return known == stamp(file)


def remember(file: Path) -> None:
    """Write down what a file is like that was just written."""
    from unseen._files import replace_file
    from unseen._folders import stamp

    try:
        text = json.dumps(stamp(file))
        with replace_file(record_of(file)) as record:
            record.write(text.encode())
    except OSError as error:
        warnings.warn(
            f"{file} is written, but that could not be noted down ({error}). The next "
            "run will ask for --force.",
            stacklevel=3,
        )


def record_of(file: Path) -> Path:
    """Return where the cache keeps what is known of a file."""
    from unseen._places import cache_folder

    real = os.fsencode(os.path.realpath(file))
    return cache_folder("outputs") / f"{hashlib.sha256(real).hexdigest()}.json"
