"""Write a file whole or not at all."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file next to ``path`` and move it there once it is complete.

    If the block raises, the temporary file is removed and ``path`` keeps what it held.
    """
    path = Path(path)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(draft, "xb") as file:
            yield file
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
