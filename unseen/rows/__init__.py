"""Rows: who holds them, and which to trust.

pile.py, holders.py  unlabelled rows, and who holds them on the axes of a model
labelling.py         their labels, and which of them to trust
distributed*.py      the same on Dask workers
"""
