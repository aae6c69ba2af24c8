"""results.csv: what every run found, appended as it finishes, safe to be killed.

One line per finding, in long form:

    task, data, classes, method, seed   which run
    measure, item, round                which finding of it
    value, note                         the finding, as a number or in words
    seconds                             processor time of one thread: the one column in
                                        which two runs differ

All lines of a run are appended by one write and end with the measure ``done`` or
``failed``. Whatever does not is the trace of a kill, and is dropped on the next start.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from unseen._command import command_line
from unseen.files import check_target, named, replace_file
from unseen.limits import check_plain_file

__all__ = ["COLUMNS", "Finding", "ResultsFile", "RunKey", "read_results"]

ENDS = ("done", "failed")


class RunKey(NamedTuple):
    """Which run a line belongs to."""

    task: str
    data: str
    classes: str
    method: str
    seed: int


class Finding(NamedTuple):
    """One finding of a run.

    Examples
    --------
    >>> from unseen.experiments.results import Finding
    >>> Finding("accuracy", round=1, value=0.5)
    Finding(measure='accuracy', item='', round=1, value=0.5, note='', seconds=None)
    """

    measure: str
    item: str = ""
    round: int | None = None
    value: float | int | None = None
    note: str = ""
    seconds: float | None = None


COLUMNS = (*RunKey._fields, *Finding._fields)
NUMBERS = {"seed": int, "round": float, "value": float, "seconds": float}
MEND = "Remove the row, or give another --out."


class ResultsFile:
    """The file while it is being written; one writer at a time.

    Parameters
    ----------
    path : path
        Made if need be; the trace of a kill is removed.
    retry_failed : bool, default=False
        Forget runs that failed, so that they are made again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.experiments.results import Finding, ResultsFile, RunKey
    >>> key = RunKey("accuracy", "digits", "strokes", "eszsl", 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ResultsFile(Path(folder) / "results.csv") as results:
    ...         results.append(key, [Finding("final", value=0.5), Finding("done")])
    ...     with ResultsFile(Path(folder) / "results.csv") as results:
    ...         results.finished == {key}
    True
    """

    def __init__(self, path: str | os.PathLike[str], *, retry_failed: bool = False):
        self.path = Path(path)
        self.retry_failed = retry_failed
        self.finished: set[RunKey] = set()

    def __enter__(self) -> ResultsFile:
        with ExitStack() as opened:
            # Locked is a file of its own: mending puts another results.csv in place.
            check_target(self.path)
            aside = self.path.with_name(f".{self.path.name}.lock")
            with named(self.path):
                lock(opened.enter_context(open(aside, "wb")), self.path)
            self._mend()
            self._file = opened.enter_context(open(self.path, "ab", buffering=0))
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def _mend(self) -> None:
        """Leave only complete runs in the file; remember which they are."""
        lines = list(complete_runs(self.path))
        if self.retry_failed:
            failed = {line[:5] for line in lines if line[5] == "failed"}
            lines = [line for line in lines if line[:5] not in failed]
        text = as_csv([COLUMNS, *lines]).encode()
        if not self.path.exists() or self.path.read_bytes() != text:
            with replace_file(self.path) as file:
                file.write(text)
        for task, data, classes, method, seed, measure, *_ in lines:
            if measure in ENDS:
                self.finished.add(RunKey(task, data, classes, method, int(seed)))

    def append(self, key: RunKey, findings: Sequence[Finding]) -> None:
        """Write all lines of a run, the last of which says how it ended."""
        if findings[-1].measure not in ENDS:
            raise ValueError(f"The findings of {key} do not end with one of {ENDS}.")
        text = as_csv([(*key, *map(as_text, finding)) for finding in findings])
        left, file = memoryview(text.encode()), self._file.fileno()
        before = os.fstat(file).st_size
        with named(self.path):
            try:
                while left:
                    left = left[os.write(file, left) :]
                os.fsync(file)
            except OSError:  # such as a full disk: a run is in the file, or it is not
                os.ftruncate(file, before)
                raise
        self.finished.add(key)


def as_text(value: Any) -> str:
    """Write a value so that it reads the same in every run: six digits after all."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def as_csv(lines: Iterable[Sequence[Any]]) -> str:
    """Write lines as CSV."""
    text = io.StringIO()
    plain = csv.writer(text, lineterminator="\n")
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for line in lines:
        # Python before 3.13 leaves a carriage return unquoted, and reads it as an end.
        (quoted if "\r" in "".join(map(str, line)) else plain).writerow(line)
    return text.getvalue()


def complete_runs(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the lines of every run that came to its end; nothing if there is no file.

    A kill leaves its trace at the end: a line without an end, and lines of a run that
    did not come to its. Anything else that is no line of ours is damage, or a note
    somebody made, and is not passed over.
    """
    if not path.exists():
        return
    check_plain_file(path)
    text = path.read_bytes().decode("utf-8", errors="replace")
    try:
        lines = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise ValueError(f"{path}: is damaged ({error}). {MEND}") from error
    if lines and tuple(lines[0]) != COLUMNS:
        if not ",".join(COLUMNS).startswith(text.strip()):
            raise ValueError(
                f"{path} is no results.csv of this version: its first line is "
                f"{text.splitlines()[0][:80]!r}. Give another --out."
            )
        return
    if lines and not text.endswith("\n"):
        lines.pop()
    open_run: list[tuple[str, ...]] = []
    for number, line in enumerate(map(tuple, lines[1:]), start=2):
        if len(line) != len(COLUMNS) and number == len(lines):
            break  # torn inside a quoted cell
        fault = find_fault(line, open_run)
        if fault:
            raise ValueError(f"{path}: row {number} {fault}. {MEND}")
        open_run.append(line)
        if line[5] in ENDS:
            yield from open_run
            open_run = []


def find_fault(line: tuple[str, ...], before: Sequence[tuple[str, ...]]) -> str:
    """Say why a line cannot follow those of its run; "" if it can."""
    if len(line) != len(COLUMNS):
        return f"has {len(line)} cells instead of {len(COLUMNS)}"
    if before and before[-1][:5] != line[:5]:
        return f"is of another run, but the one before it lacks its {' or '.join(ENDS)}"
    for name, cell in zip(COLUMNS, line, strict=True):
        if name in NUMBERS and not is_number(cell, NUMBERS[name]):
            return f"has {cell[:50]!r} as its {name}, which is no number"
    return ""


def is_number(text: str, kind: type) -> bool:
    """Tell whether a cell holds a number, or nothing where there may be nothing."""
    if not text:
        return kind is float
    try:
        kind(text)
    except ValueError:
        return False
    return True


def read_results(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read results.csv, complete runs only.

    Parameters
    ----------
    path : path
        The file, or the folder it is in.

    Returns
    -------
    DataFrame
        One row per finding; ``value``, ``seconds`` and ``round`` as numbers.

    Examples
    --------
    >>> import tempfile
    >>> from unseen.experiments.results import read_results
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_results(folder)
    Traceback (most recent call last):
    FileNotFoundError: ... holds no results.csv. Make one with: unseen reproduce ...
    """
    path = Path(path)
    if path.is_dir():
        path /= "results.csv"
    if not path.exists():
        raise FileNotFoundError(
            f"{path.parent} holds no results.csv. Make one with: "
            f"{command_line('reproduce', 'digits', '--out', path.parent)}"
        )
    frame = pd.DataFrame(list(complete_runs(path)), columns=list(COLUMNS))
    for column in ("seed", "round", "value", "seconds"):
        try:
            frame[column] = pd.to_numeric(frame[column])
        except (ValueError, OverflowError) as error:
            raise ValueError(
                f"{path}: column {column!r} holds more than numbers. "
                "Delete the file and run the plans again."
            ) from error
    try:
        return frame.astype({"seed": int})
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{path}: a seed is no whole number ({error}). Delete the file and run "
            "the plans again."
        ) from error


def lock(file: Any, path: Path) -> None:
    """Let nobody else append; the system frees the lock when its holder dies.

    Where the system has no such locks, two writers are the user's to avoid.
    """
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ValueError(
            f"Another run is writing {path}. Wait for it, or give another --out."
        ) from error
