"""Pages of labelled photos and texts, class by class, the surest first.

The page of photos holds names and numbers; small copies of the photos, whole, stand in
a folder beside it, and the browser fetches those that come into view. So it opens at
once however many there are. A photo that is opened comes from its own file. The page
of texts needs no script and no other file.
"""

from __future__ import annotations

import base64
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from unseen._words import printable
from unseen.files import MARK, check_folder, check_target
from unseen.report.page import write_page

GREY_CARD = base64.b64decode(  # one pixel, for a photo that cannot be shown
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptV"
    "AAAACklEQVR4nGNYAAAAogCh3I2xzAAAAABJRU5ErkJggg=="
)
SNIPPET, MOST = 240, 4000  # characters of a text at first sight, and when opened


def write_gallery(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    thumbnails: Callable[[int], bytes],
    originals: str | os.PathLike[str] | None = None,
    title: str = "Photos by class",
    classes: Sequence[str] | None = None,
    truth: Sequence[str] | None = None,
    doubtful: float = 0.8,
    about: str = "",
    readings: Sequence[tuple[str, str, str]] = (),
    template: str = "gallery.html",
    **more: Any,
) -> Path:
    """Write labelled photos as a page with one row per class.

    Parameters
    ----------
    frame : DataFrame
        Labels of photos by their path, as :func:`unseen.labels.label_table` makes it.
    path : path
        The page. Thumbnails go into a folder beside it, named after it.
    thumbnails : callable
        Turns the number of a row into a small JPEG or PNG, as bytes; b"" if there is
        none, which is shown as a grey card.
    originals : path, optional
        The folder that the photos' paths start from. A photo that is opened is shown
        as it is there, with a link; the links hold while page and folder stay where
        they are to each other.
    title : str
    classes : sequence of str, optional
        Order of the rows; by default that of the labels found, by name.
    truth : sequence of str, optional
        The right labels, if they are known: mistakes are marked.
    doubtful : float, default=0.8
        Photos less reliable than this are marked.
    about : str, optional
        A sentence or two above the photos.
    readings : sequence of (name, trust, how)
        How class names were read, to be unfolded above the photos.
    template, **more
        A template that extends the gallery's, and what it shows besides.

    Returns
    -------
    Path
        The page written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.photos.bundled import load_photos
    >>> from unseen.report.gallery import write_gallery
    >>> from unseen.labels import label_table
    >>> frame = label_table(["cat"], ids=["a.jpg"], reliability=[0.5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_gallery(frame, Path(folder) / "gallery.html",
    ...                          thumbnails=load_photos().jpegs.__getitem__)
    ...     sorted(found.name for found in page.parent.rglob("*.*"))
    ['.made-by-unseen', '00000.jpg', 'gallery.html']
    """
    path = Path(path)
    check_target(path)  # complain now, not after the work
    folder = path.with_name(f"{path.stem[:40]}-thumbnails")
    shown = frame.assign(
        file=write_thumbnails(folder, thumbnails, len(frame)),
        path=[printable(name) for name in frame["id"]],
        label=[printable(name) for name in frame["label"]],
        second=[printable(name) for name in frame["second"]],
        truth=None if truth is None else [printable(name) for name in truth],
        original=None if originals is None else [as_address(i) for i in frame["id"]],
    )
    shown = shown.sort_values("reliability", ascending=False, kind="stable")
    names = classes or sorted(set(frame["label"]))
    return write_page(
        template,
        path,
        **more,
        title=printable(title),
        about=printable(about),
        readings=[[printable(one) for one in reading] for reading in readings],
        n_photos=len(frame),
        n_doubtful=int((frame["reliability"] < doubtful).sum()),
        n_wrong=None if truth is None else int((shown.truth != shown.label).sum()),
        doubtful=doubtful,
        gallery={
            "folder": folder.name,
            "originals": None if originals is None else lead_to(originals, path),
            "doubtful": doubtful,
            "rows": [[name, pack(shown, name)] for name in map(printable, names)],
        },
    )


def write_thumbnails(
    folder: Path, thumbnails: Callable[[int], bytes], n_photos: int
) -> list[str]:
    """Write a small copy of every photo, before the page; return the files' names."""
    if not (folder / MARK).is_file():
        check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()
    names = []
    for number in range(n_photos):
        image = thumbnails(number) or GREY_CARD
        kind = "png" if image.startswith(b"\x89PNG") else "jpg"
        names.append(f"{number:05d}.{kind}")
        (folder / names[-1]).write_bytes(image)
    return names


def lead_to(folder: str | os.PathLike[str], page: Path) -> str:
    """Return the address of a folder as seen from a page, with a slash at its end.

    >>> lead_to("my photos", Path("pages/labels.html"))
    '../my%20photos/'
    """
    there = Path(os.path.abspath(folder))
    try:
        way = os.path.relpath(there, os.path.abspath(page.parent))
    except ValueError:  # Windows: on another drive
        return f"{there.as_uri()}/"
    return f"{as_address(way)}/"


def as_address(path: str) -> str:
    r"""Return a relative path as part of an address; stray bytes of names are kept.

    >>> as_address('a b/50% "#1"?.jpg'), as_address("caf\udce9.jpg")
    ('a%20b/50%25%20%22%231%22%3F.jpg', 'caf%E9.jpg')
    """
    return quote(os.fsencode(path.replace(os.sep, "/")))


def pack(shown: pd.DataFrame, name: str) -> list[list[Any]]:
    """Return the photos of one class as short lists, which the page's script reads."""
    keys = ["file", "path", "reliability", "second", "first_trusted", "truth"]
    own = shown.loc[shown["label"] == name, [*keys, "original"]]
    return own.astype(object).to_numpy().tolist()


class TextPage:
    """Collects labelled texts, and writes them by class, doubtful ones marked.

    It keeps a few texts per class, the surest and the least sure, so that a file of
    millions makes a page that opens at once.
    """

    doubtful = 0.5  # less reliable texts are marked

    def __init__(self, classes: Iterable[str]) -> None:
        self.classes = [str(name) for name in classes]
        self.n_doubtful = 0
        self._counts: Counter[str] = Counter()
        # Texts of a class at each end: 30 or fewer, so that there are 3,000 in all.
        self._each = min(30, max(4, 1500 // max(1, len(self.classes))))
        self._kept = pd.DataFrame(columns=["label", "reliability"])

    def add(self, part: pd.DataFrame) -> None:
        """Take in a table of labels with their texts."""
        self._counts.update(part["label"].tolist())
        self.n_doubtful += int((part["reliability"] < self.doubtful).sum())
        both = pd.concat([self._kept, part]) if len(self._kept) else part
        both = both.sort_values("reliability", ascending=False, kind="stable")
        by_class = both.groupby("label")["label"]
        place, n = by_class.cumcount(), by_class.transform("size")
        self._kept = both[(place < self._each) | (place >= n - self._each)]

    def write(
        self, path: str | os.PathLike[str], *, title: str, about: str = ""
    ) -> Path:
        """Write the page: its head, a sentence or two, and the texts."""
        others = sorted(set(self._counts) - set(self.classes))
        names = [name for name in [*self.classes, *others] if name in self._counts]
        return write_page(
            "texts.html",
            path,
            title=printable(title),
            about=printable(about),
            n_texts=self._counts.total(),
            n_doubtful=self.n_doubtful,
            doubtful=self.doubtful,
            groups=[self._shown(name) for name in names],
            empty=[printable(n) for n in self.classes if n not in self._counts],
        )

    def _shown(self, name: str) -> dict[str, Any]:
        """Return what the page shows of a class: the surest, then the least sure."""
        own = self._kept[self._kept["label"] == name]
        entries = [snippet(row) for _, row in own.iterrows()]
        for entry in entries:
            entry["is_doubtful"] = not entry["sure"] >= self.doubtful
        return {
            "name": printable(name) or "(no label)",
            "n": self._counts[name],
            "surest": entries[: self._each],
            "least": entries[self._each :][::-1],
        }


def snippet(row: pd.Series) -> dict[str, Any]:
    """Return what the page shows of a text: its start, and the rest to be opened."""
    text = printable(row["text"], keep="\n\t").strip()
    cut = text[:SNIPPET].rfind(" ") + 1  # between words, where there are any
    if len(text) <= SNIPPET or cut <= SNIPPET // 2:
        cut = SNIPPET
    return {
        "id": printable(row["id"]),
        "start": text[:cut] or "(empty)",
        "rest": text[cut:MOST],
        "n_more": max(0, len(text) - MOST),
        "sure": float(row["reliability"]),
        "second": printable(row["second"]),
    }
