"""XᵀX of many rows in tiles, and their class sums, in one pass that threads share.

Pieces of rows stay in the cache while they are scaled and counted. Narrow ones are
multiplied one by one, wide ones together and tile by tile of the lower triangle.
Neither pieces nor tiles depend on the number of threads, and they are added up in their
order: the sums are the same to the last bit.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from unseen._linalg import inverse_lengths
from unseen._threads import each

CACHED_ELEMENTS = 2**18  # numbers that stay in a processor's cache
PIECES = 8  # pieces of rows that are scaled at once, then multiplied
NARROW, PANELS = 512, 4  # features of the least tile of XᵀX, tiles at its side at most
SQUARE = 256  # side of what is transposed at a time


def panels(p: int) -> list[slice]:
    """Cut the features into panels: the sides of the tiles that threads share."""
    width = max(NARROW, -(-p // PANELS))
    return [slice(i, min(i + width, p)) for i in range(0, p, width)]


def tile_places(p: int) -> list[tuple[slice, slice]]:
    """Return the tiles of a lower triangle; those with all their numbers first.

    They are twice the work: the others fill what is left of the time.
    """
    sides = panels(p)
    below = [(side, other) for i, side in enumerate(sides) for other in sides[:i]]
    return below + [(side, side) for side in sides]


def rows_per_piece(p: int) -> int:
    """Return how many rows of p features are scaled and counted at a time."""
    return max(512, 2 * CACHED_ELEMENTS // max(p, 1))


def room_to_scale(X: np.ndarray, room: np.ndarray | None = None) -> np.ndarray:
    """Return memory for the scaled rows of X at a time: what is there, if it will do.

    New memory for every block would take longer to find than the scaling.
    """
    shape = min(PIECES * rows_per_piece(X.shape[1]), len(X)), X.shape[1]
    if room is None or len(room) < shape[0] or room.dtype != X.dtype:
        room = np.empty(shape, dtype=X.dtype)
    return room


def tiles_of_gram(X, codes, class_sums, room=None) -> list[np.ndarray]:
    """Return XᵀX by the tiles of its lower triangle, and add to the class sums.

    Goes through X in pieces that stay in the cache while they are scaled, if there is
    ``room`` for that, and counted. Narrow ones are multiplied one by one, wide ones
    together and tile by tile. Neither pieces nor tiles depend on the number of threads.
    """
    n, p = X.shape
    step, places = rows_per_piece(p), tile_places(p)
    made: list[np.ndarray] = []

    def prepare(first: int, here: slice) -> tuple:
        """Scale a piece; return its class sums, and its tile if there is one."""
        rows, own = X[first:][here], codes[first:][here]
        if room is not None:
            factors = inverse_lengths(rows)[:, None]
            rows = np.multiply(rows, factors, out=room[here])
        sums = indicator(own, len(class_sums), X.dtype).T @ rows
        return sums, [tile_of(rows, *places)] if p <= NARROW else []

    for first in range(0, n, PIECES * step):
        size = min(PIECES * step, n - first)
        here = [slice(i, min(i + step, size)) for i in range(0, size, step)]
        for sums, tiles in each(prepare, [first] * len(here), here):
            class_sums += sums
            made = add_tiles(made, tiles) if tiles else made
        if p > NARROW:
            scaled = (X[first:] if room is None else room)[:size]
            made = add_tiles(made, each(tile_of, [scaled] * len(places), places))
    return made or [tile_of(X, place) for place in places]  # of no rows: zeros


def tile_of(rows: np.ndarray, place: tuple[slice, slice]) -> np.ndarray:
    """Return the products of two panels; NumPy makes half of them where both are one.

    And lets other threads work, which SciPy's BLAS does not.
    """
    with np.errstate(all="ignore"):  # what is not finite is told by check_range
        return rows[:, place[0]].T @ rows[:, place[1]]


def add_tiles(tiles: list[np.ndarray], new: list[np.ndarray]) -> list[np.ndarray]:
    """Return the sums of tiles, made in the place of the first."""
    return each(np.add, tiles, new, tiles) if tiles else new


def whole_gram(tiles: list[np.ndarray], p: int) -> np.ndarray:
    """Return the full symmetric matrix in float64 from the tiles of its lower half.

    By squares that fit the cache: transposed there, they are copied many times faster.
    """
    full = np.empty((p, p))

    def fill(place: tuple[slice, slice], tile: np.ndarray) -> None:
        down, right = (side.start for side in place)
        for i in range(0, tile.shape[0], SQUARE):
            for j in range(0, tile.shape[1], SQUARE):
                square = tile[i : i + SQUARE, j : j + SQUARE]
                rows = slice(down + i, down + i + square.shape[0])
                columns = slice(right + j, right + j + square.shape[1])
                full[rows, columns] = square
                if place[0] != place[1]:
                    full[columns, rows] = square.T

    each(fill, tile_places(p), tiles)
    return full


def indicator(codes: np.ndarray, n_classes: int, dtype=np.float64) -> sparse.csr_array:
    """Return the sparse 0/1 matrix with one row per sample, one column per class."""
    n = len(codes)
    ones, ends = np.ones(n, dtype=dtype), np.arange(n + 1)
    return sparse.csr_array((ones, codes, ends), shape=(n, n_classes))
