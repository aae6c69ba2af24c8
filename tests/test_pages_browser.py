"""The demo's pages in a real browser: they fit, draw, and complain of nothing."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.browser import look, run_probe
from unseen.experiments import run_demo
from unseen.labels import label_table
from unseen.photos.bundled import load_photos
from unseen.photos.photo import read_square
from unseen.report.demo import write_demo_report
from unseen.report.gallery import write_gallery

pytestmark = pytest.mark.browser

GALLERY = """<!doctype html><title>probe</title>
<iframe id="page" src="{name}" style="width: {width}px; height: 900px; border: 0">
</iframe><pre id="out">nothing</pre><script>
const page = document.getElementById("page"), start = performance.now();
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
page.onload = async () => {{
  const loaded = performance.now() - start;
  const inner = page.contentDocument, root = inner.documentElement;
  const press = (key) => inner.dispatchEvent(new KeyboardEvent("keydown", {{ key }}));
  const place = () => [...inner.querySelectorAll("section")]
    .findIndex((one) => one.contains(inner.activeElement));
  await wait(500);
  const images = [...inner.images].filter((i) => i.getAttribute("src"));
  const shown = images.filter((i) => i.complete && i.naturalWidth).length;
  const first = inner.querySelector(".tile");
  first.focus();
  press("ArrowRight");
  const right = Number(inner.activeElement === first.nextElementSibling);
  press("ArrowDown");
  const down = place();
  press("End");
  const last = Number(!inner.activeElement.nextElementSibling.matches(".tile"));
  inner.activeElement.click();
  const open = Number(inner.querySelector("dialog").open);
  inner.querySelector("#close").click();
  document.getElementById("out").textContent = [
    "overflow", root.scrollWidth - root.clientWidth,
    "tiles", images.length, "shown", shown, "right", right, "down", down,
    "last", last, "open", open, "bold", inner.querySelectorAll("main b").length,
    "milliseconds", Math.round(loaded),
  ].join(" ");
}};
</script>"""


ORIGINALS = """<!doctype html><title>probe</title>
<iframe id="page" src="few.html" style="width: {width}px; height: 900px; border: 0">
</iframe><pre id="out">nothing</pre><script>
const page = document.getElementById("page");
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
page.onload = async () => {{
  const inner = page.contentDocument, root = inner.documentElement, out = [];
  const fetched = () => page.contentWindow.performance.getEntriesByType("resource")
    .filter((one) => !one.name.includes("thumbnails")).length;
  const big = inner.getElementById("big"), dialog = inner.querySelector("dialog");
  await wait(500);
  const tiles = [...inner.querySelectorAll(".tile")];
  out.push("early", fetched(), "tiles", tiles.length);
  for (const [i, tile] of tiles.entries()) {{
    tile.click();
    out.push("at" + i, big.naturalWidth > 160 ? 1 : 0);
    await wait(500);
    const drawn = tile.querySelector("img");
    const path = inner.querySelector("#told a").getAttribute("href");
    const whole = inner.getElementById("whole").getAttribute("href");
    out.push("small" + i, drawn.naturalWidth, "wide" + i, big.naturalWidth,
      "high" + i, big.naturalHeight, "linked" + i, path ? 1 : 0,
      "both" + i, path === whole ? 1 : 0,
      "sideways" + i, dialog.scrollWidth - dialog.clientWidth);
    inner.querySelector("#close").click();
  }}
  out.push("overflow", root.scrollWidth - root.clientWidth);
  document.getElementById("out").textContent = out.join(" ");
}};
</script>"""


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


@pytest.mark.parametrize("width", [390, 1200])
def test_the_report_fits_and_all_is_drawn(folder, tmp_path, width):
    told = look(folder / "report.html", width, tmp_path)
    assert told["overflow"] <= 0


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize(("name", "most"), [("report.html", 1000), ("many.html", 600)])
def test_the_gallery_opens_at_once_and_keys_walk(folder, tmp_path, name, most, width):
    told = run_probe(GALLERY.format(name=name, width=width), folder, tmp_path)
    assert told["overflow"] <= 0
    assert 0 < told["shown"] <= told["tiles"] <= most  # not all twenty thousand
    assert told["right"] == told["last"] == told["open"] == told["down"] == 1
    assert told["bold"] == 0  # names are text


@pytest.mark.parametrize("width", [390, 1280])
def test_an_opened_photo_is_the_original_and_only_then_fetched(folder, tmp_path, width):
    told = run_probe(ORIGINALS.format(width=width), folder, tmp_path)
    assert told["early"] == 0 and told["tiles"] == 4
    assert [told[f"small{i}"] for i in range(4)] == [160, 40, 160, 160]  # whole
    size = [(told[f"wide{i}"], told[f"high{i}"]) for i in range(4)]
    assert size[0] == size[3] == (1600, 400) and size[1] == (400, 1600)
    assert size[2] == (160, 40)  # no browser draws TIFF here: the small copy stays
    assert [told[f"linked{i}"] for i in range(4)] == [1, 1, 1, 0]  # no page is opened
    assert all(told[f"both{i}"] == 1 and told[f"at{i}"] == 0 for i in range(4))
    assert all(told[f"sideways{i}"] <= 0 for i in range(4)) and told["overflow"] <= 0
