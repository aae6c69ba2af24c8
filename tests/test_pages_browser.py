"""The demo's page in a real browser: it fits, it draws, it complains of nothing."""

import re
import shutil
import subprocess

import pytest

from unseen.experiments import run_demo
from unseen.report import write_demo_report

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_demo_report(run_demo(n_splits=2), folder / "report.html")
    return folder


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_and_all_is_drawn(folder, tmp_path, width):
    chromium = shutil.which("chromium")
    assert chromium, "install Debian's chromium, as .ci/run does"
    (folder / f"probe{width}.html").write_text(PROBE.format(width=width))
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
            f"--user-data-dir={tmp_path}",
            "--virtual-time-budget=5000",
            "--enable-logging=stderr",
            "--dump-dom",
            (folder / f"probe{width}.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    out = re.search(r'<pre id="out">(.*?)</pre>', shown.stdout, re.DOTALL)
    assert out, shown.stdout[-500:]
    words = out[1].split()
    told = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    assert told["overflow"] <= 0
    assert told["images"] > 10 and told["broken"] == 0
    assert told["drawings"] >= 2
    assert "CONSOLE" not in shown.stderr, shown.stderr[-500:]
