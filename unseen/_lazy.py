"""Packages whose names are imported when they are first asked for.

Who labels photos need not wait for the methods of tables, nor for the readers of texts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package; ``homes`` has the names of each module.

    >>> look_up = lazy("json", {"decoder": "JSONDecoder JSONDecodeError"})
    >>> look_up("JSONDecoder").__name__
    'JSONDecoder'
    >>> look_up("JSON")
    Traceback (most recent call last):
    ...
    AttributeError: module 'json' has no attribute 'JSON'
    """
    home = {name: module for module, names in homes.items() for name in names.split()}

    def look_up(name: str) -> Any:
        if name in home:
            found = getattr(import_module(f"{package}.{home[name]}"), name)
            setattr(sys.modules[package], name, found)
            return found
        if not name.startswith("_") and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return look_up
