"""What an answer by names says beside the label: the next best, and since when."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

__all__ = ["AnswersByNames", "adapted_message", "second_best", "since_when"]

FEW = 5  # per class: with fewer, each shapes the class it is then found sure of


class AnswersByNames:
    """What labels things by names alone: how it speaks of them, and is kept."""

    _things: str  # what gets labels, for messages
    _encoders_by: tuple[str, ...]  # parameters that hold an encoder

    classes_: np.ndarray
    reliability_: np.ndarray
    adapted_: bool
    stopped_because_: str

    @property
    def message_(self) -> str:
        """Whether the answer was adapted to the pile, and if not why, in a line."""
        check_is_fitted(self, "adapted_")
        why = self.stopped_because_
        if not self.adapted_:
            return f"Not adapted, by the names alone. {why}"
        learned = int(np.isfinite(self.reliability_).sum())
        return adapted_message(learned, len(self.classes_), self._things, why)

    def save(self, path):
        """Save this model as one file, which ``unseen.load_model`` reads.

        Encoders are saved by name: what is new must be encoded by one of that name.

        Parameters
        ----------
        path : path

        Returns
        -------
        Path
            The file written.
        """
        stored = copy.copy(self)
        for private in [key for key in vars(stored) if key.startswith("_")]:
            del stored.__dict__[private]
        for one in self._encoders_by:
            setattr(stored, one, self._name_of(getattr(self, one)))
        return super(AnswersByNames, stored).save(path)  # type: ignore[misc]

    def _name_of(self, encoder: Any) -> str:
        return getattr(encoder, "name", encoder)


def adapted_message(n: int, n_classes: int, what: str, why: str) -> str:
    """Say that the answer was adapted, and if so little that trust is a guess.

    Examples
    --------
    >>> from unseen.naming.answer import adapted_message
    >>> adapted_message(7, 3, "texts", "The labels settled.")
    'Adapted to 7 texts. The labels settled. Fewer than 5 texts per class: reliability
    is a guess, and mostly too high.'
    """
    message = f"Adapted to {n:,} {what}. {why}"
    if n < FEW * n_classes:
        message += f" Fewer than {FEW} {what} per class: reliability is a guess, and "
        message += "mostly too high."
    return message


def second_best(chances: np.ndarray, labels: Any, names: np.ndarray) -> np.ndarray:
    """Return the most probable class other than the label; '' if one competes.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.naming.answer import second_best
    >>> names = np.array(["a", "b", "c"])
    >>> second_best(np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]), ["c", "b"], names)
    array(['b', 'a'], dtype='<U1')
    """
    if chances.shape[1] < 2:
        return np.full(len(chances), "", dtype=names.dtype)
    own = pd.Index(names).get_indexer(pd.Index(np.asarray(labels)))
    others, labelled = chances.copy(), own >= 0  # some are none of these
    others[labelled, own[labelled]] = -1
    return names[others.argmax(axis=1)]


def since_when(answers: Sequence[np.ndarray], labels: np.ndarray) -> np.ndarray:
    """Return since which of some answers, the first at 0, every row has its label.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.naming.answer import since_when
    >>> answers = [np.array(["a", "b"]), np.array(["a", "a"])]
    >>> since_when(answers, answers[-1])
    array([0, 1])
    """
    since = np.zeros(len(labels), dtype=int)
    for number, answer in enumerate(answers[:-1], start=1):
        since[answer != labels] = number
    return since
