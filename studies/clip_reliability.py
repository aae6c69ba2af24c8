"""How right labels of CLIP features are, and how right they are said to be.

    python studies/clip_reliability.py --data ../shared/data

For each set: the share that is right by names alone and after adapting, the mean
reliability, the gap between reliability and the share that is right, bin by bin, and
the factor that makes the softmax of centred cosines likeliest (``IN_ONE_SPACE`` of
``unseen/photos/named.py``, where too few photos allow no adapting). Then, with every
second name taken away: the novelty that 5 % of the other photos exceed, and the share
of the photos without a name that exceed it, too (why CLIP has no ``--unknown``).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from cells import named_rows
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from unseen import GuidedMixture
from unseen.core.linalg import to_unit
from unseen.photos.prototypes import cosines
from unseen.trust.metrics import expected_calibration_error


def likeliest_factor(X: np.ndarray, y: np.ndarray, names: np.ndarray) -> float:
    """Return the factor of centred cosines under which the truth is likeliest."""
    alike, rows = cosines(X, names), np.arange(len(y))

    def surprise(log_factor: float) -> float:
        return -log_softmax(np.exp(log_factor) * alike, axis=1)[rows, y].mean()

    return float(np.exp(minimize_scalar(surprise, bounds=(0, 6), method="bounded").x))


def foreign(X: np.ndarray, y: np.ndarray, names: np.ndarray) -> tuple[float, float]:
    """Return what novelty 5 % of named photos exceed, and how many without a name."""
    novelty = 1 - (to_unit(X) @ to_unit(names[::2]).T).max(axis=1)
    most = float(np.quantile(novelty[y % 2 == 0], 0.95))
    return most, float(np.mean(novelty[y % 2 == 1] > most))


def main(data: Path) -> None:
    """Print a line for every set."""
    heads = "names  adapted  reliability  gap  factor  novelty  foreign"
    print(f"{'set':32} {heads}")
    for path in sorted((data / "clip").glob("*.npz")):
        X, y, names = named_rows(path, False)
        model = GuidedMixture.from_prototypes(pd.DataFrame(names)).adapt(X)
        plain = (to_unit(X) @ to_unit(names).T).argmax(axis=1)
        right, sure = model.labels_ == y, model.reliability_
        gap = expected_calibration_error(right, sure)
        most, found = foreign(X, y, names)
        print(
            f"{path.stem:32} {np.mean(plain == y):5.3f} {right.mean():8.3f} "
            f"{sure.mean():12.3f} {gap:4.2f} {likeliest_factor(X, y, names):7.0f} "
            f"{most:8.2f} {found:8.0%}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    main(parser.parse_args().data)
