"""The demo's pages in a real browser: they fit, draw, and complain of nothing."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.browser import look, shown
from unseen.experiments import run_demo
from unseen.labels import label_table
from unseen.photos.bundled import load_photos
from unseen.photos.photo import read_square
from unseen.report.demo import write_demo_report
from unseen.report.gallery import write_gallery

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_demo_report(run_demo(), folder / "report.html")
    random, n = np.random.default_rng(0), 20_000
    frame = pd.DataFrame(
        {
            "id": [f"<b>{i}</b>&amp;'.jpg" for i in range(n)],
            "label": random.choice(["<b>ant</b>", "bee", "cat"], n),
            "reliability": random.random(n),
            "second": "dog",
            "first_trusted": 1,
        }
    )
    write_gallery(
        frame,
        folder / "many.html",
        thumbnails=lambda row: load_photos().jpegs[row % 1000],
    )
    write_few(folder)
    return folder


def write_few(folder):
    """Write a page of four photos: wide, turned, of an unknown kind, badly called."""
    photos = folder / "photos #1"
    photos.mkdir()
    wide, turned = Image.new("RGB", (1600, 400), "red"), Image.Exif()
    turned[0x0112] = 6
    names = ['50% "<b>&amp;?.jpg', "turned.jpg", "scan.tif", "page.html"]
    wide.save(photos / names[0])
    wide.save(photos / names[1], exif=turned)
    wide.save(photos / names[2])
    wide.save(photos / names[3], "JPEG")
    sure = [0.9, 0.8, 0.7, 0.6]
    write_gallery(
        label_table(["cat"] * 4, ids=names, reliability=sure),
        folder / "few.html",
        thumbnails=lambda row: read_square(photos / names[row], 224).thumbnail,
        originals=photos,
    )


OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SECTION = """[...document.querySelectorAll("section")]
  .findIndex((one) => one.contains(document.activeElement))"""
DRAWN = """[...document.images].filter((one) => one.getAttribute("src"))
  .map((one) => one.complete && one.naturalWidth > 0)"""
FETCHED = """performance.getEntriesByType("resource")
  .filter((one) => !one.name.includes("thumbnails")).length"""
PHOTO = """() => [document.getElementById("big")].flatMap((one) =>
  [one.naturalWidth, one.naturalHeight])"""
SIDEWAYS = "dialog => dialog.scrollWidth - dialog.clientWidth"


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize(("name", "most"), [("report.html", 1000), ("many.html", 600)])
def test_the_gallery_opens_at_once_and_keys_walk(chromium, folder, name, most, width):
    assert look(chromium, folder / name, width)["overflow"] <= 0
    with shown(chromium, (folder / name).as_uri(), width) as page:
        page.wait_for_timeout(500)
        drawn = page.evaluate(DRAWN)
        assert 0 < sum(drawn) <= len(drawn) <= most  # not all twenty thousand
        page.locator(".tile").first.focus()
        page.keyboard.press("ArrowRight")
        second = "document.querySelectorAll('.tile')[1] === document.activeElement"
        assert page.evaluate(second)
        page.keyboard.press("ArrowDown")
        assert page.evaluate(SECTION) == 1
        page.keyboard.press("End")
        assert not page.evaluate("document.activeElement.nextSibling?.matches('.tile')")
        page.keyboard.press("Enter")
        assert page.locator("dialog").is_visible()
        page.click("#close")
        assert page.locator("main b").count() == 0  # names are text


@pytest.mark.parametrize("width", [390, 1280])
def test_an_opened_photo_is_the_original_and_only_then_fetched(chromium, folder, width):
    small = [160, 40, 160, 160]  # whole: 40 is the one that lies on its side
    sizes = [[1600, 400], [400, 1600], [160, 40], [1600, 400]]  # no TIFF is drawn here
    with shown(chromium, (folder / "few.html").as_uri(), width) as page:
        page.wait_for_timeout(500)
        assert page.evaluate(FETCHED) == 0 and page.locator(".tile").count() == 4
        for number, tile in enumerate(page.locator(".tile").all()):
            tile.click()
            page.wait_for_timeout(500)
            image = tile.locator("img")
            assert image.evaluate("one => one.naturalWidth") == small[number]
            assert page.evaluate(PHOTO) == sizes[number]
            path = page.locator("#told a").get_attribute("href")
            assert path == page.locator("#whole").get_attribute("href")
            assert bool(path) == (number < 3)  # no page is opened
            assert page.locator("dialog").evaluate(SIDEWAYS) <= 0
            page.click("#close")
        assert page.evaluate(OVERFLOW) <= 0
