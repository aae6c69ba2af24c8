"""The demo: a thousand photos, ten class names, no labelled photo."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from unseen.labels import label_table
from unseen.photos.bundled import BundledPhotos, load_photos
from unseen.photos.named import NamedPhotos
from unseen.trust.metrics import per_class_accuracy

__all__ = ["DemoResult", "run_demo"]


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What became of the bundled photos."""

    photos: BundledPhotos  # their ``truth`` is used for scoring only
    model: NamedPhotos  # fitted on the names and adapted to the photos

    @cached_property
    def before(self) -> float:
        """Mean accuracy per class by the names alone."""
        return per_class_accuracy(self.photos.truth, self.model.projected_)

    @cached_property
    def after(self) -> float:
        """Mean accuracy per class after adapting to the photos."""
        return per_class_accuracy(self.photos.truth, self.model.labels_)

    @property
    def chance(self) -> float:
        """Mean accuracy per class of guessing."""
        return 1 / len(self.photos.classes)

    def by_round(self) -> list[float]:
        """Mean accuracy per class by the names alone, and after every round."""
        truth = self.photos.truth
        answers = [one.labels for one in self.model.rounds_ if one.labels is not None]
        return [self.before, *(per_class_accuracy(truth, one) for one in answers)]

    def by_class(self) -> pd.DataFrame:
        """Return the share of each class's photos with its label, before and after."""
        truth = self.photos.truth
        answers = {"before": self.model.projected_, "after": self.model.labels_}
        right = pd.DataFrame({when: one == truth for when, one in answers.items()})
        return right.groupby(truth).mean().loc[self.photos.classes]

    def labels(self) -> pd.DataFrame:
        """Return the answer for every photo, as ``unseen label`` writes it."""
        return label_table(
            self.model.labels_,
            ids=self.photos.paths,
            reliability=self.model.reliability_,
            second=self.model.second_,
            first_trusted=self.model.first_trusted_,
        )


def run_demo() -> DemoResult:
    """Label the bundled photos by ten names, before and after adapting.

    No photo comes with a label: names become prototypes through the classes an image
    classifier knows by name, and self-training adapts them to the photos. The true
    labels are used to score, and for nothing else. Nothing is drawn at random.

    Returns
    -------
    DemoResult
        The adapted model, and accuracies.

    Examples
    --------
    >>> from unseen.experiments import run_demo
    >>> result = run_demo()
    >>> result.chance < result.before < result.after
    True
    """
    photos = load_photos()
    model = NamedPhotos(photos.image_encoder, photos.text_encoder).fit(photos.classes)
    return DemoResult(photos, model.adapt(photos.features))
