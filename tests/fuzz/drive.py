"""Read damaged files in processes that may hang, crash or grow without harm.

Case number ``n`` of a target is the same in every run. A worker damages one file of a
target, reads it, and judges what happened; the driver watches over time. From a shell::

    python tests/fuzz/drive.py --cases 20000
    python tests/fuzz/drive.py --target hdf5 --first 17 --cases 1   # one case again
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import multiprocessing
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

from mutations import mutate
from targets import TARGETS, Target

MOST_SECONDS = 20  # of the processor: others may use the machine
MOST_STILL = 120  # by the clock
MOST_BYTES = int(1.5 * 2**30)
ADDRESS_SPACE = 8 << 30  # a worker dies of no more than this


def judge(error: BaseException, folder: Path) -> str:
    """Return what is wrong with a refusal, "" if it is a clear sentence."""
    text = str(error)
    if not isinstance(error, ValueError | OSError) or isinstance(error, UnicodeError):
        return f"raw {type(error).__name__}: {text[:200]}"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return f"ran out of memory: {text[:200]}"
        cause = cause.__cause__ or cause.__context__
    if str(folder) not in text:
        return f"names no file: {type(error).__name__}: {text[:300]}"
    said = text.replace(str(folder), "")
    if "\n" in said or len(said) > 1000 or len(said) < 20:
        return f"no sentence: {type(error).__name__}: {text[:300]!r}"
    return ""


def run_case(target: Target, number: int, base: dict[str, bytes], home: Path) -> Any:
    """Damage one file, read, and return (outcome, what is wrong)."""
    rng = random.Random(f"{target.name} {number}")
    folder = Path(tempfile.mkdtemp(dir=home))  # a new name: readers may remember it
    for name, content in base.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    victim = rng.choice(sorted(base))
    (folder / victim).write_bytes(mutate(base[victim], rng))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = target.read(folder)
    except Exception as error:
        return "refused", judge(error, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return "read", found


def prepare(target: Target, home: Path) -> tuple[dict[str, bytes], bytes | None]:
    """Return the whole files, and what they hold in plain bytes."""
    folder = Path(tempfile.mkdtemp(dir=home))
    target.write(folder)
    base = {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    whole = target.read(folder)
    shutil.rmtree(folder)
    return base, None if target.compare is None else target.compare(whole)


def peak() -> int:
    """Return the most memory this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def work(tasks: Any, results: Any) -> None:
    """Run cases until None comes; say before and after each what it is."""
    from unseen.loading.reader_process import one_reader_process

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    with (
        tempfile.TemporaryDirectory(prefix="fuzz") as folder,
        one_reader_process(),  # one for all cases: starting it takes longer than a case
    ):
        home = Path(folder)
        for place, numbers in iter(tasks.get, None):
            target = TARGETS[place]
            results.put(("start", os.getpid(), place, -1))
            base, whole = prepare(target, home)
            for number in numbers:
                results.put(("start", os.getpid(), place, number))
                before, start = peak(), time.process_time()
                outcome, found = run_case(target, number, base, home)
                wrong = found if outcome == "refused" else ""
                if outcome == "read" and target.compare is not None:
                    with suppress(Exception):
                        wrong = "" if target.compare(found) == whole else "OTHER"
                    if wrong == "OTHER":
                        wrong = "silently different numbers"
                seconds = time.process_time() - start
                if seconds > MOST_SECONDS:
                    wrong = f"took {seconds:.0f} s"
                if peak() > MOST_BYTES and peak() > before:
                    wrong = f"took {peak() / 2**30:.1f} GB"
                results.put(
                    ("end", os.getpid(), place, number, outcome, wrong, seconds)
                )
            results.put(("done", os.getpid()))


def shares(n_cases: int) -> list[int]:
    """Share cases among the targets by their weights."""
    total = sum(target.weight for target in TARGETS)
    return [max(1, round(n_cases * t.weight / total)) for t in TARGETS]


def drive(jobs: list[tuple[int, list[int]]], n_workers: int = 2) -> dict[str, Any]:
    """Run (target, case numbers) and return counts and everything that was wrong."""
    context = multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.SimpleQueue()
    for job in jobs:
        tasks.put(job)
    workers: dict[int, Any] = {}
    running: dict[int, tuple[int, int, float]] = {}
    left = {place: collections.deque(numbers) for place, numbers in jobs}
    outcomes: collections.Counter[tuple[str, str]] = collections.Counter()
    faults: list[tuple[str, int, str]] = []
    slowest = (0.0, "", -1)

    def start() -> None:
        worker = context.Process(target=work, args=(tasks, results), daemon=True)
        worker.start()
        workers[worker.pid] = worker

    def lost(pid: int, why: str) -> None:
        place, number, _ = running.pop(pid, (None, -1, 0.0))
        workers.pop(pid)
        if place is not None:
            faults.append((TARGETS[place].name, number, why))
            outcomes[TARGETS[place].name, "lost"] += 1
            if number < 0:  # the whole files could not be read
                left[place].clear()
            if left[place] and left[place][0] == number:
                left[place].popleft()
            if left[place]:
                tasks.put((place, list(left[place])))
        start()

    for _ in range(n_workers):
        start()
    while any(left.values()):
        while not results.empty():
            kind, pid, *more = results.get()
            if kind == "start":
                running[pid] = (more[0], more[1], time.monotonic())
            elif kind == "end":
                place, number, outcome, wrong, seconds = more
                name = TARGETS[place].name
                running.pop(pid, None)
                with suppress(ValueError):
                    left[place].remove(number)
                outcomes[name, outcome] += 1
                slowest = max(slowest, (seconds, name, number))
                if wrong:
                    faults.append((name, number, wrong))
        for pid, worker in list(workers.items()):
            if not worker.is_alive():
                if results.empty():
                    lost(pid, f"ended its process (code {worker.exitcode})")
            elif pid in running:
                if time.monotonic() - running[pid][2] > MOST_STILL:
                    worker.kill()
                    worker.join()
                    lost(pid, f"hung for {MOST_STILL} s")
        time.sleep(0.02)
    for worker in workers.values():
        worker.kill()
        worker.join()
    return {"outcomes": outcomes, "faults": faults, "slowest": slowest}


def report(found: dict[str, Any]) -> str:
    """Return what happened as text."""
    outcomes, faults = found["outcomes"], found["faults"]
    lines = []
    for target in TARGETS:
        counts = {k: n for (name, k), n in outcomes.items() if name == target.name}
        if counts:
            told = ", ".join(f"{n} {k}" for k, n in sorted(counts.items()))
            lines.append(f"{target.name:<28}{told}")
    groups: dict[tuple[str, str], list[int]] = {}
    for name, number, wrong in faults:
        key = re.sub(r"/\S*|\d+|'[^']*'", "#", wrong)[:160]
        groups.setdefault((name, key), []).append(number)
    for (name, _), numbers in groups.items():
        wrong = next(w for n, k, w in faults if n == name and k == numbers[0])
        lines.append(f"FAULT {name}: cases {numbers[:8]} ({len(numbers)}): {wrong}")
    seconds, name, number = found["slowest"]
    total = sum(outcomes.values())
    lines.append(f"slowest: {seconds:.1f} s, {name} {number}")
    lines.append(f"{total} cases, {len(faults)} faults")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--target", default="")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    if given.target:
        places = [i for i, t in enumerate(TARGETS) if t.name == given.target]
        counts = {place: given.cases for place in places}
    else:
        counts = dict(enumerate(shares(given.cases)))
    jobs = [(p, list(range(given.first, given.first + n))) for p, n in counts.items()]
    print(report(drive(jobs, given.workers)))


if __name__ == "__main__":
    main()
