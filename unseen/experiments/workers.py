"""Runs in parallel processes, which end with their parent however it ends.

Runs that share a search go to one worker one after another; a worker is given work on
the data set it already has on its bench, as long as there is some. A worker that dies
fails the run it was at, and nothing else.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from unseen.experiments.plan import PlannedRun
from unseen.experiments.results import Finding
from unseen.methods import METHODS

__all__ = ["run_all"]

SPAWN = multiprocessing.get_context("spawn")


def run_all(
    runs: Sequence[PlannedRun], n_jobs: int, target: Callable | None = None
) -> Iterator[tuple[PlannedRun, list[Finding]]]:
    """Make all runs, ``n_jobs`` at a time, and yield each as it finishes.

    Parameters
    ----------
    runs : sequence of PlannedRun
    n_jobs : int
        Processes. Each uses one BLAS thread.
    target : callable, optional
        What a process does with its end of a pipe; by default :func:`work`.

    Yields
    ------
    run, findings
    """
    waiting = batches(runs)
    idle = [Worker(target or work) for _ in range(min(n_jobs, len(waiting)))]
    busy: dict[Connection, Worker] = {}
    try:
        while waiting or busy:
            while idle and waiting:
                worker = idle.pop()
                others = {other.bench for other in busy.values()}
                worker.take(pick(waiting, worker.bench, others))
                busy[worker.pipe] = worker
            for pipe in wait(list(busy)):
                worker = busy.pop(pipe)  # type: ignore[call-overload]
                run, findings = worker.collect()
                yield run, findings
                if worker.next():
                    busy[worker.pipe] = worker
                else:
                    idle.append(worker)
    finally:
        for worker in (*idle, *busy.values()):
            worker.end()


def batches(runs: Sequence[PlannedRun]) -> list[list[PlannedRun]]:
    """Group runs that share a search, costly groups first."""
    groups: dict[tuple, list[PlannedRun]] = {}
    for run in runs:
        key = run.key.data, run.key.classes, first_start(run.key.method)
        groups.setdefault(key, []).append(run)
    return sorted(groups.values(), key=lambda g: -sum(run.cost for run in g))


def first_start(method: str) -> str:
    """Return the method at the head of the chain of starts."""
    while method in METHODS and METHODS[method].start is not None:
        method = METHODS[method].start or method
    return method


def pick(
    waiting: list[list[PlannedRun]], bench: str | None, others: set[str | None]
) -> list[PlannedRun]:
    """Take the costliest batch on this bench, else on one of nobody, else of any."""
    names = [batch[0].key.data for batch in waiting]
    free = [name for name in names if name not in others]
    wanted = bench if bench in names else [*free, *names][0]
    return waiting.pop(names.index(wanted))


class Worker:
    """A process that makes one run at a time."""

    def __init__(self, target: Callable) -> None:
        self.target = target
        self.bench: str | None = None
        self._left: deque[PlannedRun] = deque()
        self._start()

    def _start(self) -> None:
        self.pipe, theirs = SPAWN.Pipe()
        self._process = SPAWN.Process(target=self.target, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()  # so that a dead worker is the end of the pipe

    def _restart(self) -> int | None:
        """Put a new process in place of a dead one; return the dead one's code."""
        self._process.join()
        code = self._process.exitcode
        self.pipe.close()
        self._start()
        return code

    def take(self, batch: Sequence[PlannedRun]) -> None:
        """Begin a batch."""
        self._left.extend(batch)
        self.bench = batch[0].key.data
        self.next()

    def next(self) -> bool:
        """Begin the next run of the batch; tell whether there was one."""
        if not self._left:
            return False
        self.run = self._left.popleft()
        try:
            self.pipe.send(self.run)
        except ConnectionError:  # it died after its last run: nothing is lost
            self._restart()
            self.pipe.send(self.run)
        return True

    def collect(self) -> tuple[PlannedRun, list[Finding]]:
        """Return what the run found, or that its process died."""
        try:
            return self.run, self.pipe.recv()
        except (EOFError, ConnectionError):
            code = self._restart()
            note = f"The process of this run died with exit code {code}."
            return self.run, [Finding("failed", note=note)]

    def end(self) -> None:
        """Stop the process, whatever it is at."""
        self._process.terminate()
        self._process.join()
        self.pipe.close()


def work(pipe: Any) -> None:
    """Make the runs that come through the pipe; one data set is on the bench."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    die_with_parent()
    from threadpoolctl import threadpool_limits

    from unseen.experiments.tasks import Bench, run_task

    bench: Bench | None = None
    with threadpool_limits(limits=1):
        while True:
            run: PlannedRun = pipe.recv()
            if run.source is not None and (bench is None or bench.source != run.source):
                bench = None  # free the one before first
                bench = Bench(run.source)
            pipe.send(run_task(bench, run.part, run.key))


def die_with_parent() -> None:
    """End this process as soon as its parent is gone, however that died."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
