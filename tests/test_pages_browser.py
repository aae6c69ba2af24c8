"""The demo's pages in a real browser: they fit, draw, and complain of nothing."""

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from unseen.experiments import run_demo
from unseen.photos.bundled import load_photos
from unseen.report import write_demo_report
from unseen.report.gallery import write_gallery

pytestmark = pytest.mark.browser

PROBE = """<!doctype html><title>probe</title>
<iframe id="page" src="report.html" style="width: {width}px; height: 900px; border: 0">
</iframe><pre id="out">nothing</pre><script>
const page = document.getElementById("page");
page.onload = () => {{
  const root = page.contentDocument.documentElement;
  const images = [...page.contentDocument.images];
  document.getElementById("out").textContent = [
    "overflow", root.scrollWidth - root.clientWidth,
    "images", images.length,
    "broken", images.filter((i) => !i.complete || !i.naturalWidth).length,
    "drawings", page.contentDocument.querySelectorAll("svg").length,
  ].join(" ");
}};
</script>"""


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
    return folder


def probe(folder, page, profile):
    """Open a page in Chromium; return the numbers it found, and complaints."""
    chromium = shutil.which("chromium")
    assert chromium, "install Debian's chromium, as .ci/run does"
    (folder / "probe.html").write_text(page)
    shown = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--allow-file-access-from-files",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=5000",
            "--enable-logging=stderr",
            "--dump-dom",
            (folder / "probe.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    out = re.search(r'<pre id="out">(.*?)</pre>', shown.stdout, re.DOTALL)
    assert out, shown.stdout[-500:]
    words = out[1].split()
    assert "CONSOLE" not in shown.stderr, shown.stderr[-500:]
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


@pytest.mark.parametrize("width", [390, 1200])
def test_the_report_fits_and_all_is_drawn(folder, tmp_path, width):
    told = probe(folder, PROBE.format(width=width), tmp_path)
    assert told["overflow"] <= 0
    assert told["drawings"] >= 2


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize(("name", "most"), [("gallery.html", 1000), ("many.html", 600)])
def test_the_gallery_opens_at_once_and_keys_walk(folder, tmp_path, name, most, width):
    told = probe(folder, GALLERY.format(name=name, width=width), tmp_path)
    assert told["overflow"] <= 0
    assert 0 < told["shown"] <= told["tiles"] <= most  # not all twenty thousand
    assert told["right"] == told["last"] == told["open"] == told["down"] == 1
    assert told["bold"] == 0  # names are text
