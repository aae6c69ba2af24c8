"""What may be believed: probabilities, choices by class-wise folds, metrics, checks.

calibrated.py   Calibrated: probabilities, novelty and sets around any model
calibration.py  what it is made of: pure functions from scores
search.py       class-wise folds, and the search over parameters
metrics.py      how good labels and stated probabilities are
sure.py         the sure line: which labels need no look, by a random check
asking.py       which rows to ask a person about, and how right labels are
"""
