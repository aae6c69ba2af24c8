"""One BLAS thread where matrices are small: more would wait for each other."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds, as long as what it is to speed up.
    return ThreadpoolController()


def one_thread() -> Any:
    """Return a context in which BLAS runs on one thread.

    >>> from unseen._threads import one_thread
    >>> with one_thread():
    ...     pass
    """
    return _controller().limit(limits=1, user_api="blas")
