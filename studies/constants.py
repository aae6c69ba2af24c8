"""The guided mixture with other constants, for the study that fixed them.

Its parameters are on the constructor; what every pile shares is written in the method's
own files as constants. ``names_study`` compares both, one at a time:

    python studies/names.py names_study --data ../shared/data
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unseen.transduction import guided_mixture, guided_rounds
from unseen.transduction.guided_mixture import GuidedMixture

__all__ = ["CONSTANTS", "PARAMETERS", "OtherConstants"]

# What was compared with the value in use, which is in the row "guided".
PARAMETERS: dict[str, list[Any]] = {
    "plain": [0.0, 0.5, 1.0],
    "balance": [0.0, 1.0, 10.0],
    "n_neighbors": [0, 3, 10],
    "neighbor_weight": [2.0, 8.0],
    "whitening": [1.0, 10.0],
    "loose": [0.3, 0.5],
    "tight": [0.5, 0.7],
}
CONSTANTS: dict[str, list[Any]] = {
    "START_SPREAD": [1.0, 10.0],
    "SETTLING": [1, 20],
    "SHARPNESS": [(15.0, 40.0), (10.0, 20.0), (10.0, 80.0)],
    "LEAST_NAMES": [0.2, 0.5],
    "MOST_NAMES": [0.8],
    "LEADING": [(0.0, 0.01), (0.3, 0.5), (0.6, 0.8)],  # at the first, always
    "UNEVEN": [(0.7, 0.7), (0.8, 0.8), (0.7, 0.9)],
    "EVEN": [0.9, 1.0],
    "PRIOR_ROWS": [0.5, 20.0],
    "ENOUGH_ROWS": [10.0, 40.0],
    "DOUBT": [1.3, 1.8],  # of reliability alone, as are the next
    "DOUBT_POWER": [0.5, 0.8],
    "DOUBT_ROWS": [0.0, 1.0],
}


class OtherConstants(GuidedMixture):
    """A guided mixture whose rounds are made with other constants."""

    _constants: dict[str, Any]

    @classmethod
    def from_prototypes(cls, prototypes, **constants) -> OtherConstants:
        """Return a model with these prototypes, and constants by name."""
        model = cls()
        model._constants = constants
        model.fit_prototypes(prototypes)
        return model

    def adapt(self, X, **asked):
        """Label a pile of rows with the other constants."""
        with replaced(self._constants):
            return super().adapt(X, **asked)


@contextmanager
def replaced(constants: dict[str, Any]) -> Iterator[None]:
    """Replace constants of the method's files, and put them back whatever happens."""
    homes = [
        (module, name)
        for name in constants
        for module in (guided_rounds, guided_mixture)
        if hasattr(module, name)
    ]
    unknown = set(constants) - {name for _, name in homes}
    if unknown:
        raise ValueError(
            f"There is no constant {min(unknown)!r} in guided_rounds.py. See "
            "CONSTANTS for those that were studied."
        )
    before = [(module, name, getattr(module, name)) for module, name in homes]
    try:
        for module, name in homes:
            setattr(module, name, constants[name])
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
