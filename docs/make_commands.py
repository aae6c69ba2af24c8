"""Write the guide's page of commands from the commands themselves.

The build of the documentation does it, so that no command can be missing. By hand:

    python docs/make_commands.py             # docs/guide/command_line.md
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from unseen.cli import app

PAGE = Path(__file__).parent / "guide" / "command_line.md"
OPENING = """# Command line

Every command tells what it does with `--help`; this page is made from the same words.

```console
$ unseen --help
$ unseen --version
```
"""
# What a reader may want to know next, by command.
MORE = {
    "demo": "From Python: {py:func}`unseen.experiments.run_demo`.",
    "label": "How `unseen` understands names: [photos](photos.md).",
    "review": "What the page does: [review and correct](review.md).",
    "export": "What each format is for: [review and correct](review.md).",
    "run": "What data may look like: [your own data](own_data.md).",
    "data": "What data may look like: [your own data](own_data.md).",
    "reproduce": "What the plans hold: [results](results.md), "
    "[reproducing them](reproduce.md).",
}


def page() -> str:
    """Return the whole page."""
    group = typer.main.get_command(app)
    parts = [OPENING]
    for name, command in group.commands.items():
        parts.append(section(f"unseen {name}", command, MORE.get(name)))
    parts.append("Next: [recipes](recipes.md) combine commands to common ends.\n")
    return "\n".join(parts)


def section(name: str, command: Any, more: str | None = None) -> str:
    """Return what a command says of itself; a group says what its commands do."""
    lines = [f"## {name}", "", *prose(command.help)]
    if hasattr(command, "commands"):
        lines += ["| command | what it does |", "|---|---|"]
        for inner, one in command.commands.items():
            lines.append(f"| `{name} {inner}` | {first_line(one.help)} |")
        lines.append("")
        for inner, one in command.commands.items():
            lines += [f"### {name} {inner}", "", *body(one)]
    else:
        lines += body(command)
    if more:
        lines += [more, ""]
    return "\n".join(lines)


def body(command: Any) -> list[str]:
    """Return examples, arguments and options."""
    lines = []
    examples = [line.strip() for line in (command.epilog or "").splitlines()]
    examples = [line for line in joined(examples) if line.startswith("unseen ")]
    if examples:
        lines += ["```console", *(f"$ {line}" for line in examples), "```", ""]
    rows = [row for row in map(option_row, command.params) if row]
    if rows:
        lines += ["| option | meaning |", "|---|---|", *rows, ""]
    return lines


def joined(lines: list[str]) -> Iterator[str]:
    """Yield lines, those that end in a backslash with the next."""
    whole = ""
    for line in lines:
        whole += line.removesuffix("\\")
        if not line.endswith("\\"):
            yield re.sub(r"\s+", " ", whole)
            whole = ""


def option_row(param: Any) -> str | None:
    """Return a line of the table of options; nothing for ``--help``."""
    if "--help" in param.opts:
        return None
    names = ", ".join(f"`{name}`" for name in param.opts)
    if param.param_type_name == "argument":
        names = f"`{param.name.upper()}`"
    said = escape(getattr(param, "help", None) or "")
    default = getattr(param, "default", None)
    if callable(default):
        default = default()
    shown = default not in (None, False, (), [], "") and getattr(
        param, "show_default", True
    )
    if shown and param.param_type_name != "argument":
        said += f" Default: `{getattr(default, 'value', default)}`."
    return f"| {names} | {said.strip()} |"


def prose(text: str | None) -> list[str]:
    """Return the help of a command as paragraphs."""
    text = inspect.cleandoc(text or "").split("\f")[0]
    return [escape(text), ""] if text else []


def first_line(text: str | None) -> str:
    """Return the first sentence of a help text."""
    return escape(inspect.cleandoc(text or "").split("\n")[0])


def escape(text: str) -> str:
    """Return text as Markdown shows it unchanged."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
