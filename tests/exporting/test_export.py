"""Exports: what other programs read is what was labelled, and nothing is lost."""

import gc
import json
import os
import time
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from unseen.cli import app
from unseen.exporting.export import plan_export
from unseen.exporting.placing import safe_name, safe_names
from unseen.labels import label_table, write_labels
from unseen.review.origins import Origin, note_origin

IDS = ["a.jpg", "zoo/a.JPG", "zoo/b.png", "c.jpg", "d.jpg", "e <1>.jpg"]
LABELS = ["cat", "cat", "AC/DC: live", "..", "", "cat"]
SURE = [0.9, 0.5, 0.95, 0.8, 0.9, np.nan]


@pytest.fixture
def home(tmp_path):
    for i, name in enumerate(IDS):
        path = tmp_path / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = "PNG" if name.endswith("png") else "JPEG"
        Image.new("RGB", (10 + i, 20), (40 * i, 0, 90)).save(path, kind)
    table = label_table(LABELS, ids=IDS, reliability=SURE)
    write_labels(table, tmp_path / "labels.csv")
    return tmp_path


def plan(home, to, **options):
    options.setdefault("photos", home / "photos")
    return plan_export(home / "labels.csv", to, home / "out", **options)


def files(folder):
    found = [path for path in folder.rglob("*") if not path.is_dir()]
    return sorted(path.relative_to(folder).as_posix() for path in found)


def contents(home):
    return {name: (home / "photos" / name).read_bytes() for name in IDS}


def test_folders_by_class_with_safe_names(home):
    before = contents(home)
    plan(home, "folders").run()
    assert files(home / "out") == [
        "AC_DC_ live/b.png",
        "_/c.jpg",
        "cat/a (2).jpg",
        "cat/a.jpg",
        "cat/e _1_.jpg",
    ]
    assert (home / "out/cat/a (2).jpg").read_bytes() == before["zoo/a.JPG"]
    assert contents(home) == before


@pytest.mark.parametrize(
    ("options", "rows", "why"),
    [
        ({}, [0, 1, 2, 3, 5], "have no label"),
        ({"min_reliability": 0.5}, [0, 1, 2, 3], "are less reliable than 0.5"),
        ({"min_reliability": 0.96}, [3], "are less reliable than 0.96"),
        ({"sure": True}, [0, 2], "are not sure (see unseen review, Check)"),
    ],
)
def test_which_labels_go(home, options, rows, why):
    """A label that a person gave goes whatever its reliability."""
    sure = ["yes", "look", "yes", "look", "none of these", "look"]
    given = ["", "", "", "yes" if options else "", "", ""]
    more = {"reliability": SURE, "sure": sure, "given": given}
    write_labels(label_table(LABELS, ids=IDS, **more), home / "labels.csv")
    chosen = plan(home, "folders", **options).chosen
    assert [row.id for row in chosen.rows] == [IDS[row] for row in rows]
    assert chosen.left_out.pop("have no label") == 1
    assert list(chosen.left_out.items()) == [(why, 5 - len(rows))][: len(options)]


def test_what_nobody_checked_is_not_sure(home):
    with pytest.raises(ValueError, match=r"nothing is left.*5 are not sure"):
        plan(home, "folders", sure=True)


@pytest.mark.parametrize("how", ["copy", "hardlink", "symlink"])
def test_photos_stay_where_they_are(home, how):
    before = contents(home)
    os.utime(home / "photos/a.jpg", (10**9, 10**9))
    plan(home, "folders", how=how).run()
    assert contents(home) == before
    made = home / "out/cat/a.jpg"
    assert made.stat().st_mtime == 10**9
    assert made.read_bytes() == before["a.jpg"]
    assert made.is_symlink() == (how == "symlink")
    assert made.samefile(home / "photos/a.jpg") == (how != "copy")


@pytest.mark.parametrize("where", ["out", "out/mine.txt"])
def test_nothing_is_written_over(home, where):
    (home / where).parent.mkdir(exist_ok=True)
    (home / where).write_text("mine")
    with pytest.raises(FileExistsError, match=r"such as .*out-2"):
        plan(home, "folders")
    for out in ("photos", "photos/sorted", "."):
        with pytest.raises(FileExistsError):
            plan_export(home / "labels.csv", "folders", home / out,
                        photos=home / "photos")  # fmt: skip


@pytest.mark.parametrize(("to", "how"), [("folders", "symlink"), ("hf", "copy")])
def test_a_table_from_elsewhere_packs_no_secrets(home, monkeypatch, to, how):
    """Run in the home folder, with ids of what should never leave it."""
    secret = b"-----BEGIN OPENSSH PRIVATE KEY-----"
    (home / ".ssh").mkdir()
    photo = (home / "photos/a.jpg").read_bytes()
    files = {".ssh/id_rsa": secret, ".bashrc": b"alias", "key.jpg": secret,
             ".ssh/me.jpg": photo, "notes.txt": b"dear diary"}  # fmt: skip
    for name, content in files.items():
        (home / name).write_bytes(content)
    (home / "link.jpg").symlink_to("/etc/passwd")
    ids = [*files, "link.jpg", "../a.jpg", str(home / "photos/a.jpg"), "photos/a.jpg"]
    write_labels(label_table(["cat"] * len(ids), ids=ids), home / "sent.csv")
    monkeypatch.chdir(home)
    options = ["export", "sent.csv", "--to", to, "--how", how, "--yes", "--out"]
    ended = CliRunner().invoke(app, [*options, "out"])
    assert ended.exit_code == 2 and "Give their folder: --photos" in ended.stderr
    assert not (home / "out").exists()
    other = home / "elsewhere"
    (other / "photos").mkdir(parents=True)
    for name in [*files, "photos/a.jpg"]:
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).write_bytes(files.get(name, photo))
    ended = CliRunner().invoke(app, [*options, "out", "--photos", "elsewhere"])
    assert ended.exit_code == 0 and "8 are not pictures in elsewhere" in ended.stdout
    assert "such as" in ended.stdout and "photos/a.jpg -> " in ended.stdout
    written = [
        path.read_bytes() for path in (home / "out").rglob("*") if path.is_file()
    ]
    assert not any(b"PRIVATE KEY" in content for content in written)
    assert all((other / name).read_bytes() == files[name] for name in files)


@pytest.mark.parametrize(("to", "how"), [("xmp", "copy"), ("coco", "copy")])
def test_two_ids_of_one_photo_are_exported_once(home, to, how):
    table = label_table(["cat", "dog"], ids=["a.jpg", "./a.jpg"])
    write_labels(table, home / "labels.csv")
    todo = plan(home, to, how=how)
    assert [(row.id, row.label) for row in todo.chosen.rows] == [("a.jpg", "cat")]
    assert todo.chosen.left_out == {"lead to the photo of another row": 1}
    todo.run()


def test_a_photo_of_absurd_size_is_named_in_a_line(home, monkeypatch):
    photo = (home / "photos/zoo/b.png").read_bytes()
    chunk = b"IHDR" + (2**20).to_bytes(4, "big") * 2 + photo[24:29]
    bomb = photo[:12] + chunk + zlib.crc32(chunk).to_bytes(4, "big") + photo[33:]
    (home / "photos/zoo/b.png").write_bytes(bomb)
    monkeypatch.chdir(home)
    options = ["export", "labels.csv", "--to", "coco", "--photos", "photos", "--yes"]
    ended = CliRunner().invoke(app, options)
    assert ended.exit_code == 2 and "b.png: its size cannot be read" in ended.stderr
    assert not (home / "unseen-export").exists()


def test_many_photos_of_one_name_take_linear_time():
    began = time.process_time()
    found = safe_names([("IMG", ".jpg")] * 20_000)
    assert len(set(found)) == 20_000 and found[-1] == "IMG (20000).jpg"
    assert time.process_time() - began < 2  # 100 s where every number is tried


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("cat", "cat"),
        ("..", "_"),
        (".hidden", "_.hidden"),
        ("-rf", "_-rf"),
        ("a/b\\c", "a_b_c"),
        ("nul", "_nul"),
        ("COM1.x", "_COM1.x"),
        ("COM¹", "_COM¹"),
        ("console", "console"),
        ("a. ", "a"),
        ("", "_"),
        ("\u202egnp.exe", "_gnp.exe"),
        ("é" * 200, "é" * 60),
        ("caf\udce9", "caf_"),
    ],
)
def test_names_are_made_safe(name, safe):
    assert safe_name(name) == safe


# ---- read by the programs themselves -------------------------------------------


@pytest.fixture
def datasets(monkeypatch):
    """The library, which may not look for anything elsewhere."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    yield pytest.importorskip("datasets")
    gc.collect()  # files that it leaves open are closed here, not in the next test


@pytest.mark.filterwarnings("ignore")  # files that datasets leaves open
def test_imagefolder_is_read_by_datasets(home, datasets):
    plan(home, "imagefolder").run()
    read = datasets.load_dataset(
        "imagefolder", data_dir=str(home / "out"), cache_dir=str(home / "hf")
    )["train"]
    assert sorted(read["label"]) == sorted(label for label in LABELS if label)
    sizes = {row["original"]: row["image"].size for row in read}
    assert sizes["zoo/b.png"] == (12, 20)


def test_hf_is_plain_parquet(home):
    parquet = pytest.importorskip("pyarrow.parquet")
    plan(home, "hf").run()
    (path,) = (home / "out/data").iterdir()
    table = parquet.read_table(path)
    told = json.loads(table.schema.metadata[b"huggingface"])
    names = told["info"]["features"]["label"]["names"]
    labels = [names[code] for code in table["label"].to_pylist()]
    assert labels == [label for label in LABELS if label]
    image = table["image"].to_pylist()[0]
    assert image["bytes"] == (home / "photos/a.jpg").read_bytes()


def test_coco_is_read_by_pycocotools(home, capsys):
    coco = pytest.importorskip("pycocotools.coco")
    plan(home, "coco").run()
    read = coco.COCO(str(home / "out/annotations.json"))
    (cat,) = read.getCatIds(catNms=["cat"])
    images = read.loadImgs(read.getImgIds(catIds=[cat]))
    names = {one["file_name"] for one in images}
    assert names == {"a.jpg", "a (2).jpg", "e _1_.jpg"}
    for one in images:
        with Image.open(home / "out/images" / one["file_name"]) as picture:
            assert picture.size == (one["width"], one["height"])


def test_label_studio_knows_the_tasks(home):
    sdk = pytest.importorskip("label_studio_sdk.label_interface")
    table = label_table(LABELS, ids=IDS, reliability=SURE, given=["yes"] + [""] * 5)
    write_labels(table, home / "labels.csv")
    plan(home, "label-studio").run()
    interface = sdk.LabelInterface((home / "out/config.xml").read_text())
    interface.validate()
    tasks = json.loads((home / "out/tasks.json").read_text())
    assert len(tasks) == 5 and tasks[0]["annotations"] and "predictions" in tasks[1]
    for task in tasks:
        assert interface.validate_task({"data": task["data"]})
        for one in task.get("annotations", []):
            assert interface.validate_annotation(one)
        for one in task.get("predictions", []):
            assert interface.validate_prediction(one)
    wrong = {"result": [tasks[0]["annotations"][0]["result"][0] | {"to_name": "x"}]}
    assert not interface.validate_annotation(wrong)  # it does look


def test_fiftyone_finds_label_and_confidence_by_the_stem(home):
    """As its importer reads it: classes[label], keys are names without endings."""
    plan(home, "fiftyone").run()
    told = json.loads((home / "out/labels.json").read_text())
    stems = {path.stem: path for path in (home / "out/data").iterdir()}
    assert stems.keys() == told["labels"].keys()
    assert told["classes"][told["labels"]["b"]["label"]] == "AC/DC: live"
    assert told["labels"]["b"]["confidence"] == 0.95
    assert "confidence" not in told["labels"]["e _1_"]


def test_xmp_holds_the_keyword(home):
    labels = ["cat", "<b>&]]>", "a|b", "", "", ""]
    table = label_table(labels, ids=IDS, reliability=SURE)
    write_labels(table, home / "labels.csv")
    plan(home, "xmp").run()
    assert files(home / "out") == ["a.jpg.xmp", "zoo/a.JPG.xmp", "zoo/b.png.xmp"]
    rdf = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
    subject = "{http://purl.org/dc/elements/1.1/}subject"
    for name, label in zip(IDS[:3], labels, strict=False):
        tree = ET.parse(home / "out" / f"{name}.xmp")
        (bag,) = tree.iter(subject)
        assert [one.text for one in bag.iter(f"{rdf}li")] == [label]


def test_texts_go_where_texts_are_read(home):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = label_table(["good", "bad"], text=["fine & dandy", "<b>no</b>"])
    write_labels(table, home / "labels.csv")
    plan_export(home / "labels.csv", "hf", home / "out").run()
    (path,) = (home / "out/data").iterdir()
    assert parquet.read_table(path)["text"].to_pylist()[1] == "<b>no</b>"
    plan_export(home / "labels.csv", "label-studio", home / "tasks").run()
    tasks = json.loads((home / "tasks/tasks.json").read_text())
    assert tasks[0]["data"]["text"] == "fine & dandy"
    with pytest.raises(ValueError, match="is about texts, and coco is for photos"):
        plan_export(home / "labels.csv", "coco", home / "coco")


def test_the_corrected_table_of_a_review_finds_its_photos(home):
    note_origin(home / "labels.csv", Origin("photos", str(home / "photos")))
    reviewed = home / "labels.review" / "reviewed.csv"
    write_labels(label_table(["dog"], ids=["a.jpg"]), reviewed)
    plan_export(reviewed, "folders", home / "out").run()
    assert files(home / "out") == ["dog/a.jpg"]


# ---- the command ---------------------------------------------------------------


def test_the_command_says_first_and_does_then(home, monkeypatch):
    monkeypatch.chdir(home)
    monkeypatch.setenv("UNSEEN_CACHE", "labels.csv/cache")  # where none can be made
    with pytest.warns(UserWarning, match=r"labels.csv is written, but where it came"):
        note_origin("labels.csv", Origin("photos", "photos"))
    options = ["export", "labels.csv", "--to", "folders", "--photos", "photos"]
    said = CliRunner().invoke(app, options)
    assert said.exit_code == 0, said.output
    assert "5 photos, copied, in 3 classes" in said.stdout
    assert "1 have no label and stay" in said.stdout
    assert "zoo/a.JPG -> cat/a (2).jpg" in said.stdout
    assert said.stdout.endswith("Nothing is written yet: add --yes to do it.\n")
    assert not (home / "unseen-export").exists()
    done = CliRunner().invoke(app, [*options, "--yes"])
    assert done.exit_code == 0 and len(files(home / "unseen-export")) == 5
    again = CliRunner().invoke(app, [*options, "--yes"])
    assert again.exit_code == 2 and "already exists" in again.stderr
    for bad in (["--to", "zip"], ["--to", "hf", "--how", "symlink"]):
        wrong = CliRunner().invoke(app, [*options, *bad, "--out", "x"])
        assert wrong.exit_code == 2 and wrong.stderr.startswith("unseen: ")
