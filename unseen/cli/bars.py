"""What commands show while they work: a bar in a terminal, else a line now and then.

On the error stream, so that results can be piped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import typer


@contextmanager
def show_work() -> Iterator[None]:
    """Draw how far ``fit``, ``adapt`` and searches are, if this is a terminal."""
    from unseen.progress import show_progress

    with show_progress(sys.stderr.isatty()):
        yield


@contextmanager
def show_bytes(name: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that draws how many bytes have come, on stderr."""
    from rich.progress import DownloadColumn

    from unseen.progress import progress_bars

    with progress_bars(DownloadColumn()) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


@contextmanager
def show_items(things: str = "files") -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows photos or texts done and the time left, on stderr."""
    if not sys.stderr.isatty():  # a bar would be in the way, and is slow to import
        yield tell_now_and_then(things=things)
        return
    from unseen.progress import progress_bars

    with progress_bars(speed_estimate_period=60) as bar:
        task = bar.add_task(things.capitalize(), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def tell_now_and_then(
    every: float = 10.0, things: str = "files"
) -> Callable[[int, int], None]:
    """Return a function that writes a line every few seconds, where no bar can be."""
    started = reported = monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal reported
        now = monotonic()
        if done < total and now - reported < every:
            return
        reported = now
        left = round((now - started) / done * (total - done)) if done else 0
        rest = f", about {left} s left" if done < total else ""
        typer.echo(f"{done} of {total} {things}{rest}", err=True)

    return tell
