"""How far long work is: loops count their steps, and rich draws them if asked to.

    counted(task, items)    a loop over items that counts each one
    steps(task, total)      the same for loops that are no ``for``
    show_progress()         draws bars, in a terminal or a notebook
    show_items(items)       a bar of photos, texts or bytes, for commands

Nothing else is drawn. Loops inside loops are drawn two deep.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")
_BARS: ContextVar[Progress | None] = ContextVar("bars", default=None)
_DEPTH: ContextVar[int] = ContextVar("depth", default=0)


@contextmanager
def steps(task: str, total: int | None) -> Iterator[Callable[[], Any]]:
    """Yield a function to call after every step; ``total`` is None if unknown."""
    bars, depth = _BARS.get(), _DEPTH.get()
    if bars is None or depth == 2:
        yield lambda: None
        return
    deeper = _DEPTH.set(depth + 1)
    bar = bars.add_task("  " * depth + task, total=total)
    try:
        yield lambda: bars.advance(bar)
    finally:
        _DEPTH.reset(deeper)
        if depth:
            bars.remove_task(bar)
        else:  # what stops early is done, too
            bars.update(bar, total=bars.tasks[bars.task_ids.index(bar)].completed)


def counted(task: str, items: Sequence[Item]) -> Iterator[Item]:
    """Go through items and count each one as a step.

    Examples
    --------
    >>> from unseen.progress import counted
    >>> list(counted("squaring", range(3)))
    [0, 1, 2]
    """
    with steps(task, len(items)) as advance:
        for item in items:
            yield item
            advance()


@contextmanager
def show_progress(shown: bool = True) -> Iterator[None]:
    """Draw bars while ``fit``, ``adapt`` and searches work inside this block.

    In a terminal they are on the error stream; in a notebook, where ipywidgets is
    installed, below the cell. Without this nothing is drawn.

    Parameters
    ----------
    shown : bool, default=True
        Draw nothing if False, for programs that let the user decide.

    Examples
    --------
    >>> from unseen import TSTD, load_data, show_progress
    >>> data = load_data("photos-200")
    >>> with show_progress():  # doctest: +SKIP
    ...     model = TSTD().fit(data.X_seen, data.y_seen,
    ...                        class_embeddings=data.class_embeddings)
    ...     model.adapt(data.X_unseen)
    self-training ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 4/4 0:00:00
    """
    if not shown or _BARS.get() is not None:
        yield
        return
    with progress_bars() as bars:
        before = _BARS.set(bars)
        try:
            yield
        finally:
            _BARS.reset(before)


@contextmanager
def show_items(items: str, *columns: Any) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that draws how many items of how many are done, in a terminal.

    ``columns`` of rich stand in for count and time left.
    """
    if not sys.stderr.isatty():  # a bar would be in the way, and is slow to import
        yield lambda done, total: None
        return
    with progress_bars(*columns, speed_estimate_period=60) as bars:
        bar = bars.add_task(items.capitalize(), total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total or None)


def progress_bars(*columns: Any, **options: Any) -> Progress:
    """Return bars of rich on the error stream: task, bar, count and time left."""
    from rich import progress
    from rich.console import Console

    usual = progress.MofNCompleteColumn(), progress.TimeRemainingColumn()
    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *(columns or usual),
        console=Console(stderr=True),
        **options,
    )
