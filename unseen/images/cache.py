"""Where things are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

from unseen.loading.parts import needs_extra

__all__ = ["cache_folder"]


def cache_folder(name: str) -> Path:
    """Return a folder of the cache, made if need be.

    It is the system's cache folder for this user, or ``UNSEEN_CACHE`` if that is set.
    """
    home = os.environ.get("UNSEEN_CACHE")
    if home is None:
        try:
            from platformdirs import user_cache_dir
        except ImportError:
            raise needs_extra("platformdirs", "images", "Keeping features") from None
        home = user_cache_dir("unseen")
    folder = Path(home) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
