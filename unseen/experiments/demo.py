"""The demo: a thousand photos or 200 texts, ten class names, and no label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from unseen.labels import label_table
from unseen.named import NamedItems
from unseen.photos.bundled import load_photos
from unseen.photos.named import NamedPhotos
from unseen.texts import NamedTexts, load_demo_texts
from unseen.trust.metrics import per_class_accuracy


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What became of the bundled photos or texts."""

    items: Any  # their ``truth`` is used for scoring only
    ids: list[str]
    model: NamedItems  # fitted on the names and adapted to the items

    @cached_property
    def before(self) -> float:
        """Mean accuracy per class by the names alone."""
        return per_class_accuracy(self.items.truth, self.model.projected_)

    @cached_property
    def after(self) -> float:
        """Mean accuracy per class after adapting to the photos."""
        return per_class_accuracy(self.items.truth, self.model.labels_)

    @property
    def chance(self) -> float:
        """Mean accuracy per class of guessing."""
        return 1 / len(self.items.classes)

    def by_class(self) -> pd.DataFrame:
        """Return the share of each class's items with its label, before and after."""
        truth = self.items.truth
        answers = {"before": self.model.projected_, "after": self.model.labels_}
        right = pd.DataFrame({when: one == truth for when, one in answers.items()})
        return right.groupby(truth).mean().loc[list(self.items.classes)]

    def labels(self) -> pd.DataFrame:
        """Return all answers, as ``unseen label`` writes them."""
        answers = self.model.answer()
        return label_table(answers.pop("label").to_numpy(), ids=self.ids, **answers)


def run_demo(*, texts: bool = False) -> DemoResult:
    """Label the bundled photos or texts by ten names, before and after adapting.

    No item comes with a label: names become prototypes through the classes an image
    classifier knows by name, or through their word vectors, and self-training adapts
    them to the items. The true labels are used to score, and for nothing else. Nothing
    is drawn at random.

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
    if texts:
        demo = load_demo_texts()
        by_texts = NamedTexts().fit(demo.classes).adapt(demo.texts)
        return DemoResult(demo, demo.ids, by_texts)
    photos = load_photos()
    model = NamedPhotos(photos.image_encoder, photos.text_encoder).fit(photos.classes)
    return DemoResult(photos, photos.paths, model.adapt(photos.features))
