"""What other programs read, each written by one function.

A writer makes its files in a draft folder, which becomes ``target``; photos are put
where the format's ``place`` says.
"""

import json
import warnings
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from unseen.exporting.placing import safe_names
from unseen.labels import csv_lines
from unseen.loading.frames import pyarrow
from unseen.photos.photo import open_file


class Row(NamedTuple):
    """A photo or text with its label."""

    id: str
    label: str
    code: int  # of the label
    reliability: float | None
    given: bool  # by a person
    text: str
    source: Path | None  # of a photo
    file: str  # a safe name for it, no two alike

    def rated(self, key: str) -> dict[str, float]:
        """Return the reliability under a key; nothing where it is unknown."""
        return {} if self.reliability is None else {key: self.reliability}


class Selected(NamedTuple):
    """What is exported."""

    rows: list[Row]
    classes: list[str]
    left_out: dict[str, int]  # how many rows do not go, by reason

    @property
    def are_photos(self) -> bool:
        """Whether photos are exported, not texts."""
        return self.rows[0].source is not None


class Format(NamedTuple):
    """How labels are written, where photos go (None: nowhere), whether texts may."""

    write: Callable[[Selected, Path, Path], None]
    place: Callable[[Selected], list[str]] | None
    takes_texts: bool = False


def below(folder: str) -> Callable[[Selected], list[str]]:
    """Put all photos into one folder."""
    return lambda chosen: [f"{folder}/{row.file}" for row in chosen.rows]


def by_class(chosen: Selected) -> list[str]:
    """Put photos into folders by class: ``zebra/a.jpg``."""
    folders = safe_names((name, "") for name in chosen.classes)
    return [f"{folders[row.code]}/{row.file}" for row in chosen.rows]


def write_imagefolder(chosen: Selected, draft: Path, target: Path) -> None:
    """Hugging Face's imagefolder: ``train/`` with a ``metadata.csv``."""
    (draft / "train").mkdir()
    lines = [("file_name", "label", "reliability", "original")]
    for row in chosen.rows:
        sure = "" if row.reliability is None else f"{row.reliability:.4f}"
        lines.append((row.file, row.label, sure, plain(row.id)))
    write_text(draft / "train" / "metadata.csv", "".join(csv_lines(lines)))


def write_coco(chosen: Selected, draft: Path, target: Path) -> None:
    """COCO: ``images/`` and ``annotations.json``, a box around every whole photo."""
    images, notes = [], []
    for i, row in enumerate(chosen.rows, 1):
        width, height = size_of(row.source)
        images.append(
            {"id": i, "file_name": row.file, "width": width, "height": height}
        )
        note = {
            "id": i,
            "image_id": i,
            "category_id": row.code + 1,
            "bbox": [0, 0, width, height],
            "area": width * height,
            "iscrowd": 0,
        }
        notes.append(note | row.rated("score"))
    whole = {
        "info": {"description": "Labels of whole photos, by unseen"},
        "licenses": [],
        "images": images,
        "annotations": notes,
        "categories": [
            {"id": code, "name": name, "supercategory": ""}
            for code, name in enumerate(chosen.classes, 1)
        ],
    }
    write_json(draft / "annotations.json", whole)


def write_fiftyone(chosen: Selected, draft: Path, target: Path) -> None:
    """FiftyOneImageClassificationDataset: ``data/`` and ``labels.json``."""
    labels = {}
    for row in chosen.rows:
        labels[Path(row.file).stem] = {"label": row.code} | row.rated("confidence")
    write_json(draft / "labels.json", {"classes": chosen.classes, "labels": labels})


XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:lr="http://ns.adobe.com/lightroom/1.0/">
   <dc:subject><rdf:Bag><rdf:li>{name}</rdf:li></rdf:Bag></dc:subject>
   <lr:hierarchicalSubject><rdf:Bag><rdf:li>unseen|{level}</rdf:li></rdf:Bag>
   </lr:hierarchicalSubject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""


def write_xmp(chosen: Selected, draft: Path, target: Path) -> None:
    """XMP keywords beside the photos' names, in folders like theirs: ``a.jpg.xmp``."""
    for row in chosen.rows:
        path = draft / f"{PurePosixPath(row.id)}.xmp"
        path.parent.mkdir(parents=True, exist_ok=True)
        printable = "".join(char if char.isprintable() else " " for char in row.label)
        keyword = escape(printable)
        write_text(path, XMP.format(name=keyword, level=keyword.replace("|", "/")))


def write_parquet(chosen: Selected, draft: Path, target: Path) -> None:
    """Hugging Face data sets: one file, ``data/train-….parquet``.

    The schema carries what ``datasets`` calls features, so that labels come back as
    names.
    """
    pa, pq = pyarrow("Writing parquet")
    item = "image" if chosen.are_photos else "text"
    picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns = {
        item: picture if chosen.are_photos else pa.string(),
        "label": pa.int64(),
        "reliability": pa.float64(),
        "id": pa.string(),
    }
    text = {"dtype": "string", "_type": "Value"}
    features = {
        item: {"_type": "Image"} if chosen.are_photos else text,
        "label": {"names": chosen.classes, "_type": "ClassLabel"},
        "reliability": {"dtype": "float64", "_type": "Value"},
        "id": text,
    }
    described = {"huggingface": json.dumps({"info": {"features": features}})}
    schema = pa.schema(list(columns.items()), metadata=described)

    def fields(row: Row) -> dict[str, Any]:
        content: Any = row.text
        if row.source is not None:
            content = {"bytes": row.source.read_bytes(), "path": row.file}
        known = {"label": row.code, "reliability": row.reliability, "id": plain(row.id)}
        return {item: content, **known}

    (draft / "data").mkdir()
    path = draft / "data" / "train-00000-of-00001.parquet"
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, len(chosen.rows), 100):
            rows = [fields(row) for row in chosen.rows[start : start + 100]]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


CONFIG = """<View>
  <{kind} name="item" value="${item}"/>
  <Choices name="label" toName="item" choice="single">
{choices}
  </Choices>
</View>
"""


def write_tasks(chosen: Selected, draft: Path, target: Path) -> None:
    """Label Studio: ``tasks.json``, ``config.xml`` and ``images/``.

    What a person said becomes an annotation, what the model said a prediction.
    """
    write_json(draft / "tasks.json", [task(row, target) for row in chosen.rows])
    choices = "\n".join(f"    <Choice value={quoteattr(n)}/>" for n in chosen.classes)
    kind = "Image" if chosen.are_photos else "Text"
    text = CONFIG.format(kind=kind, item=kind.lower(), choices=choices)
    write_text(draft / "config.xml", text)


def task(row: Row, target: Path) -> dict[str, Any]:
    """Return one task; photos are found by Label Studio's local files."""
    result = {
        "from_name": "label",
        "to_name": "item",
        "type": "choices",
        "value": {"choices": [row.label]},
    }
    data = {"id": plain(row.id)}
    if row.source is None:
        data["text"] = row.text
    else:
        # Below LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT, the folder above the target.
        place = quote(f"{target.name}/images/{row.file}")
        data["image"] = f"/data/local-files/?d={place}"
    if row.given:
        return {"data": data, "annotations": [{"result": [result]}]}
    prediction = {"model_version": "unseen", "result": [result], **row.rated("score")}
    return {"data": data, "predictions": [prediction]}


FORMATS = {
    "folders": Format(lambda *_: None, by_class),  # the folders say it all
    "imagefolder": Format(write_imagefolder, below("train")),
    "hf": Format(write_parquet, None, takes_texts=True),
    "coco": Format(write_coco, below("images")),
    "label-studio": Format(write_tasks, below("images"), takes_texts=True),
    "fiftyone": Format(write_fiftyone, below("data")),
    "xmp": Format(write_xmp, None),
}


def size_of(path: Any) -> tuple[int, int]:
    """Return width and height of a photo as it is shown, upright."""
    try:
        with warnings.catch_warnings(action="ignore"):  # doubtful metadata
            picture = open_file(path)
            width, height = picture.size
            sideways = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
    except Exception as error:  # readers raise whatever they stumble over
        raise ValueError(
            f"{path}: its size cannot be read ({error}). Leave it out of the table, or "
            "take a format that needs no sizes."
        ) from error
    return (height, width) if sideways else (width, height)


def write_json(path: Path, content: object) -> None:
    """Write JSON to a file that is not there yet."""
    write_text(path, json.dumps(content, indent=1))


def write_text(path: Path, text: str) -> None:
    """Write text to a file that is not there yet."""
    with open(path, "xb") as file:
        file.write(text.encode())


def plain(text: str) -> str:
    """Return text that can be written as UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()
