"""Where a review is: in a folder beside its table, bound to what the table holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from unseen.review.answers import given_by_id
from unseen.review.journal import Entry, read_head, read_journal

__all__ = ["answers_about", "find_review", "finished_review", "review_folder"]

FILES = ("answers.jsonl", "answers.torn", "corrections.csv", "reviewed.csv")


def review_folder(labels: Path, number: int = 1) -> Path:
    """Return the folder beside a table of labels that holds its review.

    Examples
    --------
    >>> from pathlib import Path
    >>> from unseen.review.folders import review_folder
    >>> [review_folder(Path("zoo/labels.csv"), n).as_posix() for n in (1, 2)]
    ['zoo/labels.review', 'zoo/labels.review-2']
    """
    more = f"-{number}" if number > 1 else ""
    return labels.with_name(f"{labels.stem}.review{more}")


def find_review(labels: Path, head: Entry) -> tuple[Path, list[Path]]:
    """Find the review of a table among those of all tables that had its name.

    Parameters
    ----------
    labels : path
    head : dict
        What the review is about: the ``table``'s digest, its ``kind`` and ``classes``.

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
        bound = ("table", "kind", "classes")
        if known is None or all(known.get(key) == head[key] for key in bound):
            break
        others.append(folder)
    return folder, others


def answers_about(other: Path, head: Entry) -> dict[str, str]:
    """Return another review's answers, by id, if they are about the same items."""
    known = read_journal(other / "answers.jsonl")
    if known.head is None or any(
        known.head.get(key) != head[key] for key in ("kind", "source")
    ):
        return {}  # its ids are names of other items
    return given_by_id(known.entries)


def finished_review(labels: Path) -> Path | None:
    """Return the corrected table of a table of labels, None if there is none."""
    own = digest_of(labels)
    for folder, known in reviews_of(labels):
        if known is None:
            return None
        if known.get("table") == own and (folder / "reviewed.csv").exists():
            return folder / "reviewed.csv"
    return None


def reviews_of(labels: Path) -> Iterator[tuple[Path, Entry | None]]:
    """Yield folders of reviews and what they are about, a free one as the last."""
    for number in count(1):
        folder = review_folder(labels, number)
        yield folder, read_head(folder / "answers.jsonl")


def digest_of(labels: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(labels, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_no_links(folder: Path) -> None:
    """Raise if a folder of a review, or a file of it, is a link to somewhere else."""
    taught = list(folder.glob("taught-*.csv")) if folder.is_dir() else []
    for path in (folder, *(folder / name for name in FILES), *taught):
        if path.is_symlink():
            raise ValueError(
                f"{path}: is a link, and a review follows none. Move it away."
            )
