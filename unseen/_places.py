"""Where this package keeps what it makes for itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder(name: str) -> Path:
    """Return a folder of the cache, made if need be and open to this user alone.

    It is in the system's cache folder for this user, or in ``UNSEEN_CACHE`` if that
    is set.

    Examples
    --------
    >>> from unseen._places import cache_folder
    >>> cache_folder("graphs").is_dir()
    True
    """
    given = os.environ.get("UNSEEN_CACHE")
    folder = (Path(given) if given else _system_cache() / "unseen") / name
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _system_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
