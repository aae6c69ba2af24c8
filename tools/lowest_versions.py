"""Print the lowest declared versions of what the core and its tests need.

    python tools/lowest_versions.py >lowest.txt
    pip install -r lowest.txt

The floors are those of ``pyproject.toml``; a dependency without one is an error.
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def floors(dependencies):
    """Return one line ``name==version`` for each ``name>=version``."""
    found = []
    for dependency in dependencies:
        match = re.fullmatch(r"([\w.-]+)\s*>=\s*([\d.]+)", dependency)
        if match is None:
            raise SystemExit(f"{dependency!r} has no plain floor, such as numpy>=1.26.")
        found.append("{}=={}".format(*match.groups()))
    return found


def main():
    """Read pyproject.toml, print the constraints."""
    said = tomllib.loads(PROJECT.read_text("utf-8"))
    needed = said["project"]["dependencies"] + said["dependency-groups"]["test"]
    print("\n".join(floors(needed)))


if __name__ == "__main__":
    main()
