"""HDF5 and parquet files through a process of their own, which can be stopped.

A damaged file can keep their libraries busy for ever, or end the process; see
:mod:`unseen.loading.reader_worker`. One process serves all files of one reading.
Numbers that HDF5 stores in one piece never pass through it: they are mapped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from unseen._command import needs_extra
from unseen.limits import limits
from unseen.loading import reader_worker
from unseen.loading.parts import as_texts

__all__ = ["ReaderProcess", "one_reader_process"]


class ReaderProcess:
    """A process that reads HDF5 files, started at the first request.

    Examples
    --------
    >>> import h5py, numpy as np, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.reader_process import one_reader_process
    >>> with tempfile.TemporaryDirectory() as folder, one_reader_process() as process:
    ...     path = Path(folder) / "zoo.h5"
    ...     with h5py.File(path, "w") as file:
    ...         file["a"] = np.eye(2)
    ...     process.datasets(path)["a"]["shape"]
    ...     process.numbers(path, "a")
    [2, 2]
    memmap([[1., 0.],
            [0., 1.]])
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self._lists: dict[Path, dict[str, dict]] = {}
        self._faults: dict[Path, str] = {}  # files that ended the process

    def datasets(self, path: Path) -> dict[str, dict]:
        """Return all datasets and groups by name, with shapes and types."""
        if path not in self._lists:
            self._lists[path] = self._ask(path, "list")["found"]
        return self._lists[path]

    def numbers(self, path: Path, name: str) -> np.ndarray:
        """Return a dataset of numbers, mapped if it is stored in one piece."""
        about = self.datasets(path)[name]
        if about.get("offset") is not None:
            return _mapped(path, name, about)
        about = self._ask(path, "read", name)
        if about.get("kind") != "numbers":
            raise ValueError(
                f"{path}: {name!r} is {about['dtype']}, which is never unpickled. "
                "Save numbers or text."
            )
        shape, dtype = tuple(about["shape"]), np.dtype(about["dtype"])
        values = np.empty(shape, dtype)
        chunks = about["chunks"] and tuple(about["chunks"])
        for block in reader_worker.grid(shape, chunks, dtype.itemsize):
            part = values[block] if shape else values.reshape(1)
            if part.flags.c_contiguous:
                self._fill(path, part)
            else:
                values[block] = self._fill(path, np.empty(part.shape, dtype))
        return values

    def texts(self, path: Path, name: str) -> np.ndarray:
        """Return a dataset of text in its shape."""
        about = self._ask(path, "read", name)
        texts = as_texts(about["texts"], f"{path}: {name!r}")
        return texts.reshape(tuple(about["shape"]))

    def cells(self, path: Path, name: str) -> list[str]:
        """Return the texts of a cell array of MATLAB."""
        return self._ask(path, "cells", name)["texts"]

    def parquet(self, path: Path) -> Any:
        """Return a parquet file as a table of Arrow."""
        import pyarrow as pa

        tables = list(self.parquet_tables(path))
        return pa.concat_tables(tables[1:] or tables)

    def parquet_tables(self, path: Path) -> Iterator[Any]:
        """Yield an empty table with the columns of a parquet file, then its rows.

        Until the last is taken, nothing else can be asked.
        """
        import pyarrow as pa

        answer = self._ask(path, "parquet", package="pyarrow")
        yield pa.ipc.open_stream(bytes.fromhex(answer["schema"])).read_all()
        length = np.empty(1, "<u8")
        while self._fill(path, length, last=b".") is not None:
            content = np.empty(int(length[0]), np.uint8)
            self._fill(path, content)
            yield pa.ipc.open_stream(pa.py_buffer(content)).read_all()

    def close(self) -> None:
        """Stop the process, whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def _ask(
        self, path: Path, operation: str, name: str = "", package: str = "h5py"
    ) -> dict[str, Any]:
        now = limits()
        request = {
            "op": operation,
            "path": str(path.resolve()),
            "name": name,
            "seconds": now.reader_seconds,
            "arrays": now.arrays,
            "columns": now.columns,
            "letters": now.name_letters,
            "free": now.unpacked_free,
            "ratio": now.unpacked_ratio,
        }
        if path in self._faults:  # not a second time
            raise _damaged(path, self._faults[path])
        if self._process is None:
            self._process = _start(path, package)
        line = b""
        with self._stopwatch() as (questions, answers):
            try:
                questions.write(json.dumps(request).encode() + b"\n")
                questions.flush()
                line = answers.readline()
            except OSError:
                pass  # it has ended, as an empty answer says
        if not line.endswith(b"\n"):
            raise self._ended(path)
        answer = json.loads(line)
        if "damaged" in answer:
            raise _damaged(path, answer["damaged"])
        if "refused" in answer:
            raise ValueError(
                f"{path}: {answer['refused']}. Save numbers and text in one file."
            )
        return answer

    def _fill(self, path: Path, block: np.ndarray, last: bytes = b"") -> Any:
        """Read as many bytes as the block takes; None behind the last block."""
        view = block.reshape(-1).view(np.uint8)
        with self._stopwatch() as (_, answers):
            mark = answers.read(1)
            if mark == b"-":
                raise _damaged(path, json.loads(answers.readline()))
            if mark and mark == last:
                return None
            n = answers.readinto(view) if mark else 0
        if n != len(view):
            raise self._ended(path)
        return block

    @contextmanager
    def _stopwatch(self) -> Iterator[tuple[Any, Any]]:
        """Yield the pipes; kill the process if it gives no answer for too long."""
        process = self._process
        if process is None:
            raise RuntimeError("The process that reads HDF5 was not started.")
        most = limits().reader_seconds * reader_worker.PATIENCE
        timer = threading.Timer(most, process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield process.stdin, process.stdout
        finally:
            timer.cancel()

    def _ended(self, path: Path) -> ValueError:
        self.close()
        self._faults[path] = "reading it came to no end, or ended its process"
        return _damaged(path, self._faults[path])


def _start(path: Path, package: str) -> subprocess.Popen:
    if find_spec(package) is None:
        raise needs_extra(package, "files", str(path))
    places = os.pathsep.join(place for place in sys.path if place)
    return subprocess.Popen(
        [sys.executable, "-P", reader_worker.__file__, str(limits().reader_bytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": places, "OPENBLAS_NUM_THREADS": "1"},
    )


def _mapped(path: Path, name: str, about: dict[str, Any]) -> np.ndarray:
    shape, dtype, offset = (
        tuple(about["shape"]),
        np.dtype(about["dtype"]),
        about["offset"],
    )
    size = dtype.itemsize
    for length in shape:
        size *= length
    if offset + size > path.stat().st_size:
        raise ValueError(f"{path}: ends inside {name!r}. Fetch or save the file again.")
    return np.memmap(path, dtype, "r", offset, shape)


def _damaged(path: Path, reason: str) -> ValueError:
    reason = " ".join(reason.split())[:300]
    return ValueError(
        f"{path}: the file is damaged ({reason}). Fetch or save the file again."
    )


_current: ContextVar[ReaderProcess | None] = ContextVar("current", default=None)


@contextmanager
def one_reader_process() -> Iterator[ReaderProcess]:
    """Yield the process of this reading; the outermost call ends it.

    Examples
    --------
    >>> from unseen.loading.reader_process import one_reader_process
    >>> with one_reader_process() as outer, one_reader_process() as inner:
    ...     outer is inner
    True
    """
    current = _current.get()
    if current is not None:
        yield current
        return
    process = ReaderProcess()
    token = _current.set(process)
    try:
        yield process
    finally:
        _current.reset(token)
        process.close()
