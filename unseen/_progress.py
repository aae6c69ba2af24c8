"""A progress bar on the error stream, for work that takes a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    task: str, steps: int | None, *, shown: bool = True
) -> Iterator[Callable[[], None]]:
    """Yield a function to call after every step; draws only if ``shown``.

    ``steps`` is None where nobody knows how many there are.
    """
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task(task, total=steps)
        yield lambda: progress.advance(bar)
