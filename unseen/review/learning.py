"""The model learns on a thread, once at a time, and the page is told how it went."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from unseen.review.teaching import Teacher

__all__ = ["Learning", "RefusedError", "Stop", "moves"]

NAME = "learning"  # of the thread
GRACE = 5.0  # seconds that a thread has to come to an end
Stop = Callable[..., None]
Learn = Callable[[Teacher], dict[str, Any]]


class RefusedError(ValueError):
    """What was asked makes no sense; the message says what would."""


class Learning:
    """Prepares a teacher and has it teach.

    ``prepare`` makes the teacher, on a thread; it gets a function to call now and then,
    which raises when the review ends.
    """

    def __init__(self, prepare: Callable[[Stop], Teacher] | None) -> None:
        self.teacher: Teacher | None = None  # not ready
        # Its state is "idle", "running", "done" or "failed", with what it came to.
        self.last: dict[str, Any] = {"state": "idle"}
        # Why nothing can be learned now; "" if it can.
        self.hindrance = "Nobody said how these labels were made."
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None
        if prepare is not None:
            self.hindrance = "Getting ready to learn ..."
            self._on_thread(self._prepare, prepare)

    def start(self, learn: Learn, given: int) -> None:
        """Start to learn from some answers; ``learn`` returns what that changes.

        While it is learning, nothing else is started.
        """
        if self.teacher is None:
            raise RefusedError(self.hindrance)
        if self.last["state"] != "running":
            self.last = {"state": "running", "given": given}
            self._on_thread(self._learn, self.teacher, learn, given)

    def stop(self) -> bool:
        """Ask the thread to end; return whether it has, within a few seconds."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join(GRACE)
        return self._thread is None or not self._thread.is_alive()

    def _on_thread(self, work: Callable[..., None], *given: Any) -> None:
        self._thread = threading.Thread(target=work, args=given, name=NAME, daemon=True)
        self._thread.start()

    def _prepare(self, prepare: Callable[[Stop], Teacher]) -> None:
        def stop(*progress: int) -> None:
            if self._ends.is_set():
                raise RefusedError("The review has ended.")

        try:
            self.teacher, self.hindrance = prepare(stop), ""
        except Exception as error:  # the page works without, and says why
            self.hindrance = message_of(error)

    def _learn(self, teacher: Teacher, learn: Learn, given: int) -> None:
        started = time.monotonic()
        try:
            changes = learn(teacher)
            seconds = round(time.monotonic() - started, 2)
            self.last = {"state": "done", "seconds": seconds, "given": given, **changes}
        except Exception as error:  # it must reach the page, whatever it is
            self.last = {"state": "failed", "reason": message_of(error)}


def message_of(error: Exception) -> str:
    """Return the message of an error in a line, or what kind it is."""
    return " ".join(str(error).split()) or type(error).__name__


def moves(before: np.ndarray, after: np.ndarray) -> dict[str, Any]:
    """Return how many labels changed, and from what to what, the most frequent first.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.review.learning import moves
    >>> moves(np.array(["cat", "cat", "dog"]), np.array(["cat", "dog", "dog"]))
    {'changed': 1, 'moves': [{'old': 'cat', 'new': 'dog', 'n': 1}]}
    """
    other = np.flatnonzero(before != after)
    counts = Counter((str(before[i]), str(after[i])) for i in other)
    most = [{"old": old, "new": new, "n": n} for (old, new), n in counts.most_common()]
    return {"changed": len(other), "moves": most}
