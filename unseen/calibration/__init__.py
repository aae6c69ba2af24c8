"""What may be believed: handicap, temperature, reliability, novelty and sets.

All of it is chosen on class-wise folds of the seen classes.

trust.py       pure functions from scores to what may be believed
folds.py       folds that hold out classes and rows, and what is found on them
calibrated.py  the estimator around another
"""

from unseen.calibration.calibrated import Calibrated

__all__ = ["Calibrated"]
