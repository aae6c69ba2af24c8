"""Command lines in messages, spelled so that they run where they are printed.

A console script is found by its name only if its folder is on the PATH. After ``make
demo`` in a checkout it is not: there the command is ``.venv/bin/unseen``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unseen._words import printable


def command_line(*words: object) -> str:
    """Return a command of this program as one types it.

    >>> command_line("review", "my labels.csv")
    "unseen review 'my labels.csv'"
    """
    return " ".join([program(), *(_quoted(str(word)) for word in words)])


def _quoted(word: str) -> str:
    """Quote a word for a shell, as bash does where a terminal would obey a sign."""
    shown = printable(word.replace("\\", "\\\\").replace("'", "\\'"))
    shown = shown.replace("\\udc", "\\x")  # a byte that is not UTF-8
    return shlex.quote(word) if printable(word) == word else f"$'{shown}'"


def program() -> str:
    """Return how this program is started: by its name wherever that finds it.

    Otherwise the path of the script, or of the Python, that was started just now. Who
    imports the package gets the name: nothing tells how they start the program.
    """
    started = Path(sys.argv[0] or "unseen")
    if started.name == "__main__.py" and started.parent.name == "unseen":
        return f"{_typed(Path(sys.executable))} -m unseen"
    if started.stem == "unseen" and started.is_file():
        return _typed(started)
    return "unseen"


def needs_extra(package: str, extra: str, what: str) -> ImportError:
    """Return the error that says how to install a package that ``what`` needs.

    pip adds the extra to the ``unseen`` that is there, wherever that came from.

    >>> print(needs_extra("h5py", "files", "birds.h5"))
    birds.h5 needs h5py. Install it with: ... -m pip install 'unseen[files]'
    """
    install = f"{_typed(Path(sys.executable))} -m pip install 'unseen[{extra}]'"
    return ImportError(f"{what} needs {package}. Install it with: {install}")


def optional(module: str, extra: str, what: str) -> Any:
    """Import a module that ``what`` needs, or say how to install its package."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0].replace("_", "-")
        raise needs_extra(package, extra, what) from None


def wheel_folder(package: str, extra: str, what: str) -> Path:
    """Return where a package lies that is never imported, only its files are read."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise needs_extra(package, extra, what)
    return Path(spec.origin).parent


def _typed(file: Path) -> str:
    """Return a program as one types it: its name if the PATH leads to it by that."""
    name = file.name.removesuffix(".exe")
    found = shutil.which(name)
    # Not by what links lead to: every Python of an environment is a link to another.
    same = found is not None and os.path.abspath(found) == os.path.abspath(file)
    return name if same else shlex.quote(_shown(file))


def _shown(file: Path) -> str:
    """Return a path, short if it is below this folder."""
    full, here = Path(os.path.abspath(file)), Path.cwd()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(full)
