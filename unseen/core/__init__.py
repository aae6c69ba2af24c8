"""What every estimator stands on.

classes.py      the class table, and which classes are candidates for a row
sums.py         the sums over labelled rows that solvers see in place of rows
rows.py         rows from memory, files and chunks; ``Rows.each`` is the only loop
dask_rows.py    the same rows on the workers of a Dask cluster
given.py        labels that a caller gives for some unlabelled rows
base.py         ``ZeroShotClassifier``, the one base class
around.py       ``Around``, for what wraps an estimator; ``Start``, ``estimator_of``
linalg.py, neighbours.py, params.py
"""
