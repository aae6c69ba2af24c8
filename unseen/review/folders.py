"""Where a review is: in a folder beside its table, bound to what the table holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pandas as pd

from unseen.review.answers import given_by_id
from unseen.review.journal import Entry, read_head, read_journal
from unseen.review.origins import Origin

__all__ = ["answers_about", "find_review", "finished_review", "head_of"]

FILES = ("answers.jsonl", "answers.torn", "corrections.csv", "reviewed.csv")
BOUND = ("table", "kind", "classes")  # what answers belong to


def head_of(labels: Path, table: pd.DataFrame, origin: Origin | None) -> Entry:
    """Return what the review of a table is about: the first line of its journal."""
    origin = origin or Origin("")
    names = {*table["label"], *origin.names} - {""}
    return {
        "table": digest_of(labels),
        "kind": origin.kind,
        "source": origin.source,
        "classes": sorted(names),
    }


def find_review(labels: Path, head: Entry) -> tuple[Path, list[Path]]:
    """Find the review of a table among those of all tables that had its name.

    Returns
    -------
    folder : Path
        Of its own review, which may not be there yet.
    others : list of Path
        Reviews of other tables, the latest last.
    """
    others: list[Path] = []
    for folder, known in reviews_of(labels):
        check_no_links(folder)
        if known is None or all(known.get(key) == head[key] for key in BOUND):
            break
        others.append(folder)
    return folder, others


def answers_about(other: Path, head: Entry) -> dict[str, str]:
    """Return another review's answers, by id, if they are about the same items."""
    known = read_journal(other / "answers.jsonl")
    about = known.head or {}
    same = all(about.get(key) == head[key] for key in ("kind", "source"))
    return given_by_id(known.entries) if same else {}


def finished_review(labels: Path) -> Path | None:
    """Return the corrected table of a table of labels, None if there is none."""
    own = digest_of(labels)
    for folder, known in reviews_of(labels):
        reviewed = folder / "reviewed.csv"
        if known is None:
            break
        if known.get("table") == own and reviewed.exists():
            return reviewed
    return None


def reviews_of(labels: Path) -> Iterator[tuple[Path, Entry | None]]:
    """Yield folders of reviews and what they are about, a free one as the last."""
    for number in count(1):
        more = f"-{number}" if number > 1 else ""
        folder = labels.with_name(f"{labels.stem}.review{more}")
        yield folder, read_head(folder / "answers.jsonl")


def digest_of(labels: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(labels, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_no_links(folder: Path) -> None:
    """Raise if a folder of a review, or a file of it, is a link to somewhere else."""
    for path in (folder, *(folder / name for name in FILES), *folder.glob("taught-*")):
        if path.is_symlink():
            raise ValueError(
                f"{path}: is a link, and a review follows none. Move it away."
            )
