"""The demo's page stands alone, tells the truth and escapes what it is given."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from unseen.data import ZeroShotData
from unseen.experiments.demo import DemoResult, SplitResult
from unseen.report import write_demo_report
from unseen.report.page import inline_png, inline_svg, new_figure

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=y>', "$\\frac{", "&amp;"]


def make_split(names, seed=0, n_rows=40):
    rng = np.random.default_rng(seed)
    draws = [rng.choice(names, size=n_rows) for _ in range(4)]
    y_true, before, first, after = draws
    y_true[: len(names)] = names
    return SplitResult(
        unseen=tuple(names),
        X=rng.random((n_rows, 64)),
        y_true=y_true,
        labels_before=before,
        labels=after,
        reliability=rng.random(n_rows),
        rounds=[SimpleNamespace(labels=first), SimpleNamespace(labels=after)],
    )


@pytest.fixture
def make_result():
    def make(names, n_splits=2):
        table = pd.DataFrame(np.eye(len(names)), index=names)
        data = ZeroShotData("<b>set</b>", np.eye(len(names)), names, table, names[:1])
        splits = [make_split(names[:3], seed) for seed in range(n_splits)]
        return DemoResult(7, "Model<i>()", data, splits, n_splits)

    return make


class Page(HTMLParser):
    """Collect tags, addresses and ids."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.addresses, self.ids = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "action"):
                self.addresses.append(value)
            if name == "id":
                self.ids.append(value)
            assert not name.startswith("on"), (tag, name)


def page_of(result, tmp_path):
    return write_demo_report(result, tmp_path / "new" / "page.html").read_text()


def test_the_page_needs_no_other_file(make_result, tmp_path):
    html = page_of(make_result(["0", "1", "2", "3"]), tmp_path)
    page = Page(html)
    assert page.addresses
    assert all(a.startswith(("data:image/png;base64,", "#")) for a in page.addresses)
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert "@import" not in html and "url(http" not in html
    assert len(page.ids) == len(set(page.ids))


def test_references_inside_the_figures_lead_somewhere(make_result, tmp_path):
    page = Page(page_of(make_result(["0", "1", "2", "3"]), tmp_path))
    inside = [a[1:] for a in page.addresses if a.startswith("#")]
    assert inside and set(inside) <= set(page.ids)


def test_hostile_names_stay_text(make_result, tmp_path):
    html = page_of(make_result(HOSTILE), tmp_path)
    page = Page(html)
    assert not {"script", "i"} & set(page.tags)
    assert "<script>" not in html and "<b>set" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "&amp;amp;" not in html  # the fourth name is never unseen
    assert all(a.startswith(("data:image/png", "#")) for a in page.addresses)


def test_the_numbers_are_the_results(make_result, tmp_path):
    result = make_result(["0", "1", "2", "3"], n_splits=3)
    html = page_of(result, tmp_path).replace("\N{NO-BREAK SPACE}", " ")
    for share in [result.before, result.after, result.chance]:
        assert f"{100 * share:.1f} %" in html
    for split in result.splits:
        assert f"<td>{100 * split.before:.1f} %</td>" in html
        assert f"<td>{100 * split.after:.1f} %</td>" in html
    assert f"helped in {result.n_improved} of them" in html
    assert "unseen demo --seed 7 --splits 3" in html


def test_wrong_images_are_marked_and_ordered_by_reliability(make_result, tmp_path):
    result = make_result(["0", "1", "2", "3"], n_splits=1)
    (split,) = result.splits
    html = page_of(result, tmp_path)
    rows = np.flatnonzero(split.labels == "1")
    rows = rows[np.argsort(-split.reliability[rows])]
    shelf = html.split("<h3>Labelled 1")[1].split("</ul>")[0]
    shown = re.findall(r'<img src="([^"]+)"', shelf)
    assert shown == [inline_png(split.X[row].reshape(8, 8)) for row in rows]
    wrong = [f"✗ {split.y_true[row]}" for row in rows if split.y_true[row] != "1"]
    assert re.findall(r"✗ \d", shelf) == wrong


def test_a_label_nobody_got_is_said(make_result, tmp_path):
    result = make_result(["0", "1", "2", "3"], n_splits=1)
    split = result.splits[0]
    labels = np.full(len(split.labels), "0")
    lonely = replace(result, splits=[replace(split, labels=labels, rounds=[])])
    assert page_of(lonely, tmp_path).count("No image got this label.") == 2


def test_the_same_result_writes_the_same_page(make_result, tmp_path):
    result = make_result(["0", "1", "2", "3"])
    assert page_of(result, tmp_path) == page_of(result, tmp_path)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["page.html"]


def test_figures_are_valid_and_take_the_colour_of_the_page():
    figure = new_figure(3, 2)
    figure.axes[0].set_title("a < b & c", parse_math=False)
    svg = inline_svg(figure, "test")
    ElementTree.fromstring(svg)
    assert "a &lt; b &amp; c" in svg
    assert "currentColor" in svg and "#010203" not in svg
