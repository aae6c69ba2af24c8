"""What commands write: checked before the work, by the one rule of unseen.files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from unseen.cli.options import Force

__all__ = ["Force", "outputs"]


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
    from unseen.files import check_folder, check_outputs, check_results

    if folder is not None:
        check_folder(folder, reading=reading, force=force)
    if results is not None:
        made = [file for file in files if file is not None]
        check_results(*results, *made, reading=reading, force=force)
    else:
        check_outputs(*files, reading=reading, force=force)
    yield
