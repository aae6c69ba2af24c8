"""What ``unseen label`` says of its answer, for photos and for texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unseen.cli.errors import printable

if TYPE_CHECKING:
    import pandas as pd


def list_readings(readings: Any, most: int = 20) -> None:
    """Say on stderr how names were read, those that say least first."""
    order = ["unknown", "vague", "broad", "close", "exact", "given", ""]
    shown = sorted(readings, key=lambda entry: order.index(entry[1]))[:most]
    width = max((len(name) for name, _, _ in shown), default=0)
    for name, trust, how in shown:
        typer.echo(f"{name:<{width}}  {trust:<8}{how}", err=True)
    if len(readings) > most:
        typer.echo(f"{len(readings) - most} more names; --json lists all", err=True)


def show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    """Say a warning in one line on stderr."""
    typer.echo(printable(f"warning: {' '.join(str(message).split())}"), err=True)


def read_given(path: Path | None) -> dict[str, str] | None:
    """Return given labels by id; rows without a label are left out."""
    if path is None:
        return None
    from unseen.labels import read_labels

    table = read_labels(path)
    pairs = zip(table["id"], table["label"], strict=True)
    return {key: label for key, label in pairs if label}


class Tally:
    """Counts labels, batch by batch.

    Examples
    --------
    >>> from unseen.cli.label_output import Tally
    >>> from unseen.labels import label_table
    >>> tally = Tally()
    >>> tally.add(label_table(["pets", "pets"], reliability=[0.5, 0.75]))
    >>> print(tally.summary("texts"))
    label   texts  reliability
    pets        2         0.62
    """

    def __init__(self) -> None:
        self._sure: dict[str, list[Any]] = {}
        self.n_none = 0

    def add(self, part: pd.DataFrame) -> None:
        """Count the labels of a table."""
        for label, own in part.groupby("label")["reliability"]:
            if label:
                values = own.to_numpy(dtype="float32")
                self._sure.setdefault(str(label), []).append(values)
            else:
                self.n_none += len(own)

    def counts(self) -> dict[str, int]:
        """Return how many things each class got."""
        return {name: sum(map(len, sure)) for name, sure in self._sure.items()}

    def summary(self, things: str) -> str:
        """Write how many things each class got, and how sure they are, as text."""
        import pandas as pd

        series = {
            name: pd.Series([float(one) for part in sure for one in part], dtype=float)
            for name, sure in self._sure.items()
        }
        found = pd.DataFrame(
            [(len(sure), sure.median()) for sure in series.values()],
            index=list(series),
            columns=["size", "median"],
        )
        text = as_table(found, things)
        return f"{text}\n{self.n_none:,} without a label" if self.n_none else text


def as_table(found: pd.DataFrame, things: str) -> str:
    """Write sizes and median reliabilities by class, the largest first."""
    found = found.sort_values(["size", "median"], ascending=False)
    names = [printable(str(name)) for name in found.index]
    width = max([5, *map(len, names)])
    lines = [f"{'label':<{width}}{things:>8}{'reliability':>13}"]
    counts = zip(names, found["size"], found["median"], strict=True)
    lines += [
        f"{name:<{width}}{int(size):>8}{median:>13.2f}" for name, size, median in counts
    ]
    return "\n".join(lines)
