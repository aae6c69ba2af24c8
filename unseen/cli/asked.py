"""A data set as the options of a command name it, and what commands do with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unseen._command import command_line
from unseen.cli.trusting import calibrated, mixed_pile

if TYPE_CHECKING:
    import numpy as np

    from unseen.data import ZeroShotData
    from unseen.loading import Parts
    from unseen.methods import Method


@dataclass(frozen=True)
class Asked:
    """What DATA, ``--classes``, ``--unseen`` and ``--column`` say together.

    >>> Asked("birds.csv", ["looks.csv"], "moa", None).options()
    ['--classes', 'looks.csv', '--unseen', 'moa']
    """

    source: str
    classes: list[str] | None = None
    unseen: str | None = None
    column: str | None = None

    @property
    def files(self) -> list[str | None]:
        """Everything that may be a file, which no output may be written over."""
        return [self.source, *(self.classes or []), self.unseen]

    @property
    def tables(self) -> Any:
        """No table, one table or several, as ``load_data`` takes them."""
        if not self.classes:
            return None
        return self.classes[0] if len(self.classes) == 1 else self.classes

    def options(self) -> list[str]:
        """Return how the same data is named to another command."""
        words = [word for table in self.classes or [] for word in ("--classes", table)]
        words += ["--unseen", self.unseen] if self.unseen else []
        return words + (["--column", self.column] if self.column else [])

    def parts(self) -> Parts:
        """Return what the files say, neither checked nor chosen."""
        from unseen.loading import read_parts

        return read_parts(self.source, self.column)

    def load(self) -> ZeroShotData:
        """Return the data set."""
        from unseen.loading import load_data

        return load_data(
            self.source, self.tables, unseen=self.unseen, column=self.column
        )

    def load_labelled(self) -> ZeroShotData:
        """Return the data set and say what it is; without a label it is refused."""
        data = self.load()
        typer.echo(repr(data), err=True)
        if not len(data.seen):
            raise ValueError(
                f"{self.source}: no row has a label, so there is nothing to learn from."
                " Label rows of at least two classes; if the labels are in another "
                "column, name it with --column."
            )
        return data

    @contextmanager
    def telling_holes(self) -> Iterator[None]:
        """Where features are missing, say which command lists the rows."""
        try:
            yield
        except ValueError as error:
            if not re.search("contains (NaN|infinity)", str(error)):
                raise
            words = ["data", "check", self.source, *self.options()]
            raise ValueError(
                f"{self.source}: some features are missing or infinite. To list them: "
                f"{command_line(*words)}"
            ) from error

    def fitted(
        self,
        data: ZeroShotData,
        way: Method,
        seed: int,
        *,
        generalized: bool,
        folds: int | None = None,
        **settings: Any,
    ) -> Any:
        """Return a model that has learned from the labelled rows."""
        from unseen.experiments.bench import Bench

        with self.telling_holes():
            model = Bench.of(data, folds).fitted(way, "", seed, **settings)
            return calibrated(model, data, seed) if generalized else model

    def features(
        self, model: Any, *, mixed: bool = False
    ) -> tuple[np.ndarray, Any, bool]:
        """Return row numbers, rows, and whether the source knows their true classes.

        All rows of an array; of a set those that have no label of a seen class, and for
        a mixed pile those that are set aside.
        """
        import numpy as np

        from unseen.loading import open_npy
        from unseen.loading.npy import is_npy
        from unseen.loading.parts import as_float

        if is_npy(Path(self.source)):
            X = open_npy(self.source)
            if X.ndim != 2:
                raise ValueError(
                    f"{self.source}: has shape {X.shape}. Give one row per item."
                )
            return np.arange(len(X)), X, False
        parts = self.parts()
        if not self.classes and self.unseen is None and not parts.tables:
            y = parts.named("y", parts.y)  # rows alone: those that have no seen class
            rows = np.flatnonzero(~np.isin(y, seen_classes(model)))
            X = as_float(parts.X, f"{self.source}: the features")[rows]
            return rows, X, bool(np.isin(y[rows], model.unseen_classes_).all())
        data = parts.build(self.tables, self.unseen)
        theirs = getattr(model, "unseen_classes_", data.unseen)
        apart = sorted(set(theirs.tolist()) ^ set(data.unseen.tolist()))
        if apart:
            raise ValueError(
                f"Model and {data.name} do not agree on who is unseen: {apart[0]!r} is "
                "for one of them only. Give --unseen the same value as for unseen fit."
            )
        pile = mixed_pile(data) if mixed else data.pile
        return pile, data.X[pile], bool((data.y[pile] != "").all())


def seen_classes(model: Any) -> np.ndarray:
    """Return the names of the classes that a model has seen rows of."""
    import numpy as np

    theirs = np.asarray(getattr(model, "classes_", []))
    return theirs[~np.isin(theirs, getattr(model, "unseen_classes_", theirs))]
