"""What commands write: checked before the work, by the one rule of unseen.files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

Force = Annotated[
    bool, typer.Option("--force", help="Write over files that exist already.")
]


@contextmanager
def outputs(
    *files: Path | None,
    folder: Path | None = None,
    results: tuple[Path, str] | None = None,
    reading: Collection[str | Path | None] = (),
    force: bool = False,
) -> Iterator[None]:
    """Refuse before the work what may not be written.

    ``folder`` is written whole; ``results`` is a folder of results with the question
    that they answer, which may be asked again.
    """
    from unseen.files import check_apart, check_folder, check_outputs, check_results

    if folder is not None:
        check_apart(folder, [one for one in reading if one and os.path.exists(one)])
        check_folder(folder, force=force)
    if results is not None:
        made = [file for file in files if file is not None]
        check_results(*results, *made, reading=reading, force=force)
    else:
        check_outputs(*files, reading=reading, force=force)
    yield
