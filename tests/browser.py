"""Look at a page in Debian's chromium: does it fit, is all drawn, is it silent?"""

import re
import shutil
import subprocess
from pathlib import Path

PROBE = """<!doctype html><title>probe</title>
<iframe id="page" src="{page}" style="width: {width}px; height: 900px; border: 0">
</iframe><pre id="out">nothing</pre><script>
const page = document.getElementById("page");
page.onload = () => {{
  const inside = page.contentDocument;
  inside.querySelectorAll("details").forEach((d) => {{ d.open = true; }});
  const root = inside.documentElement;
  const images = [...inside.images];
  const drawings = [...inside.querySelectorAll("figure svg")];
  document.getElementById("out").textContent = [
    "overflow", root.scrollWidth - root.clientWidth,
    "images", images.length,
    "broken", images.filter((i) => !i.complete || !i.naturalWidth).length,
    "drawings", drawings.length,
    "flat", drawings.filter((d) => d.getBoundingClientRect().height < 50).length,
  ].join(" ");
}};
</script>"""
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--allow-file-access-from-files",
    "--virtual-time-budget=5000",
    "--enable-logging=stderr",
    "--dump-dom",
]


def look(page: Path, width: int, profile: Path) -> dict[str, int]:
    """Open a page, all its details unfolded; return what is in it.

    Fails if the browser's console has anything to say.
    """
    return run_probe(PROBE.format(page=page.name, width=width), page.parent, profile)


def run_probe(text: str, folder: Path, profile: Path) -> dict[str, int]:
    """Open a page that looks at others in a folder; return the numbers it found."""
    chromium = shutil.which("chromium")
    assert chromium, "install Debian's chromium, as .ci/run does"
    probe = folder / "probe.html"
    probe.write_text(text)
    shown = subprocess.run(
        [chromium, *QUIET, f"--user-data-dir={profile}", probe.as_uri()],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert "CONSOLE" not in shown.stderr, shown.stderr[-500:]
    out = re.search(r'<pre id="out">(.*?)</pre>', shown.stdout, re.DOTALL)
    assert out, shown.stdout[-500:]
    words = out[1].split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))
