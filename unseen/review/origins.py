"""How a table of labels was made: where its photos, texts or rows are, and the names.

``unseen label``, ``run`` and ``demo`` note this down in the cache, under a digest of
where the table is. So the table alone is enough to look at it and to teach it.
"""

import hashlib
import json
import os
import re
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path

from unseen.cache import cache_home
from unseen.files import AnyPath, replace_file


@dataclass(frozen=True)
class Origin:
    """What a table of labels came from; all paths are absolute, "" for the default."""

    kind: str  # "photos", "texts", "rows" or "demo"; "" if it is not known
    source: str = ""  # folder of photos, file of texts, or data set of rows
    encoder: str = ""  # by name, or a file of features
    version: str = ""  # of that encoder: what tells it from all others
    text: str = ""  # encoder of the names, or a file of class vectors
    names: list[str] = field(default_factory=list)
    descriptions: dict[str, str] = field(default_factory=dict)  # of some names
    model: str = ""  # a saved one
    column: str = ""  # of texts, or of the labels of rows
    id: str = ""  # column of the ids


def note_origin(labels: AnyPath, origin: Origin) -> None:
    """Write down how a table of labels was made."""
    text, place = json.dumps(asdict(origin)), place_of(labels)
    try:
        for folder in (cache_home(), place.parent):
            folder.mkdir(0o700, parents=True, exist_ok=True)
        place.parent.chmod(0o700)  # what was labelled is nobody else's business
        with replace_file(place) as file:
            file.write(text.encode())
    except OSError as error:  # such as a home folder that is read-only
        warnings.warn(
            f"{labels} is written, but where it came from could not be noted in the "
            f"cache ({error}). A review of it will ask for --photos or --features.",
            stacklevel=2,
        )


def find_origin(labels: AnyPath) -> Origin:
    """Return how a table of labels was made; of kind "" if nobody noted it."""
    place = place_of(labels)
    if not place.exists():
        # The corrected table of a review is about what the reviewed one is about.
        folder = Path(os.path.abspath(labels)).parent
        own = folder.with_name(re.sub(r"\.review(-\d+)?$", ".csv", folder.name))
        return find_origin(own) if own.is_file() else Origin("")
    try:
        return Origin(**json.loads(place.read_bytes()))
    except (ValueError, TypeError):  # of another version
        return Origin("")


def place_of(labels: AnyPath) -> Path:
    """Return where the origin of a table is noted."""
    real = os.fsencode(os.path.realpath(labels))
    return cache_home() / "origins" / f"{hashlib.sha256(real).hexdigest()}.json"


def absolute(path: object) -> str:
    """Return a path from the root; "" for nothing, names of encoders as they are."""
    text = "" if path is None else str(path)
    return os.path.abspath(text) if text and os.path.exists(text) else text
