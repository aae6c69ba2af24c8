"""Lessons: the model learns on a thread, one lesson at a time, and says how it went."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from unseen.review.answers import Model
from unseen.review.teaching import Teacher

__all__ = ["Lessons", "RefusedError", "moves"]

TakeOver = Callable[[Model, float, dict[int, str]], dict[str, Any]]


NAME = "lesson"  # of the thread that learns


class RefusedError(ValueError):
    """What was asked makes no sense; the message says what would."""


class Lessons:
    """Prepares a teacher and has it teach.

    Parameters
    ----------
    prepare : callable, optional
        Makes the teacher, on a thread: it may take a while, and may raise.

    Attributes
    ----------
    teacher : Teacher or None
        None as long as it is not ready.
    hindrance : str
        Why nothing can be learned now; "" if it can.
    last : dict
        ``state`` of the last lesson ("idle", "running", "done", "failed"), and what it
        came to.
    """

    def __init__(self, prepare: Callable[[], Teacher] | None) -> None:
        self.teacher: Teacher | None = None
        self.last: dict[str, Any] = {"state": "idle"}
        self.hindrance = "Nobody said how these labels were made."
        if prepare is not None:
            self.hindrance = "Getting ready to learn ..."
            self._on_thread(self._prepare, prepare)

    def start(
        self,
        model: Model,
        given: dict[int, str],
        renames: list[tuple[str, str]],
        take_over: TakeOver,
    ) -> None:
        """Start a lesson; ``take_over`` gets its labels and returns what they change.

        While a lesson is running, another is not started.
        """
        if self.teacher is None:
            raise RefusedError(self.hindrance)
        if self.last["state"] != "running":
            self.last = {"state": "running", "given": len(given)}
            self._on_thread(self._learn, self.teacher, model, given, renames, take_over)

    def _on_thread(self, work: Callable[..., None], *arguments: Any) -> None:
        threading.Thread(target=work, args=arguments, name=NAME, daemon=True).start()

    def _prepare(self, prepare: Callable[[], Teacher]) -> None:
        try:
            self.teacher = prepare()
        except Exception as error:  # the page works without, and says why
            self.hindrance = said(error)
        else:
            self.hindrance = ""

    def _learn(
        self,
        teacher: Teacher,
        model: Model,
        given: dict[int, str],
        renames: list[tuple[str, str]],
        take_over: TakeOver,
    ) -> None:
        try:
            taught = teacher.teach(model, given, renames)
            changes = take_over(taught.model, taught.seconds, given)
        except Exception as error:  # it must reach the page, whatever it is
            self.last = {"state": "failed", "reason": said(error)}
            return
        self.last = {
            "state": "done",
            "seconds": round(taught.seconds, 2),
            "given": len(given),
            **changes,
        }


def said(error: Exception) -> str:
    """Return the message of an error in a line, or what kind it is."""
    return " ".join(str(error).split()) or type(error).__name__


def moves(before: np.ndarray, after: np.ndarray) -> dict[str, Any]:
    """Return how many labels changed, and from what to what, the most frequent first.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.review.lessons import moves
    >>> moves(np.array(["cat", "cat", "dog"]), np.array(["cat", "dog", "dog"]))
    {'changed': 1, 'moves': [{'old': 'cat', 'new': 'dog', 'n': 1}]}
    """
    other = np.flatnonzero(before != after)
    counts = Counter((str(before[i]), str(after[i])) for i in other)
    most = [{"old": old, "new": new, "n": n} for (old, new), n in counts.most_common()]
    return {"changed": len(other), "moves": most}
