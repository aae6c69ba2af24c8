"""Sphinx configuration: MyST pages, numpydoc docstrings, a gallery that runs."""

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import unseen

sys.path.insert(0, str(Path(__file__).parent))
import fill_tables
import make_commands

fill_tables.draw_figures(Path(__file__).parent / "_static" / "figures")
make_commands.PAGE.write_text(
    make_commands.page(), "utf-8"
)  # the page of commands is what the commands say

project = "unseen"
author = "The unseen developers"
copyright = author
version = release = unseen.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
default_role = "literal"
nitpicky = False

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # numpydoc's Parameters say it in words
numpydoc_show_class_members = False  # the class template lists them
numpydoc_class_members_toctree = False


def public_properties(name: str) -> list[str]:
    """List the properties of a class given by its full name; none for a function."""
    module, _, member = name.rpartition(".")
    found = getattr(import_module(module), member)
    return [
        key
        for key, value in inspect.getmembers(found)
        if isinstance(value, property) and not key.startswith("_")
    ]


listed = (Path(__file__).parent / "api" / "index.rst").read_text()
names = re.findall(r"^   (unseen[\w.]+)$", listed, re.MULTILINE)
for page in (Path(__file__).parent / "api" / "generated").glob("*.rst"):
    if page.stem not in names:
        page.unlink()  # of a name that went after an earlier build
autosummary_context = {"properties": {name: public_properties(name) for name in names}}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": "stories_first.StoriesFirst",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,  # nobody waits for these
    "write_computation_times": False,
    "abort_on_example_error": False,
    "thumbnail_size": (400, 280),
}

html_theme = "pydata_sphinx_theme"
html_css_files = ["own.css"]
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["glossary-link"],
}
# Pages without pages below them: an empty column would stand beside them.
ALONE = ("index", "faq", "first_steps", "glossary", "notation", "which_method")
ALONE += ("comparison", "paper")
html_sidebars = {page: [] for page in ALONE}
html_title = f"unseen {release}"
html_static_path = ["_static"]
html_show_sphinx = False
html_copy_source = False
