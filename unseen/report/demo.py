"""The page of the demo: the photos to look at, and what adapting did."""

from itertools import pairwise
from pathlib import Path

import numpy as np

import unseen
from unseen._command import program
from unseen.experiments.demo import DemoResult
from unseen.report.gallery import write_gallery

__all__ = ["write_demo_report"]


def write_demo_report(result: DemoResult, path: Path) -> Path:
    """Write a demo's outcome as a page: the photos first, then what happened, folded.

    Small copies of the photos go into a folder beside it.
    """
    photos, model = result.photos, result.model
    answers = [model.projected_, *(one.labels for one in model.rounds_)]
    return write_gallery(
        result.labels(),
        path,
        thumbnails=photos.jpegs.__getitem__,
        title=f"{len(photos.truth):,} photos, {len(photos.classes)} names, no label",
        classes=photos.classes,
        truth=photos.truth.tolist(),
        doubtful=0.5,
        template="demo.html",
        version=unseen.__version__,
        program=program(),
        result=result,
        by_class=result.by_class(),
        changes=[int(np.sum(one != other)) for one, other in pairwise(answers)],
    )
