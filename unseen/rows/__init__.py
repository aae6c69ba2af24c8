"""Rows: who holds them, which to trust, and which are neighbours.

neighbours.py        the nearest of other rows: by nearest_exact.py or nearest_graph.py
pile.py, holders.py  unlabelled rows, and who holds them on the axes of a model
labelling.py         their labels, and which of them to trust
distributed*.py      the same on Dask workers
"""
