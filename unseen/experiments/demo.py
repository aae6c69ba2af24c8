"""The demo: hold out three digits, learn from the other seven, label the three."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd

from unseen.data import ZeroShotData
from unseen.loading.digits import load_digits_attributes
from unseen.metrics import per_class_accuracy
from unseen.transduction.anchored import WeakStartWarning

__all__ = ["DemoResult", "SplitResult", "default_model", "held_out_splits", "run_demo"]

N_HELD_OUT = 3


def default_model(seed: int = 0) -> Any:
    """Make the transductive estimator the demo runs: the default of the package.

    Parameters
    ----------
    seed : int, default=0
        Its ``random_state``, for models that draw; this one does not.

    Returns
    -------
    estimator
        With ``fit``, ``predict`` and ``adapt``.

    Examples
    --------
    >>> from unseen.experiments.demo import default_model
    >>> default_model()
    AnchoredSelfTraining()
    """
    from unseen.transduction.anchored import AnchoredSelfTraining

    return AnchoredSelfTraining()


@dataclass(frozen=True, eq=False)
class SplitResult:
    """What happened with one choice of unseen classes.

    Attributes
    ----------
    unseen : tuple of str
        The classes held out.
    X : ndarray of shape (n_rows, n_features)
        The unlabelled rows.
    y_true : ndarray of shape (n_rows,)
        Their classes, used for scoring only.
    labels_before, labels : ndarray of shape (n_rows,)
        Labels by ``predict`` before ``adapt``, and by ``adapt``.
    reliability : ndarray of shape (n_rows,)
        How far to trust each of ``labels``; larger is better.
    rounds : list
        What each round of self-training did.

    Examples
    --------
    >>> from unseen.experiments import run_demo
    >>> (split,) = run_demo(n_splits=1).splits
    >>> len(split.labels) == len(split.reliability) == len(split.y_true)
    True
    """

    unseen: tuple[str, ...]
    X: np.ndarray
    y_true: np.ndarray
    labels_before: np.ndarray
    labels: np.ndarray
    reliability: np.ndarray
    rounds: Sequence[Any]

    @cached_property
    def before(self) -> float:
        """Per-class accuracy before self-training."""
        return per_class_accuracy(self.y_true, self.labels_before)

    @cached_property
    def after(self) -> float:
        """Per-class accuracy after the last round."""
        return per_class_accuracy(self.y_true, self.labels)

    @property
    def gain(self) -> float:
        """What self-training added to the accuracy; negative if it hurt."""
        return self.after - self.before

    @property
    def by_round(self) -> list[float]:
        """Per-class accuracy before, and after every round."""
        rounds = [per_class_accuracy(self.y_true, one.labels) for one in self.rounds]
        return [self.before, *rounds]


@dataclass(frozen=True, eq=False)
class DemoResult:
    """All splits of a demo.

    Attributes
    ----------
    seed : int
        Decided the model's draws, and the splits unless all were made.
    model : str
        The estimator, as it prints.
    data : ZeroShotData
        The set the splits were made of.
    splits : list of SplitResult
        One for each choice of unseen classes.
    n_drawn : int or None
        How many splits were asked for; None for all there are.

    Examples
    --------
    >>> from unseen.experiments import run_demo
    >>> run_demo(n_splits=1).by_class().index.tolist()
    ['2', '4', '6']
    """

    seed: int
    model: str
    data: ZeroShotData
    splits: list[SplitResult]
    n_drawn: int | None = None

    @property
    def before(self) -> float:
        """Mean per-class accuracy over the splits, before self-training."""
        return mean(split.before for split in self.splits)

    @property
    def after(self) -> float:
        """Mean per-class accuracy over the splits, after self-training."""
        return mean(split.after for split in self.splits)

    @property
    def chance(self) -> float:
        """Mean per-class accuracy of guessing."""
        return mean(1 / len(split.unseen) for split in self.splits)

    @property
    def n_improved(self) -> int:
        """Number of splits that self-training made better."""
        return sum(split.gain > 0 for split in self.splits)

    def by_class(self) -> pd.DataFrame:
        """Mean recall of every class over the splits that hold it out.

        Returns
        -------
        DataFrame
            Columns ``n_splits``, ``before``, ``after``; one row per class held out.
        """
        rows = [
            {
                "class": name,
                "before": np.mean(split.labels_before[split.y_true == name] == name),
                "after": np.mean(split.labels[split.y_true == name] == name),
            }
            for split in self.splits
            for name in split.unseen
        ]
        groups = pd.DataFrame(rows).groupby("class")
        return groups.mean().assign(n_splits=groups.size())

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers alone, ready for JSON."""
        return {
            "data": self.data.name,
            "class_tables": list(self.data.tables),
            "model": self.model,
            "seed": self.seed,
            "metric": "per-class accuracy on unseen classes",
            "before": self.before,
            "after": self.after,
            "chance": self.chance,
            "n_splits": len(self.splits),
            "n_improved": self.n_improved,
            "by_class": self.by_class().to_dict(orient="index"),
            "splits": [
                {
                    "unseen": list(split.unseen),
                    "n_rows": len(split.y_true),
                    "before": split.before,
                    "after": split.after,
                    "by_round": split.by_round,
                }
                for split in self.splits
            ],
        }


def run_demo(
    *,
    seed: int = 0,
    n_splits: int | None = None,
    make_model: Callable[[int], Any] = default_model,
    progress: Callable[[int, int], None] | None = None,
) -> DemoResult:
    """Label held-out digits before and after self-training.

    Every split holds out three of the ten bundled digits, fits on the images of the
    other seven, labels the images of the three, and adapts to them. Their true labels
    are used to score, and for nothing else.

    Parameters
    ----------
    seed : int, default=0
        Decides the model's draws, and the splits if ``n_splits`` is given.
    n_splits : int, optional
        How many splits to draw. By default all 120 there are: the gain varies by tens
        of points between splits, so a few would leave the result to luck.
    make_model : callable, default=default_model
        Makes a new estimator from a seed.
    progress : callable, optional
        Called with the number of splits done and their total.

    Returns
    -------
    DemoResult
        Labels and accuracies of every split.

    Examples
    --------
    >>> from unseen.experiments import run_demo
    >>> result = run_demo(n_splits=2)
    >>> [split.unseen for split in result.splits]
    [('2', '4', '6'), ('3', '5', '7')]
    >>> 0 <= result.before <= 1 and 0 <= result.after <= 1
    True
    """
    data = load_digits_attributes()
    held_out = held_out_splits(data.classes, N_HELD_OUT, n_splits, seed)
    splits = []
    for done, unseen in enumerate(held_out, start=1):
        splits.append(run_split(data.with_unseen(unseen), make_model(seed)))
        if progress is not None:
            progress(done, len(held_out))
    return DemoResult(seed, repr(make_model(seed)), data, splits, n_splits)


def run_split(data: ZeroShotData, model: Any) -> SplitResult:
    """Fit on the seen classes, label the unseen rows, adapt to them."""
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    pile = data.X_unseen
    labels_before = model.predict(pile)
    with warnings.catch_warnings():
        # Seven classes teach little of the other three; the page shows how it ended.
        warnings.simplefilter("ignore", WeakStartWarning)
        model.adapt(pile)
    return SplitResult(
        unseen=tuple(data.unseen.tolist()),
        X=pile,
        y_true=data.y_unseen,
        labels_before=labels_before,
        labels=model.labels_,
        reliability=model.reliability_,
        rounds=model.rounds_,
    )


def held_out_splits(
    classes: np.ndarray, n_held_out: int, n_splits: int | None, seed: int
) -> list[list[str]]:
    """Choose classes to hold out: every choice there is, or a balanced draw.

    For a draw the classes are shuffled and dealt in hands of ``n_held_out``; what is
    left over sits this deal out; then they are shuffled again.

    Parameters
    ----------
    classes : ndarray of str
        The names to draw from.
    n_held_out : int
        How many are held out at a time, fewer than there are.
    n_splits : int or None
        How many times; None for every choice once.
    seed : int
        Decides the draws.

    Returns
    -------
    list of list of str
        Sorted names, one list per split.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.experiments.demo import held_out_splits
    >>> held_out_splits(np.array(["a", "b", "c", "d"]), 2, 2, seed=0)
    [['a', 'c'], ['b', 'd']]
    """
    if not 1 <= n_held_out < len(classes):
        raise ValueError(
            f"n_held_out is {n_held_out}, but there are {len(classes)} classes. "
            f"Hold out from 1 to {len(classes) - 1}."
        )
    if n_splits is None:
        return [sorted(hand) for hand in combinations(classes.tolist(), n_held_out)]
    if n_splits < 1:
        raise ValueError(f"n_splits is {n_splits}. Give at least 1.")
    rng = np.random.default_rng(seed)
    hands: list[list[str]] = []
    while len(hands) < n_splits:
        deck = rng.permutation(classes)
        last = len(classes) - n_held_out
        for start in range(0, last + 1, n_held_out):
            hands.append(sorted(deck[start : start + n_held_out].tolist()))
    return hands[:n_splits]
