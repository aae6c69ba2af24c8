"""The pages of the demo: the photos or texts, and what adapting did."""

from itertools import pairwise
from pathlib import Path

import numpy as np

import unseen
from unseen._command import program
from unseen.experiments.demo import DemoResult
from unseen.report.gallery import TextPage, write_gallery


def write_demo_report(result: DemoResult, path: Path) -> Path:
    """Write a demo's outcome as a page: the photos first, then what happened, folded.

    Small copies of the photos go into a folder beside it. The page of texts has the
    texts alone.
    """
    items, model, table = result.items, result.model, result.labels()
    if hasattr(items, "texts"):
        page = TextPage(items.classes)
        page.add(table.assign(text=items.texts))
        return page.write(path, title="200 texts, ten names", about=model.message_)
    answers = [model.projected_, *(one.labels for one in model.rounds_)]
    return write_gallery(
        table,
        path,
        thumbnails=items.jpegs.__getitem__,
        title=f"{len(items.truth):,} photos, {len(items.classes)} names, no label",
        classes=items.classes,
        truth=items.truth.tolist(),
        doubtful=0.5,
        template="demo.html",
        version=unseen.__version__,
        program=program(),
        result=result,
        by_class=result.by_class(),
        changes=[int(np.sum(one != other)) for one, other in pairwise(answers)],
    )
