"""Ten thousand answers, twenty kills, two full disks: none that was saved is lost.

On a small disk of its own (``--basetemp`` below a tmpfs of some MB) it is filled;
elsewhere files of the server may not grow, which it notices in the same way.
"""

import itertools
import json
import resource
import shutil
import signal
import time
from contextlib import contextmanager
from http.client import HTTPException

import numpy as np
import pytest
from reviewing import Served, make_review

pytestmark = pytest.mark.slow
ROWS, ANSWERS, KILLS, FULL = 500, 10_000, 20, (6, 14)
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP]
SMALL = 64 * 2**20  # bytes of a disk that can be filled


def test_no_saved_answer_is_lost(tmp_path):
    make_review(tmp_path, n=ROWS, wrong=0, photos=False)
    rng, saved, refused = np.random.default_rng(0), {}, 0
    numbers = itertools.count()
    for run, how in zip(range(KILLS), itertools.cycle(SIGNALS), strict=False):
        server = Served(tmp_path)
        assert holds(server, saved)
        for _ in range(ANSWERS // KILLS):
            answer(server, rng, saved, next(numbers))
        if run in FULL:
            with full_disk(server, tmp_path):
                refused += count_refused(server, rng, saved, numbers)
                assert server.corrections()  # whole, though not the latest
            server.until(lambda state: not state["trouble"])
            answer(server, rng, saved, next(numbers))
        row = int(rng.integers(ROWS))
        try:  # the last one may or may not be on the disk
            server.process.send_signal(how)
            server.say([row], "late", uid=f"late-{run}")
            saved[row] = "late"
        except (OSError, HTTPException):
            saved.pop(row, None)
        server.process.communicate(timeout=300)
        written = server.corrections()  # whole whatever happened
        if how != signal.SIGKILL:
            assert named(saved).items() <= written.items()
    with Served(tmp_path) as server:
        assert holds(server, saved)
    assert named(saved).items() <= server.corrections().items()
    n = len((tmp_path / "labels.review/answers.jsonl").read_text().splitlines()) - 1
    assert n >= ANSWERS and refused
    print(f"{n} answers, {KILLS} kills, {len(FULL)} full disks, {refused} refused")


def named(saved):
    return {f"{row:05d}.jpg": label or "none of these" for row, label in saved.items()}


def answer(server, rng, saved, number):
    row, label = int(rng.integers(ROWS)), str(rng.choice(["cat", "emu", ""]))
    server.say([row], label, uid=f"answer-{number}")
    saved[row] = label


def holds(server, saved):
    """Tell whether a server that was started anew knows all that was saved."""
    time.sleep(1)  # the tables are written half a second after the start
    return named(saved).items() <= server.corrections().items()


def count_refused(server, rng, saved, numbers):
    """Answer until the disk takes no more; what is refused does not count."""
    refused = 0
    while refused < 5:
        row = int(rng.integers(ROWS))
        entry = {"op": "label", "rows": [row], "label": "emu"}
        body = {"entries": [entry | {"uid": f"full-{next(numbers)}"}]}
        status, content = server.ask("api/answers", body)
        if status == 200:
            saved[row] = "emu"
        else:
            assert status == 507 and "not saved" in json.loads(content)["reason"]
            refused += 1
    return refused


@contextmanager
def full_disk(server, home):
    if shutil.disk_usage(home).total <= SMALL:
        ballast = home / "ballast"
        with open(ballast, "wb", buffering=0) as file, pytest.raises(OSError):
            while file.write(b"\0" * 4096) == 4096:
                pass
            file.write(b"\0" * 4096)
        yield
        ballast.unlink()
        return
    size = (home / "labels.review/answers.jsonl").stat().st_size
    limits = (size + 1000, resource.RLIM_INFINITY)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, limits)
    yield
    unlimited = (resource.RLIM_INFINITY,) * 2
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
