"""The process that reads HDF5 and parquet: run as a script, it answers for one parent.

A damaged file can keep these libraries busy for ever, or end their process. So they
run here, where the parent (:mod:`unseen.loading.reader_process`) can stop them.

A request is one line of JSON, ``{"op", "path", "name"}``; the answer is one line of
JSON, then the bytes of the blocks in the order of :func:`grid`:

    list    names, shapes and types of all datasets, nothing read
    read    one dataset: numbers as bytes, text as JSON
    cells   a cell array of MATLAB: the texts its references lead to
    parquet a file whole, in blocks that are streams of Arrow, each behind its length

Nothing here imports the rest of the package, so that it starts at once.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

BLOCK = 16 << 20  # bytes sent at a time
SOFT_LINKS = 20  # that may follow each other
# Seconds by the clock for each that the processor may work; where nothing counts the
# processor's time, the clock is all there is.
PATIENCE = 12 if hasattr(signal, "setitimer") else 1


class RefusedError(Exception):
    """What the file holds is sound, but will not be read."""


def grid(
    shape: tuple[int, ...], chunks: tuple[int, ...] | None, itemsize: int
) -> Iterator[tuple[slice, ...]]:
    """Cut a dataset into blocks of whole chunks, about ``BLOCK`` bytes each.

    Examples
    --------
    >>> from unseen.loading.reader_worker import grid
    >>> list(grid((3, 2), (2, 2), 8 << 20))
    [(slice(0, 2, None), slice(0, 2, None)), (slice(2, 3, None), slice(0, 2, None))]
    """
    sizes = [min(c, n) for c, n in zip(chunks or (1,) * len(shape), shape, strict=True)]
    for axis in reversed(range(len(shape))):
        held = itemsize
        for size in sizes:
            held *= size
        sizes[axis] = min(shape[axis], sizes[axis] * max(1, BLOCK // max(1, held)))
    starts = [range(0, n, max(1, size)) for n, size in zip(shape, sizes, strict=True)]
    for corner in itertools.product(*starts):
        yield tuple(
            slice(start, min(start + size, n))
            for start, size, n in zip(corner, sizes, shape, strict=True)
        )


def main() -> None:
    """Answer requests until the parent closes the pipe."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever libraries print is no answer
    _limit_memory(int(sys.argv[1]))
    files: dict[str, Any] = {}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        end_after(request["seconds"])
        blocks: Iterator[bytes] = iter(())
        try:
            if request["op"] == "parquet":
                answer, blocks = read_parquet(request)
            else:
                file = _open_hdf5(request["path"], files)
                answer, blocks = OPERATIONS[request["op"]](file, request)
        except RefusedError as error:
            answer = {"refused": str(error)}
        except Exception as error:  # damaged bytes raise anything
            answer = {"damaged": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()
        try:
            for block in blocks:
                end_after(0)  # the parent may take its time
                answers.write(b"+")
                answers.write(block)
                answers.flush()
                end_after(request["seconds"])
            if request["op"] == "parquet" and "schema" in answer:
                answers.write(b".")
                answers.flush()
        except Exception as error:
            answers.write(
                b"-" + json.dumps(f"{type(error).__name__}: {error}").encode()
            )
            answers.write(b"\n")
            answers.flush()
        end_after(0)


def end_after(seconds: float) -> None:
    """End this process once it has worked this long; 0 for never.

    Only time of the processor counts: where others keep it busy, a sound file takes
    long by the clock. The clock ends what waits for ever while its parent is gone.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(math.ceil(2 * PATIENCE * seconds))


def _limit_memory(most: int) -> None:
    try:
        import resource
    except ImportError:  # not on this system: the checks of sizes remain
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _open_hdf5(path: str, files: dict[str, Any]) -> Any:
    import h5py

    if path not in files:
        h5py._errors.silence_errors()
        files.clear()  # one at a time is enough, and closes the last
        files[path] = h5py.File(path, "r")
    return files[path]


def read_parquet(request: dict) -> tuple[dict, Iterator[bytes]]:
    """Return a parquet file in batches; texts as numbers of a dictionary."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_memory_pool(pa.system_memory_pool())
    with pq.ParquetFile(request["path"]) as file:
        schema = file.schema_arrow
        if len(schema) > request["columns"]:
            raise RefusedError(f"has {len(schema)} columns")
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        widest, n_rows = max(1, len(schema)), file.metadata.num_rows
    allowed = max(request["free"], request["ratio"] * os.path.getsize(request["path"]))
    if 4 * widest * n_rows > allowed:
        raise RefusedError(f"claims {n_rows} rows of {widest} columns")

    def batches() -> Iterator[bytes]:
        left = allowed
        with pq.ParquetFile(
            request["path"],
            read_dictionary=texts,
            page_checksum_verification=True,
            pre_buffer=False,
            buffer_size=BLOCK,  # not a whole column of a row group at once
        ) as file:
            rows = max(1, BLOCK // (8 * widest))
            for batch in file.iter_batches(min(rows, 4096), use_threads=False):
                left -= batch.nbytes
                if left < 0:
                    raise RefusedError(f"unpacks to more than {allowed} bytes")
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, batch.schema) as stream:
                    stream.write_batch(batch)
                content = sink.getvalue()
                yield len(content).to_bytes(8, "little")
                yield content

    empty = pa.BufferOutputStream()
    pa.ipc.new_stream(empty, file_schema(request["path"], texts)).close()
    return {"schema": empty.getvalue().to_pybytes().hex()}, batches()


def file_schema(path: str, texts: list[str]) -> Any:
    """Return the schema of a parquet file with some columns as dictionaries."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, read_dictionary=texts) as file:
        return file.schema_arrow


def list_datasets(file: Any, request: dict) -> tuple[dict, Iterator[bytes]]:
    """Name all datasets; links to other files are refused, not followed."""
    import h5py

    found: dict[str, dict] = {}
    todo, seen, steps = [("", file["/"])], set(), 0
    while todo:
        prefix, group = todo.pop()
        for name in group:
            steps += 1
            if steps > request["arrays"]:
                raise RefusedError(f"holds more than {request['arrays']} arrays")
            item, path = _follow(file, group, name), f"{prefix}{name}"
            if isinstance(item, h5py.Group):
                place = h5py.h5o.get_info(item.id).addr
                if place not in seen:  # a group may hold itself
                    seen.add(place)
                    todo.append((f"{path}/", item))
                    found[path] = {"group": True}
            elif isinstance(item, h5py.Dataset):
                found[path] = _description(item)
    return {"found": found}, iter(())


def _follow(file: Any, group: Any, name: str, left: int = SOFT_LINKS) -> Any:
    """Return what a name leads to, never into another file."""
    import h5py

    link = group.get(name, getlink=True)
    if isinstance(link, h5py.HardLink):
        return group[name]
    if not isinstance(link, h5py.SoftLink):
        raise RefusedError(f"holds {name!r}, which is a link to another file")
    if not left:
        raise RefusedError(f"holds {name!r}, a link that leads to no end")
    item = file["/"] if link.path.startswith("/") else group
    for step in filter(None, link.path.split("/")):
        if step == ".":
            continue
        if not isinstance(item, h5py.Group) or step not in item.keys():
            return None  # leads nowhere
        item = _follow(file, item, step, left - 1)
    return item


def _description(dataset: Any) -> dict[str, Any]:
    import h5py

    about: dict[str, Any] = {"shape": dataset.shape, "dtype": str(dataset.dtype)}
    about |= {"kind": "other", "order": 0}
    if dataset.shape is None or dataset.external or dataset.is_virtual:
        return about  # whoever asks for it is told
    order = dataset.attrs.get("order", 0)
    about["order"] = int(order) if getattr(order, "shape", ()) == () else 0
    if h5py.check_string_dtype(dataset.dtype) is not None:
        about["kind"] = "text"
    elif h5py.check_ref_dtype(dataset.dtype) is h5py.Reference:
        about["kind"] = "cells"
    elif dataset.dtype.kind in "fiub" and dataset.dtype.itemsize <= 16:
        about["kind"] = "numbers"
        about["dtype"] = dataset.dtype.str
        about["chunks"] = dataset.chunks
        if dataset.chunks is None and dataset.dtype.kind in "fiu" and dataset.size:
            about["offset"] = dataset.id.get_offset()
    return about


def read_dataset(file: Any, request: dict) -> tuple[dict, Iterator[bytes]]:
    """Return one dataset of numbers or text."""
    dataset = _dataset(file, request["name"])
    about = _description(dataset)
    _check_size(dataset, request)
    if about["kind"] == "text":
        texts = dataset.asstr("utf-8")[()]
        flat = [texts] if dataset.shape == () else texts.ravel().tolist()
        return {**about, "texts": flat}, iter(())
    blocks = grid(dataset.shape, dataset.chunks, dataset.dtype.itemsize)
    return about, (dataset[block].tobytes() for block in blocks)


def read_cells(file: Any, request: dict) -> tuple[dict, Iterator[bytes]]:
    """Return the texts of a cell array of MATLAB, column by column."""
    import h5py

    dataset = _dataset(file, request["name"])
    about = _description(dataset)
    _check_size(dataset, request)
    if about["kind"] == "numbers":  # one text: letters by number
        return {"texts": [_letters(dataset, request)]}, iter(())
    if about["kind"] != "cells":
        raise RefusedError(f"has {request['name']!r}, which is no cell array of text")
    texts = []
    for reference in dataset[()].ravel():
        cell = file[reference] if reference else None
        if not isinstance(cell, h5py.Dataset):
            raise RefusedError(f"has {request['name']!r}, which holds more than text")
        texts.append(_letters(cell, request))
    return {"texts": texts}, iter(())


def _dataset(file: Any, name: str) -> Any:
    import h5py

    item = file["/"]
    for step in name.split("/"):
        item = _follow(file, item, step)
    if not isinstance(item, h5py.Dataset):
        raise RefusedError(f"has {name!r}, which is a struct or a group, no array")
    return item


def _check_size(dataset: Any, request: dict) -> None:
    name = request["name"]
    if dataset.shape is None:
        raise RefusedError(f"has {name!r}, which is empty")
    if dataset.external or dataset.is_virtual:
        raise RefusedError(f"has {name!r}, which lies in other files")
    stored = dataset.id.get_storage_size()
    claimed = dataset.dtype.itemsize
    for length in dataset.shape:
        claimed *= int(length)
    chunk = dataset.dtype.itemsize
    for length in dataset.chunks or ():
        chunk *= int(length)
    if max(claimed, chunk) > max(request["free"], request["ratio"] * stored):
        raise RefusedError(
            f"has {name!r}, which claims shape {dataset.shape}, but only {stored} "
            "bytes of it are stored"
        )


def _letters(cell: Any, request: dict) -> str:
    _check_size(cell, request)
    if cell.dtype.kind not in "iu" or cell.size > request["letters"]:
        raise RefusedError(f"has {request['name']!r}, which holds more than text")
    return cell[()].astype("<u2").ravel().tobytes().decode("utf-16-le")


OPERATIONS = {"list": list_datasets, "read": read_dataset, "cells": read_cells}

if __name__ == "__main__":
    main()
