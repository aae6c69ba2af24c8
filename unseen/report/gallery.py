"""A gallery of labelled photos: one row per class, the surest photos first.

The page holds names and numbers; small copies of the photos, whole, stand in a folder
beside it, and the browser fetches those that come into view. So it opens at once
however many there are. A photo that is opened comes from its own file. The folder's
name ends in a digest of the labels: it meets no folder of the user's, and a page that
could not be written leaves the old page and its copies alone.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from unseen.files import check_target, remove_folder, replace_folder
from unseen.report.page import write_page

__all__ = ["GalleryPage", "write_gallery"]

OWN_FOLDER = re.compile(rb'"folder": ("[^"/]+-thumbnails-[0-9a-f]{16}")')
JPEG, PNG = b"\xff\xd8\xff", b"\x89PNG"
GREY_CARD = base64.b64decode(  # one pixel, for a photo that cannot be shown
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptV"
    "AAAACklEQVR4nGNYAAAAogCh3I2xzAAAAABJRU5ErkJggg=="
)


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
) -> Path:
    """Write labelled photos as a page with one row per class.

    Parameters
    ----------
    frame : DataFrame
        Labels of photos by their path, as :func:`unseen.labels.label_table` makes it.
    path : path
        The page. Thumbnails go into a new folder beside it, named after it; that of a
        page which is replaced is removed.
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
    names = [printable(name) for name in classes or sorted(set(frame["label"]))]
    known = None if truth is None else [printable(name) for name in truth]
    with thumbnails_beside(path, frame) as folder:
        files = write_thumbnails(folder, thumbnails, len(frame))
        rows = list_photos(frame, files, known, linked=originals is not None)
        write_page(
            "gallery.html",
            path,
            title=printable(title),
            about=printable(about),
            readings=[[printable(one) for one in reading] for reading in readings],
            n_photos=len(frame),
            n_doubtful=int((frame["reliability"] < doubtful).sum()),
            n_wrong=None if known is None else sum(row["wrong"] for row in rows),
            doubtful=doubtful,
            gallery={
                "folder": folder.name,
                "originals": None if originals is None else lead_to(originals, path),
                "doubtful": doubtful,
                "rows": [[name, pack(rows, name)] for name in names],
            },
        )
    return path


class GalleryPage:
    """Collects the labelled photos of a folder, and writes them as a page.

    Parameters
    ----------
    job : PhotoJob
    path : path
        The page.
    """

    def __init__(self, job: Any, path: str | os.PathLike[str]) -> None:
        check_target(path)  # now, not after the work
        self.job, self.path = job, path
        self._parts: list[pd.DataFrame] = []

    def add(self, part: pd.DataFrame) -> None:
        """Take in a table of labels."""
        self._parts.append(part)

    def finish(self) -> Path:
        """Write the page, and thumbnails of all photos beside it."""
        job, photos = self.job, self.job.photos
        frame = pd.concat(self._parts, ignore_index=True)
        n_classes = len(job.fitted.classes_)
        return write_gallery(
            frame.assign(label=frame["label"].replace("", "without a label")),
            self.path,
            thumbnails=photos.thumbnail,
            originals=photos.folder,
            title=f"{photos.folder.resolve().name}: {n_classes} classes",
            about=" ".join(filter(None, [job.message, job.weak_names])),
            readings=job.readings,
        )


@contextmanager
def thumbnails_beside(page: Path, frame: pd.DataFrame) -> Iterator[Path]:
    """Yield the folder for a page's thumbnails; remove the one no page needs after."""
    check_target(page)  # complain now, not after the work
    content = f"{page.name}\n{frame.to_csv()}".encode("utf-8", "surrogatepass")
    name = f"{page.stem[:40]}-thumbnails-{sha256(content).hexdigest()[:16]}"
    folder, old = page.with_name(name), thumbnails_of(page)
    try:
        yield folder
    except BaseException:
        if thumbnails_of(page) != folder:  # the page may be in place all the same
            remove_folder(folder)
        raise
    if old is not None and old != folder:
        remove_folder(old)


def thumbnails_of(page: Path) -> Path | None:
    """Return the folder of thumbnails that a page written here shows."""
    if not page.is_file():
        return None
    found = OWN_FOLDER.search(page.read_bytes())
    return page.with_name(json.loads(found[1])) if found else None


def write_thumbnails(
    folder: Path, thumbnails: Callable[[int], bytes], n_photos: int
) -> list[str]:
    """Write a small copy of every photo, before the page; return the files' names."""
    names = []
    with replace_folder(folder, force=True) as draft:
        for number in range(n_photos):
            image = thumbnails(number) or GREY_CARD
            names.append(f"{number:05d}.{ending(image)}")
            (draft / names[-1]).write_bytes(image)
    return names


def ending(image: bytes) -> str:
    r"""Return the ending of an image's kind; only two kinds are shown.

    Examples
    --------
    >>> from unseen.report.gallery import ending
    >>> ending(b"\xff\xd8\xff\xe0 and so on")
    'jpg'
    """
    if image.startswith(JPEG):
        return "jpg"
    if image.startswith(PNG):
        return "png"
    raise ValueError(
        f"A thumbnail begins with {image[:4]!r}. Give bytes of a JPEG or PNG file."
    )


def lead_to(folder: str | os.PathLike[str], page: Path) -> str:
    """Return the address of a folder as seen from a page, with a slash at its end.

    Examples
    --------
    >>> from pathlib import Path
    >>> from unseen.report.gallery import lead_to
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

    Examples
    --------
    >>> from unseen.report.gallery import as_address
    >>> as_address('a b/50% "#1"?.jpg'), as_address("caf\udce9.jpg")
    ('a%20b/50%25%20%22%231%22%3F.jpg', 'caf%E9.jpg')
    """
    return quote(os.fsencode(path.replace(os.sep, "/")))


def list_photos(
    frame: pd.DataFrame,
    files: list[str],
    truth: list[str] | None,
    *,
    linked: bool = False,
) -> list[dict[str, Any]]:
    """Return what the page tells of each photo, the most reliable first."""
    order = np.argsort(-frame["reliability"].to_numpy(), kind="stable")
    texts = {
        column: [printable(value) for value in frame[column]]
        for column in ("id", "label", "second")
    }
    reliability = frame["reliability"].round(4).tolist()
    trusted = frame["first_trusted"].tolist()
    ids = frame["id"].tolist()
    return [
        {
            "file": files[i],
            "path": texts["id"][i],
            "label": texts["label"][i],
            "reliability": reliability[i],
            "second": texts["second"][i],
            "trusted": int(trusted[i]),
            "truth": None if truth is None else truth[i],
            "original": as_address(str(ids[i])) if linked else None,
            "wrong": truth is not None and truth[i] != texts["label"][i],
        }
        for i in order.tolist()
    ]


def pack(rows: list[dict[str, Any]], name: str) -> list[list[Any]]:
    """Return the photos of one class as short lists, which the page's script reads."""
    keys = ("file", "path", "reliability", "second", "trusted", "truth", "original")
    return [[row[key] for key in keys] for row in rows if row["label"] == name]


def printable(text: Any) -> str:
    r"""Return text that can be written as UTF-8; stray bytes of file names show as \x.

    Examples
    --------
    >>> from unseen.report.gallery import printable
    >>> print(printable("caf\udce9.jpg"))
    caf\udce9.jpg
    """
    return str(text).encode("utf-8", "backslashreplace").decode()
