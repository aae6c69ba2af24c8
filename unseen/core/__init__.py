"""What every estimator stands on.

classes.py      the class table, and which classes are candidates for a row
sums.py         the sums over labelled rows that solvers see in place of rows
rows.py         rows from memory, files and chunks; ``Rows.each`` is the only loop
dask_rows.py    the same rows on the workers of a Dask cluster
given.py        labels that a caller gives for some unlabelled rows
outcome.py      scorers, rules for new rows, rounds, and what a method says of rows
base.py         ``ZeroShotClassifier``, the one base class
on_axes.py      ``OnAxes``, for models that meet rows on principal axes
start.py        where a method around a model starts
around.py       ``Around``, for what wraps an estimator; ``estimator_of``
linalg.py, neighbours.py, params.py
"""
