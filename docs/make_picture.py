"""Film README's moving picture: label, review, teach, on the real page.

    python docs/make_picture.py

The bundled photos go into six albums. ``unseen label`` sorts them by the names of the
albums, ten questions of ``unseen review`` are answered by what the photos show, and the
model learns from the answers. What is right is counted on the photos nobody was asked
about; the two shares go into the picture and into the words below it in README and on
the first page of the documentation. It needs the extra ``review``, playwright and
Debian's chromium.
"""

import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Page, sync_playwright

from unseen.photos.bundled import load_photos

DOCS = Path(__file__).parent
OUT = DOCS / "_static" / "loop.webp"
PAGES = (DOCS.parent / "README.md", DOCS / "index.md")
SHARES = (r"\d+(?= % are right)", r"\d+(?= % of the other photos)")  # in their words
UNSEEN = [sys.executable, "-m", "unseen"]
ALBUMS = {
    "on the road": ("automobile", "truck"),
    "at sea": ("ship",),
    "in the sky": ("airplane", "bird"),
    "pets": ("cat", "dog"),
    "in the wild": ("deer", "frog"),
    "on the farm": ("horse",),
}
QUESTIONS = 10
WIDTH, HEIGHT, BAND = 1000, 560, 84
INK, PAPER, SOFT = "#1f2328", "#ffffff", "#57606a"

Frame = tuple[Image.Image, int]  # and how many milliseconds it stays


def main() -> None:
    """Film the loop, write the picture and what it shows."""
    with TemporaryDirectory() as made:
        frames, shares = film(Path(made))
    images, stays = zip(*frames, strict=True)
    images[0].save(
        OUT,
        save_all=True,
        append_images=images[1:],
        duration=list(stays),
        loop=0,
        quality=60,
        method=6,
    )
    for page in PAGES:
        text = page.read_text("utf-8")
        for place, share in zip(SHARES, shares, strict=True):
            text = re.sub(place, share, text)
        page.write_text(text, "utf-8")
    print(f"{OUT}: {OUT.stat().st_size / 1e6:.2f} MB, {len(frames)} frames")
    print("right, in %, before and after:", *shares)


def film(home: Path) -> tuple[list[Frame], list[str]]:
    """Label, open the page, answer, teach; return frames and both shares, in %."""
    photos = load_photos()
    album = {kind: name for name, kinds in ALBUMS.items() for kind in kinds}
    truth = pd.Series([album[kind] for kind in photos.truth], index=photos.paths)
    (home / "photos").mkdir()
    for name, jpeg in zip(photos.paths, photos.jpegs, strict=True):
        (home / "photos" / name).write_bytes(jpeg)
    label = ["label", "photos", "--classes", ", ".join(ALBUMS), "--out", "labels.csv"]
    subprocess.run([*UNSEEN, *label], cwd=home, check=True)
    review = [*UNSEEN, "review", "labels.csv", "--no-browser"]
    pipe = subprocess.PIPE
    with (
        sync_playwright() as started,
        subprocess.Popen(review, cwd=home, stdout=pipe, text=True) as server,
    ):
        try:
            address = re.search(r"http://\S+", server.stdout.readline())[0]
            chromium = started.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(address)
            page.wait_for_function(
                "() => [...document.images].filter(i => i.naturalWidth).length > 9"
            )
            page.set_default_timeout(300_000)
            page.wait_for_selector("#teach:not([aria-disabled=true])")
            page.wait_for_timeout(3000)  # features are loaded in the background
            return play(page, home, truth)
        finally:
            server.terminate()


def play(page: Page, home: Path, truth: pd.Series) -> tuple[list[Frame], list[str]]:
    """Go once around the loop."""
    first = pd.read_csv(home / "labels.csv", index_col="id")["label"]
    before = right(first, truth)
    command = 'unseen label photos/ --classes "on the road, at sea, in the sky, …"'
    text = f"1. Label.  1,000 photos, six names, no examples: {before} % right"
    frames = [(shot(page, text, command), 3500)]
    page.click("#ask")
    page.wait_for_selector("#viewer[open]")
    answered = []
    for number in range(1, QUESTIONS + 1):
        page.wait_for_function(
            "n => document.getElementById('view-photo').complete &&"
            " document.getElementById('view-why').textContent.includes(n + ' of')",
            arg=number,
        )
        page.wait_for_timeout(300)
        text = "2. Review.  Answer the ten questions that help most"
        frames.append((shot(page, text, "unseen review labels.csv"), 700))
        answered.append(page.locator("#view-caption .soft").inner_text())
        own = truth[answered[-1]]
        page.locator("#view-classes button", has_text=own).click()
    page.wait_for_selector("#viewer:not([open])", state="attached")
    page.click("#teach")
    page.wait_for_selector("#learned:has-text('Learned from')")
    page.wait_for_timeout(1500)
    taught = pd.read_csv(home / "labels.review" / "reviewed.csv", index_col="id")
    others = truth.index.difference(answered)
    after = right(taught["label"][others], truth[others])
    text = f"3. Teach.  It learns from ten answers: {after} % of the others are right"
    frames.append((shot(page, text, "a click on Teach"), 4500))
    return frames, [before, after]


def right(labels: pd.Series, truth: pd.Series) -> str:
    """Return the share of labels that are right, in %."""
    return f"{100 * np.mean(labels == truth[labels.index]):.0f}"


def shot(page: Page, title: str, below: str) -> Image.Image:
    """Photograph the page, under two lines of what happens."""
    image = Image.new("RGB", (WIDTH, HEIGHT + BAND), PAPER)
    image.paste(Image.open(BytesIO(page.screenshot())), (0, BAND))
    draw = ImageDraw.Draw(image)
    draw.text((16, 10), title, INK, font("DejaVu Sans:bold", 22))
    draw.text((16, 48), below, SOFT, font("DejaVu Sans Mono", 18))
    draw.line((0, BAND - 1, WIDTH, BAND - 1), SOFT)
    return image


def font(name: str, size: int) -> ImageFont.FreeTypeFont:
    """Return a font that comes with Matplotlib."""
    return ImageFont.truetype(font_manager.findfont(name), size)


if __name__ == "__main__":
    main()
