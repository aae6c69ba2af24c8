"""Where this package keeps what it makes for itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["cache_folder", "cache_home", "private_folder"]

PRIVATE = 0o700  # what is in photos and texts is nobody else's business


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
    return private_folder(cache_home() / name)


def private_folder(folder: Path) -> Path:
    """Make a folder, and those above that are missing, for this user alone."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(PRIVATE, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(PRIVATE)
    return folder


def cache_home() -> Path:
    """Return the folder of the cache, which may not be there yet."""
    given = os.environ.get("UNSEEN_CACHE")
    return Path(given) if given else _system_cache() / "unseen"


def _system_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
