"""What every page shares: the template, figures inside it, the writing."""

from __future__ import annotations

import os
import re
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.files import replace_file

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure

INK = "#010203"  # stands in a figure for the ink of its page, which may be light
FAINT = "#8c8c8c"


def write_page(template: str, path: str | os.PathLike[str], **content: Any) -> Path:
    """Fill a template, see :func:`render`, write it whole, and return its path."""
    html = render(template, **content)
    path = Path(path)
    with replace_file(path) as file:
        file.write(html.encode())
    return path


def render(template: str, **content: Any) -> str:
    """Fill a template of ``unseen/report/templates``, escaping everything.

    >>> render("base.html")[:15]
    '<!doctype html>'
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader("unseen.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["percent"] = percent
    pages.filters["points"] = points
    return pages.get_template(template).render(**content)


def percent(share: float) -> str:
    r"""Write a share as a percentage.

    >>> percent(0.4571)
    '45.7\xa0%'
    """
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def points(difference: float) -> str:
    """Write a difference of shares in percentage points, with its sign.

    >>> points(0.25), points(-0.031), points(0.0)
    ('+25.0', '−3.1', '0.0')
    """
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def new_figure(
    width: float, height: float, n_panels: int = 1, n_rows: int = 1, *, sharey=True
) -> Figure:
    """Make a bare figure, in inches, that will take the colours of its page."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.subplots(n_rows, n_panels, sharey="row" if sharey else False)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=0, labelsize=10, colors=INK)
        axes.spines[["left", "bottom"]].set_color(FAINT)
        axes.xaxis.label.set(color=INK, size=10)
        axes.yaxis.label.set(color=INK, size=10)
    return figure


def as_svg(figure: Figure, name: str, ink: str) -> str:
    """Draw a figure as SVG in this ink; its texts are escaped and stay text."""
    from matplotlib import rc_context

    buffer = StringIO()
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": name}
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context(settings):
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return buffer.getvalue().replace(INK, ink)


def as_files(figure: Figure, name: str) -> list[bytes]:
    """Draw a figure for print: as SVG, PDF and PNG, on white."""
    white = '<rect width="100%" height="100%" fill="white"/><defs>'
    found = [as_svg(figure, name, "#1b1f24").replace("<defs>", white, 1).encode()]
    for kind, unsaid in (("pdf", "CreationDate"), ("png", "Software")):
        buffer = BytesIO()
        figure.savefig(buffer, format=kind, dpi=200, metadata={unsaid: None})
        found.append(buffer.getvalue())
    return found


def inline_svg(figure: Figure, name: str) -> Markup:
    """Draw a figure to stand inside a page, in the page's colours.

    ``name`` keeps its ids apart from those of other figures.

    >>> inline_svg(new_figure(3, 2), "empty")[:23]
    Markup('<svg aria-hidden="true"')
    """
    from markupsafe import Markup

    svg = as_svg(figure, name, "currentColor")
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    width = f"max-width: {6.2 * figure.get_figwidth():.0f}rem"  # texts of one size
    svg = svg.replace("<svg", f'<svg aria-hidden="true" style="{width}"', 1)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'="#([^"]+)"', rf'="#{name}-\1"', svg)
    svg = svg.replace("url(#", f"url(#{name}-")
    return Markup(svg)  # matplotlib has escaped its texts
