"""From a file of texts and class names to a label for every text, in two readings.

first reading   a sample of distinct texts ┐
names, descriptions → prototypes           ┴→ adapt
second reading  every text → label, reliability, second choice, novelty, in batches

The sample holds all texts if they are few. Of more, it holds those whose digests come
first, so that it does not hang on the order of rows, nor on how often a text is
repeated. Learning from more changes little, see the guide; memory does not grow with
the file.
"""

import os
from collections.abc import Iterator
from heapq import nsmallest
from typing import Any

import numpy as np
import pandas as pd

from unseen.named import LabelJob, refuse_lost, set_apart
from unseen.naming.classes import read_classes
from unseen.texts.encoders import digest, remembering
from unseen.texts.named import FOREIGN, NamedTexts
from unseen.texts.source import TextSource, read_texts


def label_texts(source: Any, classes: Any = None, **options: Any) -> pd.DataFrame:
    """Label every text with one of some class names; no text needs a label.

    Parameters
    ----------
    source : path, "-", or sequence of str
        See :func:`read_texts`.
    classes : str, path, list, dict or DataFrame
        See :func:`unseen.naming.read_classes`. Descriptions may hold several
        phrasings with ``|`` between them.
    **options
        Of :class:`TextJob`.

    Returns
    -------
    DataFrame
        ``id``, ``label``, ``reliability``, ``second``, ``first_trusted``, ``novelty``
        and ``text``; :func:`unseen.labels.write_labels` writes it. Of ``frame.attrs``,
        ``message`` says whether the answer was adapted.

    Examples
    --------
    >>> from unseen.texts import label_texts, load_demo_texts
    >>> demo = load_demo_texts()
    >>> frame = label_texts(demo.texts, demo.classes)
    >>> bool((frame["label"] == demo.truth).mean() > 0.7)
    True
    """
    return TextJob(source, classes, **options).frame()


class TextJob(LabelJob):
    """Texts to label, and what labels them; :meth:`parts` yields the answer.

    Parameters
    ----------
    source : path, "-", or sequence of str
    classes, model, given, unknown, progress
        See :class:`unseen.named.LabelJob`.
    column, id : str, optional
        Columns of a table that hold the texts and their ids.
    encoder : str, path, callable or Encoder, default="wordllama"
        See :func:`unseen.naming.find_encoder`.
    template : str, default=""
        A sentence with ``{}`` where a class name goes.
    learn_from : int, optional
        Most texts to learn from; by default 5,000, or 10 per class if that is more, up
        to 20,000.
    cache : path, optional
        Folder for vectors; by default the user's cache folder, and none for encoders
        that are as quick as a cache.

    Examples
    --------
    >>> from unseen.texts.label import TextJob
    >>> texts = ["my dog barks", "a cat that purrs", "the train is late", "a slow bus"]
    >>> job = TextJob(texts, "pets, transport")
    >>> [part["label"].tolist() for part in job.parts()]
    [['pets', 'pets', 'transport', 'transport']]
    """

    items = "texts"

    def __init__(
        self,
        source: Any,
        classes: Any = None,
        *,
        column: str | None = None,
        id: str | None = None,
        encoder: Any = None,
        template: str = "",
        learn_from: int | None = None,
        cache: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(NamedTexts, classes, **options)
        self.source: TextSource = read_texts(source, column=column, id=id)
        self.skipped = self.source.skipped
        self.n_silent = 0
        own = "wordllama" if self.adapts else self.fitted.encoder
        reader = remembering(encoder or own, cache)
        if self.adapts:
            names, more = read_classes(classes)
            self.fitted = NamedTexts(reader, template=template)
            self.fitted.fit(names, descriptions=more)
        self.fitted.encoder = reader
        n_classes = len(self.fitted.classes_)
        self.learn_from = learn_from or min(20_000, max(5_000, 10 * n_classes))

    @property
    def message(self) -> str:
        """Whether the answer was adapted, and if not why, in a line."""
        message = super().message
        if self.adapts and self.n_silent:
            one = self.n_silent == 1
            what = "text says nothing and has" if one else "texts say nothing and have"
            message += f" {self.n_silent:,} {what} no label."
        return message

    def parts(self) -> Iterator[pd.DataFrame]:
        """Learn from a sample, then yield tables of labels, batch by batch."""
        answers, done = self._learn(), 0
        for ids, texts in self.source:
            place = answers.index.get_indexer(pd.Index([digest(one) for one in texts]))
            learned, new = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
            parts = []
            if len(learned):
                parts.append(answers.iloc[place[learned]].set_index(learned))
            if len(new):
                parts.append(self.answer([texts[row] for row in new]).set_index(new))
            found = pd.concat(parts).sort_index()
            self.n_silent += int((found["label"] == "").sum())
            if self.unknown:
                set_apart(found, FOREIGN)
            yield self.table(found, ids, text=texts)
            done += len(ids)
            if self.progress:
                self.progress(done, self.n_items)

    def _learn(self) -> pd.DataFrame:
        """Read once, adapt to a sample; return its answers by the texts' digests."""
        sample: dict[bytes, str] = {}
        certain: dict[bytes, str] = {}  # texts whose labels are given
        labels: dict[bytes, str] = {}
        missing = set(self.given)
        for batch in self.source:
            self.n_items += len(batch.ids)
            for key, text in zip(*batch, strict=True):
                one = digest(text)
                if key in self.given:
                    missing.discard(key)
                    certain[one], label = text, self.given[key]
                    if labels.setdefault(one, label) != label:
                        raise ValueError(
                            f"The same text, {key!r} and before it, has two given "
                            f"labels, {labels[one]!r} and {label!r}. Keep one."
                        )
                elif self.adapts:
                    sample[one] = text
            if len(sample) > 2 * self.learn_from:
                sample = dict(nsmallest(self.learn_from, sample.items()))
        if not self.n_items:
            raise ValueError(f"{self.source.name}: there is no text in it.")
        refuse_lost(missing, f"{self.source.name} has no text of that id")
        if not self.adapts:
            return pd.DataFrame(index=pd.Index([], dtype=object))
        sample = dict(nsmallest(self.learn_from, sample.items())) | certain
        digests = sorted(sample)
        given = {row: labels[d] for row, d in enumerate(digests) if d in labels}
        texts = [sample[one] for one in digests]
        found = self.fitted.adapt(texts, given=given or None).answer()
        return found.set_index(pd.Index(digests, dtype=object))
