"""Answers under kills, signals and full disks: none that was saved is lost.

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

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
ROWS = 500
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP]
SMALL = 64 * 2**20  # bytes of a disk that can be filled


@pytest.mark.parametrize(
    ("n_answers", "n_kills", "full"),
    [(80, 4, [1]), pytest.param(10_000, 20, [6, 14], marks=pytest.mark.slow)],
)
def test_no_saved_answer_is_lost(tmp_path, n_answers, n_kills, full):
    make_review(tmp_path, n=ROWS, wrong=0, photos=False)
    rng, saved, refused = np.random.default_rng(0), {}, 0
    numbers = itertools.count()
    for run, how in zip(range(n_kills), itertools.cycle(SIGNALS), strict=False):
        server = Served(tmp_path)
        assert holds(server, saved)
        for _ in range(n_answers // n_kills):
            answer(server, rng, saved, next(numbers))
        if run in full:
            with full_disk(server, tmp_path):
                refused += count_refused(server, rng, saved, numbers)
                if n_answers < 100:  # the table is longer than the journal
                    state = server.until(lambda state: state["trouble"])
                    assert "cannot be written" in state["trouble"]
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
        _, err = server.process.communicate(timeout=300)
        written = server.corrections()  # whole whatever happened
        if how != signal.SIGKILL:
            assert server.process.returncode == 0 and not err.partition("then.\n")[2]
            assert named(saved).items() <= written.items()
    with Served(tmp_path) as server:
        assert holds(server, saved)
        code, out, err = server.stop()
    assert code == 0 and "answers are in" in out and not err.partition("then.\n")[2]
    assert named(saved).items() <= server.corrections().items()
    n = len((tmp_path / "labels.review/answers.jsonl").read_text().splitlines()) - 1
    assert n >= n_answers and refused
    print(f"{n:,} saved, {refused} refused, {n_kills} ends, {len(full)} full disks")


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
