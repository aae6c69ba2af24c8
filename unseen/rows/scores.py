"""Linear scores of all rows of a pile, wherever they are: to rank, and to report."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from unseen.rows.labelling import Labelling, Ranking, look_at

if TYPE_CHECKING:
    from unseen.rows.holders import Holder


class Linear(NamedTuple):
    """What scores rows: ``(B @ coef.T + offset) / lengths``, each where it is given.

    Rows are ranked by the first ``n_classes`` columns and reported by those after, or
    by the same ones if there are no more; ``lengths`` are of the reported.
    """

    coef: np.ndarray
    n_classes: int
    offset: np.ndarray | None = None
    lengths: np.ndarray | None = None


class Scores:
    """Linear scores of all rows, one column per class.

    Parameters
    ----------
    rows : Holder
    coef : ndarray of shape (n_classes, n_axes)
        By which rows are ranked.
    reported : ndarray of shape (n_classes, n_axes), optional
        By which they are reported, if that differs.
    offset : ndarray of shape (n_classes,), optional
        Added to every row.
    unit_columns : bool, default=False
        Whether the reported scores of a class are divided by their length over the
        pile, ``lengths``.
    """

    def __init__(
        self,
        rows: Holder,
        coef: np.ndarray,
        *,
        reported: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        unit_columns: bool = False,
    ):
        both = coef if reported is None else np.vstack([coef, reported])
        self.rows, self.linear = rows, Linear(both, len(coef), offset)
        self.lengths = np.ones(len(coef))
        if unit_columns:
            _, (squares,) = rows.run(column_squares, self.linear)
            self.lengths = np.sqrt(np.where(squares > 0, squares, 1))
            self.linear = self.linear._replace(lengths=self.lengths)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Return the reported scores, if the rows are in memory."""
        scores, answer = both_scores(np.asarray(self.rows), {}, self.linear)
        return scores if answer is None else answer

    def labelling(self, ranking: Ranking) -> Labelling:
        """Label and rank every row."""
        state, (sizes,) = self.rows.run(label_block, self.linear, ranking)
        return self.rows.labelling(state, sizes)


def both_scores(block, kept, linear: Linear) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the scores that rank and those that are reported, None if the same.

    The scores of a class lie together, for what is asked of them is asked so.
    """
    if kept.get("coef") is not linear.coef:
        kept["coef"], kept["scores"] = linear.coef, (linear.coef @ block.T).T
    n, scores = linear.n_classes, kept["scores"]
    scores, answer = scores[:, :n], scores[:, n:] if scores.shape[1] > n else None
    if linear.offset is not None:
        scores = scores + linear.offset
    if linear.lengths is not None:
        answer = (scores if answer is None else answer) / linear.lengths
    return scores, answer


def column_squares(block, kept, linear):
    """Return the squared length of each reported column of a block."""
    scores, answer = both_scores(block, kept, linear)
    answer = scores if answer is None else answer
    return None, (np.einsum("ij,ij->j", answer, answer),)


def label_block(block, kept, linear, ranking):
    """Return labels and reliability of a block, and how many rows each class got."""
    scores, answer = both_scores(block, kept, linear)
    state = look_at(scores, ranking, answer)
    return state, (np.bincount(state.codes, minlength=linear.n_classes),)
