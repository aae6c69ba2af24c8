"""Rows: sums over them, where they come from, who holds them, which to trust.

source.py            rows from files, datasets and chunks, in blocks
sums.py, labelled.py what solvers see of labelled rows
gram.py              the one pass that makes them, on all cores
neighbours.py        the nearest of other rows: by nearest_exact.py or nearest_graph.py
pile.py, holders.py  unlabelled rows, and who holds them on the axes of a model
scores.py            their scores, to rank and to report
labelling.py         their labels, and which of them to trust
distributed*.py      the same on Dask workers
"""

from unseen.rows.labelled import fit_seen, sum_seen
from unseen.rows.labelling import Labelling, Selection
from unseen.rows.sums import Sums, sum_blocks, sum_rows

__all__ = [
    "Labelling",
    "Selection",
    "Sums",
    "fit_seen",
    "sum_blocks",
    "sum_rows",
    "sum_seen",
]
