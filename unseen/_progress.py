"""How far long work is: loops report their steps, whoever listens shows them.

    counted(task, items)    a loop over items that reports each one
    steps(task, total)      the same for loops that are no ``for``
    show_progress()         listens, and draws a bar in the terminal or the notebook
    set_callbacks(...)      of estimators: scikit-learn's callbacks listen (1.9 on)

Nobody listens unless asked to. Loops inside loops are drawn two deep.
"""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any, Protocol, TypeVar

from sklearn.utils.metaestimators import available_if

__all__ = ["Watchable", "counted", "show_progress", "steps", "watched"]

DEEPEST = 2  # loops drawn inside each other
OFTEN = 0.1  # seconds between two pictures in a notebook

Item = TypeVar("Item")


class Loop(Protocol):
    """A loop that somebody listens to."""

    def advance(self) -> None:
        """One more step is done."""

    def end(self) -> None:
        """No more steps will come, all done or not."""


class Listener(Protocol):
    """Hears of every loop that begins."""

    def begin(self, task: str, total: int | None) -> Loop | None:
        """Return what hears of the loop's steps, or None if nobody is interested."""


_LISTENERS: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())


@contextmanager
def steps(task: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Yield a function to call after every step.

    Parameters
    ----------
    task : str
        What the loop does, in a word or two.
    total : int or None
        How many steps there are at most; None where nobody knows.
    """
    begun = [one.begin(task, total) for one in _LISTENERS.get()]
    loops = [loop for loop in begun if loop is not None]

    def advance() -> None:
        for loop in loops:
            loop.advance()

    try:
        yield advance
    finally:
        for loop in loops:
            loop.end()


def counted(task: str, items: Sequence[Item]) -> Iterator[Item]:
    """Go through items and report each one as a step.

    Examples
    --------
    >>> from unseen._progress import counted
    >>> list(counted("squaring", range(3)))
    [0, 1, 2]
    """
    with steps(task, len(items)) as advance:
        for item in items:
            yield item
            advance()


@contextmanager
def _listening(listener: Listener) -> Iterator[None]:
    before = _LISTENERS.set((*_LISTENERS.get(), listener))
    try:
        yield
    finally:
        _LISTENERS.reset(before)


# ---- bars ------------------------------------------------------------------------


@contextmanager
def show_progress(shown: bool = True) -> Iterator[None]:
    """Draw bars while ``fit``, ``adapt`` and searches work inside this block.

    In a notebook they stand below the cell, elsewhere on the error stream. Without it
    nothing is drawn. With scikit-learn 1.9 or later ``model.set_callbacks`` takes
    scikit-learn's callbacks as well, such as ``sklearn.callback.ProgressBar``.

    Parameters
    ----------
    shown : bool, default=True
        Draw nothing if False, for programs that let the user decide.

    Examples
    --------
    >>> from unseen import TSTD, load_data, show_progress
    >>> data = load_data("digits")
    >>> with show_progress():  # doctest: +SKIP
    ...     model = TSTD().fit(data.X_seen, data.y_seen,
    ...                        class_embeddings=data.class_embeddings)
    ...     model.adapt(data.X_unlabelled)
    self-training ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 4/4 0:00:00
    """
    if not shown:
        yield
        return
    with ExitStack() as open_until_the_end:
        kind = _NotebookBars if _in_notebook() else _TerminalBars
        bars = kind(open_until_the_end)
        open_until_the_end.enter_context(_listening(bars))
        yield


def _in_notebook() -> bool:
    """Tell whether this runs in a kernel that shows HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


class _Bars:
    """The bars that are open, outermost first."""

    def __init__(self, until_the_end: ExitStack):
        self.until_the_end = until_the_end
        self.open: list[_Bar] = []

    def begin(self, task: str, total: int | None) -> _Bar | None:
        if len(self.open) == DEEPEST:
            return None
        bar = _Bar(self, task, total)
        self.open.append(bar)
        self.changed(bar)
        return bar

    def end(self, bar: _Bar) -> None:
        if bar in self.open:
            self.open.remove(bar)
            bar.total = bar.done  # what stops early is done, too
            self.changed(bar)

    def changed(self, bar: _Bar) -> None:
        raise NotImplementedError


class _Bar:
    def __init__(self, bars: _Bars, task: str, total: int | None):
        self.bars, self.task, self.total, self.done = bars, task, total, 0
        self.outer = not bars.open
        self.drawn: Any = None

    def advance(self) -> None:
        self.done += 1
        self.bars.changed(self)

    def end(self) -> None:
        self.bars.end(self)


class _TerminalBars(_Bars):
    """Bars by rich, on the error stream."""

    def __init__(self, until_the_end: ExitStack):
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        super().__init__(until_the_end)
        self.progress = until_the_end.enter_context(
            Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
        )

    def changed(self, bar: _Bar) -> None:
        if bar.drawn is None:
            task = bar.task if bar.outer else f"  {bar.task}"
            bar.drawn = self.progress.add_task(task, total=bar.total)
        self.progress.update(bar.drawn, completed=bar.done, total=bar.total)
        if bar not in self.open and not bar.outer:
            self.progress.remove_task(bar.drawn)


class _NotebookBars(_Bars):
    """Bars in HTML, below the cell; needs nothing but the notebook itself."""

    def __init__(self, until_the_end: ExitStack):
        super().__init__(until_the_end)
        self.ended: list[_Bar] = []
        self.cell: Any = None
        self.next_time = 0.0
        until_the_end.callback(self.draw)

    def changed(self, bar: _Bar) -> None:
        if bar not in self.open and bar.outer:
            self.ended.append(bar)
        if time.monotonic() >= self.next_time:
            self.draw()
            self.next_time = time.monotonic() + OFTEN

    def draw(self) -> None:
        from IPython.display import HTML, display

        picture = HTML("".join(map(_as_html, [*self.ended, *self.open])))
        if self.cell is None:
            self.cell = display(picture, display_id=True)
        else:
            self.cell.update(picture)


def _as_html(bar: _Bar) -> str:
    known = bar.total is not None
    value = f' value="{bar.done}" max="{bar.total}"' if known else ""
    count = f"{bar.done:,} of {bar.total:,}" if known else f"{bar.done:,}"
    indent = "" if bar.outer else ' style="margin-left: 2em"'
    return (
        f"<div{indent}><label>{html.escape(bar.task)} "
        f"<progress{value}></progress> {count}</label></div>"
    )


# ---- scikit-learn's callbacks ----------------------------------------------------


def _has_callbacks(self: Any) -> bool:
    return find_spec("sklearn.callback") is not None


class Watchable:
    """Mixin that gives an estimator scikit-learn's ``set_callbacks``, from 1.9 on.

    The mixin of scikit-learn is asked only when callbacks are set: it brings in rich.
    """

    @available_if(_has_callbacks)
    def set_callbacks(self, *callbacks: Any) -> Any:
        """Set scikit-learn's callbacks, which hear of every step of fit and adapt.

        Parameters
        ----------
        *callbacks : callbacks
            Such as ``sklearn.callback.ProgressBar()``; none takes all away.

        Returns
        -------
        self
        """
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin.set_callbacks(self, *callbacks)

    def _init_callback_context(self, **options: Any) -> Any:
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin._init_callback_context(self, **options)


@contextmanager
def watched(estimator: Any, task: str) -> Iterator[None]:
    """Let an estimator's callbacks hear of the loops inside this block.

    scikit-learn itself ends them: ``fit_context`` wraps what this is called from.
    """
    busy = hasattr(estimator, "_callback_fit_ctx")  # fit that calls adapt, say
    if busy or not getattr(estimator, "_skl_callbacks", None):
        yield
        return
    context = estimator._init_callback_context(task_name=task, max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator)
    with _listening(_Callbacks(estimator, context)):
        yield
    context.call_on_fit_task_end(estimator=estimator)


class _Callbacks:
    """Hears of the outermost loops of an estimator; callbacks know no deeper ones."""

    def __init__(self, estimator: Any, context: Any):
        self.estimator, self.context = estimator, context
        self.busy = False

    def begin(self, task: str, total: int | None) -> _CallbackLoop | None:
        return None if self.busy else _CallbackLoop(self, task, total)


class _CallbackLoop:
    def __init__(self, callbacks: _Callbacks, task: str, total: int | None):
        self.callbacks, self.estimator = callbacks, callbacks.estimator
        callbacks.busy = True
        self.context = callbacks.context.subcontext(task_name=task, max_subtasks=total)
        self.context.call_on_fit_task_begin(estimator=self.estimator)

    def advance(self) -> None:
        step = self.context.subcontext(task_name="step")
        step.call_on_fit_task_begin(estimator=self.estimator)
        step.call_on_fit_task_end(estimator=self.estimator)

    def end(self) -> None:
        self.context.call_on_fit_task_end(estimator=self.estimator)
        self.callbacks.busy = False
