"""Rows in blocks, read and not mapped: pages of a map count as memory.

A memory map of 5 GB opens at once, but touching it makes its pages resident. Here
each block is read into the same piece of memory, so that a pass over any file costs
one block.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unseen.class_table import encode
from unseen.data import ZeroShotData
from unseen.loading.npy import open_npy
from unseen.loading.parts import as_float
from unseen.rows.sums import BLOCK_ELEMENTS, Sums, sum_blocks

__all__ = ["fit_seen", "iter_blocks", "sum_seen"]


def iter_blocks(
    X: np.ndarray | str | os.PathLike[str], rows: int | None = None
) -> Iterator[np.ndarray]:
    """Go through an array block by block.

    Parameters
    ----------
        X : path of a .npy file, memory map or array
            A map of whole rows is read from its file; anything else is sliced.
        rows : int, optional
            Rows at a time; by default blocks of about eight million numbers.

    Yields
    ------
    ndarray of shape (at most rows, n_features)
        float32 or float64. The next block may take its memory: copy what you keep.

    Examples
    --------
        >>> import numpy as np, tempfile
        >>> from pathlib import Path
        >>> from unseen.loading import iter_blocks
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "features.npy"
        ...     np.save(path, np.arange(10.0).reshape(5, 2))
        ...     [block.sum() for block in iter_blocks(path, rows=2)]
        [np.float64(6.0), np.float64(22.0), np.float64(17.0)]
    """
    if isinstance(X, str | os.PathLike):
        X = open_npy(X)
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}. Give two dimensions.")
    if rows is not None and rows < 1:
        raise ValueError(f"rows={rows} is no number of rows. Give at least 1.")
    step = rows or max(1, BLOCK_ELEMENTS // max(1, X.shape[1]))
    for block in read_blocks(X, step):
        yield as_float(block)


def read_blocks(X: Any, step: int) -> Iterator[np.ndarray]:
    """Yield ``step`` rows at a time, as they are stored.

    Parameters
    ----------
    X : array, memory map, or anything that gives arrays when it is sliced
    step : int

    Yields
    ------
    ndarray of shape (at most step, n_features)
        The next block may take its memory: copy what you keep.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.blocks import read_blocks
    >>> [len(block) for block in read_blocks(np.ones((5, 2)), 3)]
    [3, 2]
    """
    place = _place_in_file(X)
    if place is None:
        for start in range(0, len(X), step):
            yield np.asarray(X[start : start + step])
        return
    file_name, offset = place
    buffer = np.empty((min(step, len(X)), X.shape[1]), dtype=X.dtype)
    with open(file_name, "rb", buffering=0) as file:
        file.seek(offset)
        for start in range(0, len(X), step):
            block = buffer[: min(step, len(X) - start)]
            fill(file, block, file_name)
            yield block


def sum_seen(
    data: ZeroShotData, *, unit_rows: bool = False, rows: int | None = None
) -> Sums:
    """Sum the labelled rows of a data set, holding one block at a time.

    Parameters
    ----------
    data : ZeroShotData
        ``X`` may be a memory map of any size.
    unit_rows : bool, default=False
        Scale each row to unit length first, as JEDM and TSTD do.
    rows : int, optional
        Rows at a time; by default blocks of about eight million numbers.

    Returns
    -------
    Sums
        Of the rows in ``X_seen``; classes are numbered as in ``class_embeddings``.

    Examples
    --------
    >>> from unseen import load_data
    >>> from unseen.loading import sum_seen
    >>> sums = sum_seen(load_data("digits"), rows=100)
    >>> int(sums.n_rows), sums.gram.shape
    (1264, (64, 64))
    """
    codes, chosen = data._class_rows, data._in_training

    def labelled() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        start = 0
        for block in iter_blocks(data.X, rows):
            here = slice(start, start + len(block))
            kept = chosen[here]
            yield (block if kept.all() else block[kept]), codes[here][kept]
            start += len(block)

    return sum_blocks(labelled(), data.X.shape[1], data.n_classes, unit_rows=unit_rows)


def fit_seen(model: Any, data: ZeroShotData, *, rows: int | None = None) -> Any:
    """Fit a model on the labelled rows of a data set larger than memory.

    Parameters
    ----------
    model : zero-shot model that fits from sums
        The linear ones do, also inside ``SelfTraining``; those that learn by ranking
        need the rows, and their pages say so.
    data : ZeroShotData
        ``X`` may be a memory map of any size.
    rows : int, optional
        Rows at a time; by default blocks of about eight million numbers.

    Returns
    -------
    model
        Fitted, up to rounding, as by ``fit`` on ``X_seen`` and ``y_seen``.

    Examples
    --------
    >>> from unseen import JEDM, load_data
    >>> from unseen.loading import fit_seen
    >>> data = load_data("digits")
    >>> fit_seen(JEDM(), data, rows=100).predict(data.X_unseen).shape
    (533,)
    """
    if not hasattr(model, "_fit_sums"):
        raise TypeError(
            f"{type(model).__name__} needs the rows themselves. Give a model that fits "
            "from sums, or call its fit."
        )
    model._validate_params()
    table, _ = encode(data.seen, data.class_embeddings)
    sums = sum_seen(data, unit_rows=model._unit_rows(), rows=rows)
    if not np.isfinite(sums.gram).all():
        raise ValueError(
            f"{data.name}: X holds NaN or infinity, or numbers too large to square. "
            "Run 'unseen data check' to find them."
        )
    return model._fit_sums(sums, table, np.asarray(data.X[:1]))


def _place_in_file(X: Any) -> tuple[Path, int] | None:
    """Return (file, offset) of an array that is whole rows of a mapped file."""
    root = X
    while isinstance(root, np.memmap) and isinstance(root.base, np.memmap):
        root = root.base
    if not isinstance(root, np.memmap) or not X.flags.c_contiguous or not X.size:
        return None
    if not isinstance(root.filename, str | os.PathLike):
        return None
    here, start = (a.__array_interface__["data"][0] for a in (X, root))
    return Path(root.filename), root.offset + here - start


def fill(file: Any, block: np.ndarray, file_name: Any) -> None:
    """Read as many bytes as the block takes, from where the file stands.

    Examples
    --------
    >>> import io, numpy as np
    >>> from unseen.rows.blocks import fill
    >>> block = np.empty(2, dtype="<u2")
    >>> fill(io.BytesIO(bytes([1, 0, 2, 0])), block, "numbers")
    >>> block.tolist()
    [1, 2]
    """
    view = block.reshape(-1).view(np.uint8)
    done = 0
    while done < len(view):
        count = file.readinto(view[done:])
        if not count:
            raise ValueError(
                f"{file_name}: ended while it was read. Fetch or save the file again."
            )
        done += count
