"""The page of texts: everything escaped, long texts collapsed, any script and class."""

import re

import numpy as np
import pytest

from tests.browser import look
from unseen.labels import label_table
from unseen.report.gallery import MOST, SNIPPET, TextPage

HOSTILE = '<script>alert("x")</script>'
HEBREW, JAPANESE = "שלום עולם", "カードをなくしました"


def page(tmp_path, labels, texts, classes=None, **columns):
    table = label_table(labels, text=texts, **columns)
    made = TextPage(classes or sorted(set(labels)))
    for start in range(0, len(table), 3):
        made.add(table[start : start + 3].reset_index(drop=True))
    return made.write(tmp_path / "p.html", title="T").read_text("utf-8")


def test_nothing_of_a_text_is_obeyed(tmp_path):
    html = page(tmp_path, [HOSTILE, "b"], [HOSTILE, "&"], ids=[HOSTILE, '"'],
                reliability=[0.1, 0.9], second=[HOSTILE, ""])  # fmt: skip
    assert "<script" not in html and html.count("&lt;script&gt;") >= 4
    assert "default-src 'none'" in html and "&amp;" in html


def test_every_script_chooses_its_own_direction(tmp_path):
    html = page(tmp_path, ["a"] * 2, [HEBREW, JAPANESE], reliability=[0.9, 0.8])
    for text in (HEBREW, JAPANESE):
        assert re.search(rf'<p dir="auto" class="said">{text}</p>', html)


def test_long_texts_are_collapsed_between_words(tmp_path):
    long = " ".join(f"word{i}" for i in range(2000))
    html = page(tmp_path, ["a"], [long], reliability=[0.9])
    start = re.search(r'<summary><span dir="auto" class="said">(.*?)</span>', html)[1]
    assert long.startswith(start) and SNIPPET / 2 < len(start) <= SNIPPET
    assert start.endswith(" ") and len(html) < 20_000 + MOST
    assert f"{len(long) - MOST:,} more characters" in html
    unbroken = page(tmp_path, ["a"], ["漢" * 1000], reliability=[0.9])
    assert f'class="said">{"漢" * SNIPPET}</span>' in unbroken


def test_the_surest_and_the_least_sure_of_a_class_are_shown(tmp_path):
    rng = np.random.default_rng(0)
    sure = rng.permutation(1000) / 1000
    texts = [f"text-{int(1000 * s):03d}" for s in sure]
    html = page(tmp_path, ["a"] * 1000, texts, reliability=sure)
    shown = re.findall(r"text-(\d+)</p>", html)
    assert shown == [f"{i:03d}" for i in [*range(999, 969, -1), *range(30)]]
    assert "1,000 texts" in html and "500 are doubtful" in html


def test_a_text_is_shown_once_and_classes_without_any_are_named(tmp_path):
    html = page(tmp_path, ["a", "", "a"], ["one", "", "two"],
                classes=["b", "a"], reliability=[0.9, np.nan, 0.2])  # fmt: skip
    assert html.count(">one</p>") == html.count(">two</p>") == 1
    assert "No text got: <bdi>b</bdi>." in html
    assert "(no label)" in html and "(empty)" in html and "nan" not in html


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_a_phone_and_a_desk(chromium, tmp_path, width):
    texts = [HEBREW, JAPANESE, "x" * 900, "word " * 900, HOSTILE, ""]
    page(tmp_path, ["a"] * 5 + ["b" * 80], texts, reliability=np.linspace(0, 1, 6))
    assert look(chromium, tmp_path / "p.html", width)["overflow"] == 0
