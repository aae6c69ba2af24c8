"""The page of commands is made of what the commands say of themselves."""

import importlib.util
from pathlib import Path

import pytest
import typer

from unseen.cli import app

SCRIPT = Path(__file__).parents[1] / "docs" / "make_commands.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="no documentation here")


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("make_commands", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page()


def commands(command, name):
    if hasattr(command, "commands"):
        for inner, one in command.commands.items():
            yield from commands(one, f"{name} {inner}")
    else:
        yield name, command


def every_command():
    return list(commands(typer.main.get_command(app), "unseen"))


def test_every_command_has_its_section_with_an_example(page):
    for name, command in every_command():
        assert f"# {name}\n" in page
        assert f"$ {name}" in page, f"{name} shows no example in its --help"
        assert command.help, f"{name} does not say what it does"


def test_every_option_is_explained(page):
    for name, command in every_command():
        section = page.split(f"# {name}\n")[1].split("\n#")[0]
        for param in command.params:
            if "--help" in param.opts:
                continue
            wanted = param.opts[0] if param.opts[0][0] == "-" else param.name.upper()
            assert f"`{wanted}`" in section, (name, wanted)
            assert getattr(param, "help", None), f"{name} {wanted} has no help"


def test_nothing_in_it_is_taken_for_markup(page):
    for line in page.splitlines():
        if line.startswith("| `"):
            assert line.replace("\\|", "").count("|") == 3, line
