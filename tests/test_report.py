"""The demo's page stands alone, tells the truth and escapes what it is given."""

import json
from types import SimpleNamespace
from urllib.parse import urljoin, urlsplit

import numpy as np
import pandas as pd
import pytest

from tests.pages import Page
from unseen.experiments.demo import DemoResult
from unseen.files import MARK
from unseen.labels import label_table
from unseen.photos.bundled import load_photos
from unseen.report.demo import write_demo_report
from unseen.report.gallery import write_gallery

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=y>', "$\\frac{", "&amp;"]
JPEG = b"\xff\xd8\xff and so on"
PLAIN = ["ant", "bee", "cat", "dog"]


def make_result(names, n_photos=40):
    """Labels drawn at random: a page has to tell them, not to like them."""
    rng = np.random.default_rng(0)
    truth, before, first, after = rng.choice(names, size=(4, n_photos))
    truth[: len(names)] = names
    photos = SimpleNamespace(
        classes=names,
        truth=truth,
        jpegs=load_photos().jpegs[:n_photos],
    )
    trust = rng.random(n_photos)
    model = SimpleNamespace(
        projected_=before,
        labels_=after,
        answer=lambda: pd.DataFrame(
            {"label": after, "reliability": trust, "second": first, "first_trusted": 1}
        ),
        rounds_=[SimpleNamespace(labels=first), SimpleNamespace(labels=after)],
        stopped_because_="<b>It stopped.</b>",
    )
    ids = [f"{name}{i}.jpg" for i, name in enumerate(truth)]
    return DemoResult(photos, ids, model)


def page_of(result, tmp_path):
    return write_demo_report(result, tmp_path / "new" / "page.html").read_text()


def photos_of(gallery):
    text = gallery.split('id="data">')[1].split("</script>")[0]
    return dict(json.loads(text)["rows"])


def test_the_demo_needs_nothing_but_its_thumbnails(tmp_path):
    html = page_of(make_result(PLAIN), tmp_path)
    page = Page(html)
    assert not {a for a in page.addresses if not a.startswith("#")}
    assert not {"link", "iframe", "object"} & set(page.tags)
    assert "@import" not in html and "url(http" not in html
    assert len(page.ids) == len(set(page.ids))


def test_hostile_names_stay_text(tmp_path):
    html = page_of(make_result(HOSTILE), tmp_path)
    assert "&lt;script&gt;alert(1)" in html and "&lt;b&gt;It stopped" in html
    # Two scripts of the gallery's own, the data among them; no name ends it early.
    assert Page(html).tags.count("script") == 2
    assert "<script>alert" not in html
    assert list(photos_of(html)) == HOSTILE


def test_the_numbers_are_the_results(tmp_path):
    result = make_result(PLAIN)
    html = page_of(result, tmp_path).replace("\N{NO-BREAK SPACE}", " ")
    truth, labels = result.items.truth, result.model.labels_
    after = [np.mean(labels[truth == name] == name) for name in PLAIN]
    assert result.after == pytest.approx(np.mean(after))
    for share in [result.before, result.after, result.chance, *after]:
        assert f"{100 * share:.1f} %" in html


def test_the_gallery_holds_each_photo_once_by_reliability(tmp_path):
    result = make_result(PLAIN)
    gallery = page_of(result, tmp_path)
    rows, frame = photos_of(gallery), result.labels()
    folder = tmp_path / "new" / "page-thumbnails"
    assert f'"{folder.name}"' in gallery
    for name in PLAIN:
        mine = frame[frame["label"] == name].sort_values("reliability", ascending=False)
        assert [photo[1] for photo in rows[name]] == mine["id"].tolist()
        assert [photo[3] for photo in rows[name]] == mine["second"].tolist()
        places = dict(zip(frame["id"], range(len(frame)), strict=True))
        for file, path, _, _, _, truth, original in rows[name]:
            assert (folder / file).read_bytes() == result.items.jpegs[places[path]]
            assert truth == result.items.truth[places[path]]
            assert original is None  # the demo's photos are in no folder
    doubtful = int((frame["reliability"] < 0.5).sum())
    wrong = int((result.model.labels_ != result.items.truth).sum())
    text = " ".join(gallery.split())
    assert f"{doubtful} are doubtful" in text and f"{wrong} are wrong" in text


def test_a_gallery_says_how_names_were_read(tmp_path):
    frame = label_table(["cat"], ids=["a.jpg"])
    where = tmp_path / "a.html"
    page = write_gallery(frame, where, thumbnails=lambda row: JPEG)
    assert "<details>" not in page.read_text()
    told = [("cat", "close", "7 classes"), (HOSTILE[0], "unknown", "no noun")]
    write_gallery(frame, where, thumbnails=lambda row: JPEG, readings=told)
    html = page.read_text()
    assert "<dt>cat</dt><dd>close: 7 classes</dd>" in html
    assert "unknown: no noun" in html and HOSTILE[0] not in html


@pytest.mark.parametrize("where", [".", "pages", "deep/er pages", "photos #1"])
def test_every_photo_is_linked_where_it_is_seen_from_the_page(tmp_path, where):
    names = ['a/50% "#1"?.jpg', "b:c.jpg", "é/<b>&amp;.png", "javascript:alert(1).gif"]
    names.append("caf\udce9.jpg")  # no text
    frame = label_table(["cat"] * len(names), ids=names)
    page = write_gallery(
        frame,
        tmp_path / where / "labels.html",
        thumbnails=lambda row: JPEG,
        originals=tmp_path / "photos #1",
    )
    data = json.loads(page.read_text().split('id="data">')[1].split("</script>")[0])
    ((_, photos),) = data["rows"]
    assert [photo[1] for photo in photos] == [*names[:4], "caf\\udce9.jpg"]
    for name, photo in zip(names, photos, strict=True):
        address = data["originals"] + photo[6]
        assert not urlsplit(address).scheme and "<" not in address
        joined = urljoin(page.as_uri(), address)
        assert joined == (tmp_path / "photos #1" / name).as_uri()


def test_a_users_folder_is_never_taken_for_thumbnails(tmp_path):
    """Not even one whose name is that which the page would take."""
    frame = label_table(["cat"], ids=["a.jpg"])
    where = tmp_path / f"{'long' * 60}.html"  # as long as names can be, almost
    write_gallery(frame, where, thumbnails=lambda row: JPEG)
    (ours,) = tmp_path.glob("*-thumbnails")
    (ours / MARK).unlink()
    (ours / "00000.jpg").write_bytes(b"an original")
    with pytest.raises(FileExistsError, match="already exists"):
        write_gallery(frame, where, thumbnails=lambda row: JPEG)
    assert (ours / "00000.jpg").read_bytes() == b"an original"
