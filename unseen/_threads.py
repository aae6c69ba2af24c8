"""All cores: strips of work on threads of our own, each with BLAS on one thread.

BLAS with several threads is no help in most of what is done here: its threads wait for
each other in small products, two libraries (NumPy's and SciPy's) take the cores from
each other, and sums come out in another order. So BLAS is held to one thread while a
model learns, and work that is large is dealt out in strips. Strips do not depend on
the number of threads, and what they give is added up in their order: answers are the
same to the last bit for any number of threads.

As many threads are used as BLAS was allowed (``OPENBLAS_NUM_THREADS``, or a limit by
threadpoolctl), but no more than there are cores. Whoever deals out strips works on them
itself, and helpers take what is left: one that wakes up late costs nothing. Threads of
BLAS do not sleep when a product ends, but turn in a loop for a tenth of a second and
take a core from everybody else: learning and predicting wake none of them.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

STRIP_NUMBERS = 2**20  # of a product that one thread takes at a time

_lock = threading.Lock()
_limits: list[tuple[int, list]] = []  # threads before, and of each library
_users = 0  # how many are inside one_thread
_here = threading.local()  # .busy: this thread is one of those at work


@cache
def _libraries() -> list:
    # Looking for them takes milliseconds; asking them, and telling them, microseconds.
    return ThreadpoolController().select(user_api="blas").lib_controllers


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="unseen")


def _forget() -> None:
    """Begin anew in a forked process, which has none of its parent's threads."""
    global _lock, _users
    _lock, _users = threading.Lock(), 0
    _limits.clear()
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def n_threads() -> int:
    """Return how many threads may work at once here; one inside of a strip.

    >>> from unseen._threads import n_threads
    >>> n_threads() >= 1
    True
    """
    if getattr(_here, "busy", False):
        return 1
    with _lock:
        return _limits[0][0] if _limits else _allowed()


def _allowed() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    cores = cores or os.cpu_count() or 1
    found = [library.get_num_threads() for library in _libraries()]
    return max(1, min([cores, *found]))


def _hold_to_one() -> list[tuple[Any, int]]:
    """Hold each library to one thread; return those that had more, and how many."""
    found = [(library, library.get_num_threads()) for library in _libraries()]
    held = [(library, n) for library, n in found if n > 1]
    for library, _ in held:
        library.set_num_threads(1)
    return held


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread; :func:`each` still uses as many as were allowed.

    Can be entered again, and by several threads: the last to leave ends it.

    >>> from unseen._threads import one_thread
    >>> with one_thread():
    ...     pass
    """
    global _users
    with _lock:
        if not _users:
            _limits.append((_allowed(), _hold_to_one()))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                for library, n in _limits.pop()[1]:
                    library.set_num_threads(n)


def each(work: Callable[..., Any], *items: Iterable) -> list:
    """Return ``list(map(work, *items))``, with as many threads at work as may be.

    The first error is raised, as by map, once all that was begun has ended.

    >>> from unseen._threads import each
    >>> each(abs, [-1, 2])
    [1, 2]
    """
    calls = list(zip(*items, strict=True))
    team = min(n_threads(), len(calls)) if len(calls) > 1 else 1
    if team < 2:
        return [work(*call) for call in calls]

    todo, answers = deque(enumerate(calls)), [None] * len(calls)
    errors: dict[int, BaseException] = {}
    ignored = np.geterr()  # is told to every thread anew

    def take() -> None:
        _here.busy = True
        try:
            with np.errstate(**ignored):
                while todo:
                    _take_one(work, todo, answers, errors)
        finally:
            _here.busy = False

    with one_thread():
        helpers = [_pool(team - 1).submit(take) for _ in range(team - 1)]
        try:
            take()
        finally:
            todo.clear()
            for helper in helpers:
                if not helper.cancel():  # it has begun
                    helper.result()
    if errors:
        raise errors[min(errors)]
    return answers


def _take_one(work: Callable, todo: deque, answers: list, errors: dict) -> None:
    """Do the next call there is; after an error nobody begins another."""
    try:
        place, call = todo.popleft()
    except IndexError:  # somebody else was quicker
        return
    try:
        answers[place] = work(*call)
    except Exception as error:
        errors[place] = error
        todo.clear()


def strips(n: int, width: int, numbers: int = STRIP_NUMBERS) -> list[slice]:
    """Cut n rows of some width into strips of about so many numbers.

    >>> from unseen._threads import strips
    >>> strips(5, 10, numbers=20)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, numbers // max(1, width))
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return ``A @ B`` for many rows in A, strip by strip.

    >>> import numpy as np
    >>> from unseen._threads import product
    >>> product(np.eye(2), np.array([[1.0], [2.0]]))
    array([[1.],
           [2.]])
    """
    here = strips(len(A), A.shape[1])
    if len(here) < 2:
        return A @ B
    C = np.empty((len(A), *B.shape[1:]), dtype=np.result_type(A, B))
    each(lambda rows: np.matmul(A[rows], B, out=C[rows]), here)
    return C


class Rooms(threading.local):
    """Pieces of memory that a thread uses again."""

    def __init__(self) -> None:
        self.by_use: dict[tuple[str, np.dtype], np.ndarray] = {}


def scratch(shape: tuple[int, int], dtype: np.dtype, use: str) -> np.ndarray:
    """Return room for a strip, the same for all that a thread asks for this use.

    The system would take longer to find and clear new memory than a strip is worked on.

    >>> import numpy as np
    >>> from unseen._threads import scratch
    >>> scratch((2, 3), np.dtype(np.float64), "example").shape
    (2, 3)
    """
    size, rooms = shape[0] * shape[1], _rooms.by_use
    if (use, dtype) not in rooms or rooms[use, dtype].size < size:
        rooms[use, dtype] = np.empty(size, dtype=dtype)
    return rooms[use, dtype][:size].reshape(shape)


_rooms = Rooms()
