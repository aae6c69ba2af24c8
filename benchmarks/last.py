"""What the benchmarks measured last, beside what they measure now.

``last.json`` holds the ratios of one machine, named in it; ``ratios.py --keep`` writes
it anew, ``ratios.py --docs`` fills the table of docs/guide/scale.md with it.
"""

import json
import os
import platform
from pathlib import Path

FILE = Path(__file__).with_name("last.json")
PAGE = FILE.parents[1] / "docs" / "guide" / "scale.md"


def machine() -> str:
    """Return processor and cores in a line."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [li.split(":")[1].strip() for li in lines if li.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    return (
        f"{names[0] if names else platform.machine()}, {cores or os.cpu_count()} cores"
    )


def read() -> dict[str, list]:
    """Return (one thread, two threads, two cores over one) by work and unit."""
    return json.loads(FILE.read_text())["rows"] if FILE.exists() else {}


def keep(rows: dict[str, list]) -> None:
    """Write rows over those of the same name; others stay."""
    made = {"machine": machine(), "rows": read() | rows}
    FILE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")


def told(value: float | None) -> str:
    """Return a number for a table."""
    return "" if value is None else f"{value:.2f}"


def markdown() -> str:
    """Return the table of docs/guide/scale.md."""
    stored = json.loads(FILE.read_text())
    lines = [
        f"| {stored['machine']} | in units of | one core | time on two over one |",
        "|---|---|---:|---:|",
    ]
    for name, (one, _, both) in stored["rows"].items():
        work, unit = name.split(" | ")
        lines.append(f"| {work} | `{unit}` | {told(one)} | {told(both)} |")
    return "\n".join(lines)


BEGIN, END = "<!-- speed: ratios.py --docs -->\n", "\n<!-- end of speed -->"


def filled(page: str) -> str:
    """Return a page with the table between its two marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + markdown() + END + rest.split(END)[1]


def fill_page() -> None:
    """Write the table into the page."""
    PAGE.write_text(filled(PAGE.read_text()))
