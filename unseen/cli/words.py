"""What the help of a command calls the things it takes: DATA, --out PATH."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

KINDS = {"path": "PATH", "int": "NUMBER", "float": "NUMBER"}


class Command(TyperCommand):
    """A command whose arguments have the names that its help speaks of.

    Left alone, typer shows ``{data}`` and ``--classes <list[str]>``, and other releases
    of it other signs.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for param in self.params:
            if param.metavar is not None or getattr(param, "is_flag", False):
                continue
            is_option = param.param_type_name == "option"
            param.metavar = kind_of(param) if is_option else f"{param.name}".upper()


def kind_of(param: Any) -> str:
    """Return what an option takes; typer has kept its type in two places so far."""
    described = getattr(param, "type_descriptor", None)
    kind = str(getattr(described, "annotation", None) or param.type).lower()
    return next((word for key, word in KINDS.items() if key in kind), "TEXT")
