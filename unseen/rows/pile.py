"""Until anchored self-training and the guided mixture use ``Rows.each``: holders."""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from typing import Any

import numpy as np

from unseen._threads import each, strips
from unseen.core.linalg import inverse_lengths
from unseen.core.rows import StreamedUnlabelled, Unlabelled, no_space
from unseen.rows.holders import DiskRows, Holder, MemoryRows


def hold(
    unlabelled: Unlabelled, axes: np.ndarray, unit_rows: bool
) -> tuple[Holder, np.ndarray]:
    """Return the rows times ``axes``, not centred, and the mean row."""
    if hasattr(unlabelled, "chunks"):
        from unseen.rows.distributed_rows import hold_dask

        return hold_dask(unlabelled, axes, unit_rows)
    if isinstance(unlabelled, StreamedUnlabelled):
        return hold_stream(unlabelled, axes, unit_rows)
    rows = MemoryRows(unlabelled.on_axes(axes, unit_rows))
    return rows, unlabelled.mean(unit_rows)


def hold_stream(
    unlabelled: StreamedUnlabelled, axes: np.ndarray, unit_rows: bool
) -> tuple[DiskRows, np.ndarray]:
    """Return the rows times ``axes``, not centred, in a file."""
    stream = unlabelled.stream
    dtype, n_rows = stream.dtype, stream.n_rows or 0
    needed = n_rows * axes.shape[1] * dtype.itemsize
    if needed > shutil.disk_usage(tempfile.gettempdir()).free:
        raise no_space(needed)
    rows = DiskRows(axes.shape[1], dtype)
    total = np.zeros(stream.n_features)
    axes = axes.astype(dtype, copy=False)
    for block, _ in stream.blocks("projecting"):
        scales = row_scales(block, unit_rows)
        total += scaled_sum(block, scales)
        put = partial(put_on_axes, block, axes, scales)
        rows.append(strips(*block.shape), put)
    return rows, total / len(unlabelled)


def carry(
    X: np.ndarray, axes: np.ndarray, unit_rows: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows on axes, in their precision, and the sum of the rows in float64."""
    scales = row_scales(X, unit_rows)
    projected = np.empty((len(X), axes.shape[1]), dtype=X.dtype)
    put_on_axes(X, axes.astype(X.dtype), scales, slice(0, len(X)), projected)
    return projected, scaled_sum(X, scales)


def row_scales(X: np.ndarray, unit_rows: bool) -> np.ndarray:
    """Return the factor of each row: ``1 / |x|``, or 1."""
    return inverse_lengths(X) if unit_rows else np.ones(len(X), dtype=X.dtype)


def scaled_sum(X: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return the sum of scaled rows, in float64."""
    total = np.zeros(X.shape[1])
    for part in each(lambda here: scales[here] @ X[here], strips(*X.shape)):
        total += part
    return total


def put_on_axes(X, axes, scales, here: slice, room: np.ndarray) -> None:
    """Put some of the rows, scaled and on axes, where there is room for them."""
    np.matmul(X[here], axes, out=room)
    room *= scales[here, None]


def in_chunks(codes: np.ndarray | None, rows: Any) -> Any:
    """Return the codes as the holder wants a state: on Dask, one array per block."""
    if codes is None or not hasattr(rows, "blocks"):
        return codes
    per_chunk = np.split(codes, np.cumsum(rows.blocks.lengths)[:-1])
    return [np.concatenate(those) for those in rows.blocks.by_block(per_chunk)]
