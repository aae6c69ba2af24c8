"""Decode photos in other processes, so that a bad one stops neither run nor machine.

The first few are decoded here: processes take longer to start than they save. From then
on a photo has a process and a clock; if either fails it is tried alone, and what became
of it is said. The others go on.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from unseen._command import needs_extra
from unseen.limits import Limits, limits, raised
from unseen.photos.photo import Square, read_square

__all__ = ["BATCH", "Decoder"]

BATCH = 16  # photos at once; more is no faster and takes more memory
FEW = 300  # so many are decoded here: other processes would start too late for them
TRIES = 2  # for a photo whose process ended
MOST_CRASHES = 5  # photos in a row; then it is not their fault


class Decoder:
    """Decodes photos in other processes, and outlives a process that crashes."""

    def __init__(self, folder: Path, size: int, workers: int | None) -> None:
        self.folder, self.size = folder, size
        self.workers = min(8, os.cpu_count() or 1) if workers is None else workers
        self.pool: Any = None
        self.crashes = 0

    def squares(self, paths: Iterable[str]) -> Iterator[tuple[str, Square]]:
        """Yield each photo decoded, in any order."""
        paths = iter(paths)
        for path in islice(paths, FEW) if self.workers else paths:
            yield path, self.here(path)
        waiting: deque[tuple[str, Future]] = deque()
        for path in paths:
            if len(waiting) < BATCH + 2 * self.workers:
                waiting.append((path, self.submit(path)))
            elif waiting[0][1].done():
                yield self.next_of(waiting)
                waiting.append((path, self.submit(path)))
            else:  # they are still starting, or slow: lend a hand
                yield path, self.here(path)
        while waiting:
            yield self.next_of(waiting)

    def here(self, path: str) -> Square:
        """Decode a photo in this process."""
        return read_square(self.folder / path, self.size)

    def start(self) -> Any:
        """Return the pool of processes, started if need be."""
        if self.pool is None:
            try:
                from loky import ProcessPoolExecutor
            except ImportError:
                raise needs_extra("loky", "images", "Decoding photos") from None
            self.pool = ProcessPoolExecutor(self.workers, initializer=watch_parent)
        return self.pool

    def submit(self, path: str) -> Future:
        """Give a photo to another process."""
        return self.start().submit(read_within, limits(), self.folder / path, self.size)

    def next_of(self, waiting: deque[tuple[str, Future]]) -> tuple[str, Square]:
        """Return the photo that waited longest; start the others again if it failed."""
        path, future = waiting.popleft()
        try:
            return path, future.result(limits().photo_seconds)
        except (BrokenProcessPool, TimeoutError):
            self.close()  # all that waited are lost; one of them is to blame
        square = self.alone(path)
        for _ in range(len(waiting)):
            lost, _future = waiting.popleft()
            waiting.append((lost, self.submit(lost)))
        return path, square

    def alone(self, path: str) -> Square:
        """Decode a photo with nothing beside it, twice if need be; say what happened.

        A process may have been killed from outside, for want of memory for instance,
        so one that ended says little about its photo.
        """
        seconds, ended = limits().photo_seconds, ""
        for _ in range(TRIES):
            try:
                self.start().submit(ready).result()  # imports are not on its clock
                square = self.submit(path).result(seconds)
            except TimeoutError:
                self.close()
                return Square(
                    b"",
                    reason=f"took more than {seconds:g} seconds to decode",
                )
            except BrokenProcessPool as error:
                self.close()
                ended = how_it_ended(error)
            else:
                self.crashes = 0
                return square
        self.crashes += 1
        if self.crashes >= MOST_CRASHES:
            raise RuntimeError(
                f"Decoding ended {TRIES} times on each of {self.crashes} photos in a "
                f"row, last on {path}: {ended}. Decode in this process: workers=0."
            )
        return Square(
            b"",
            reason=f"not decoded: the process that decoded it ended {TRIES} times "
            f"({ended}). It may be damaged, or memory ran out",
        )

    def close(self) -> None:
        """End all processes, also those at work."""
        if self.pool is not None:
            self.pool.shutdown(wait=True, kill_workers=True)
            self.pool = None


def watch_parent() -> None:
    """Have this process end with the one that started it, however that ends."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def ready() -> None:
    """Do nothing, in a process that has to import this module for it."""


def read_within(bounds: Limits, path: Path, size: int) -> Square:
    """Read a photo in another process, under the limits of this one."""
    with raised(**asdict(bounds)):
        return read_square(path, size)


def how_it_ended(error: BaseException) -> str:
    """Return the exit code of a process that ended, out of loky's long sentence."""
    found = re.search(r"\{(.*?)\}", str(error))
    return f"exit code {found[1]}" if found else type(error).__name__
