"""What other programs read, each written by one function.

A writer makes its files in a draft folder and returns where each photo belongs in it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

from unseen.exporting.names import safe_names
from unseen.exporting.parquet import write_parquet
from unseen.exporting.selecting import Selected
from unseen.exporting.tasks import write_tasks

__all__ = ["FORMATS", "TEXT_FORMATS", "WITHOUT_PHOTOS"]

Writer = Callable[[Selected, Path, Path], list[str]]


def write_folders(chosen: Selected, draft: Path, target: Path) -> list[str]:
    """Folders by class: ``zebra/a.jpg``."""
    folders = safe_names((name, "") for name in chosen.classes)
    return [
        f"{folders[code]}/{file}"
        for code, file in zip(chosen.codes, chosen.files, strict=True)
    ]


def write_imagefolder(chosen: Selected, draft: Path, target: Path) -> list[str]:
    """Hugging Face's imagefolder: ``train/`` with a ``metadata.csv``."""
    (draft / "train").mkdir()
    with open(draft / "train" / "metadata.csv", "x", newline="", encoding="utf-8") as f:
        lines = csv.writer(f)
        lines.writerow(["file_name", "label", "reliability", "original"])
        for i, file in enumerate(chosen.files):
            sure = chosen.reliability[i]
            confidence = "" if sure is None else f"{sure:.4f}"
            lines.writerow([file, chosen.labels[i], confidence, plain(chosen.ids[i])])
    return [f"train/{file}" for file in chosen.files]


def write_coco(chosen: Selected, draft: Path, target: Path) -> list[str]:
    """COCO: ``images/`` and ``annotations.json``, a box around every whole photo."""
    images, notes = [], []
    for i, (file, code) in enumerate(zip(chosen.files, chosen.codes, strict=True), 1):
        width, height = size_of(chosen.sources[i - 1])
        images.append({"id": i, "file_name": file, "width": width, "height": height})
        note = {
            "id": i,
            "image_id": i,
            "category_id": code + 1,
            "bbox": [0, 0, width, height],
            "area": width * height,
            "iscrowd": 0,
            "score": chosen.reliability[i - 1],
        }
        notes.append({key: value for key, value in note.items() if value is not None})
    categories = [
        {"id": code, "name": name, "supercategory": ""}
        for code, name in enumerate(chosen.classes, 1)
    ]
    whole = {
        "info": {"description": "Labels of whole photos, by unseen"},
        "licenses": [],
        "images": images,
        "annotations": notes,
        "categories": categories,
    }
    write_json(draft / "annotations.json", whole)
    return [f"images/{file}" for file in chosen.files]


def write_fiftyone(chosen: Selected, draft: Path, target: Path) -> list[str]:
    """FiftyOneImageClassificationDataset: ``data/`` and ``labels.json``."""
    labels = {}
    for i, (file, code) in enumerate(zip(chosen.files, chosen.codes, strict=True)):
        entry: dict[str, object] = {"label": code}
        if chosen.reliability[i] is not None:
            entry["confidence"] = chosen.reliability[i]
        labels[Path(file).stem if Path(file).suffix else file] = entry
    write_json(draft / "labels.json", {"classes": chosen.classes, "labels": labels})
    return [f"data/{file}" for file in chosen.files]


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


def write_xmp(chosen: Selected, draft: Path, target: Path) -> list[str]:
    """XMP keywords beside the photos' names, in folders like theirs: ``a.jpg.xmp``."""
    for name, label in zip(chosen.ids, chosen.labels, strict=True):
        path = draft / f"{name}.xmp"
        path.parent.mkdir(parents=True, exist_ok=True)
        keyword = escape(without_controls(label))
        text = XMP.format(name=keyword, level=keyword.replace("|", "/"))
        with open(path, "xb") as file:
            file.write(text.encode())
    return []


FORMATS: dict[str, Writer] = {
    "folders": write_folders,
    "imagefolder": write_imagefolder,
    "hf": write_parquet,
    "coco": write_coco,
    "label-studio": write_tasks,
    "fiftyone": write_fiftyone,
    "xmp": write_xmp,
}
TEXT_FORMATS = {"hf", "label-studio"}
WITHOUT_PHOTOS = {"xmp", "hf"}  # no photo has a file of its own there


def size_of(path: Path) -> tuple[int, int]:
    """Return width and height of a photo as it is shown, upright."""
    from PIL import Image

    with Image.open(path) as picture:
        width, height = picture.size
        turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
    return (height, width) if turned else (width, height)


def write_json(path: Path, content: object) -> None:
    """Write JSON to a file that is not there yet."""
    with open(path, "x", encoding="utf-8") as file:
        json.dump(content, file, indent=1)


def plain(text: str) -> str:
    """Return text that can be written as UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def without_controls(text: str) -> str:
    """Return text that XML can hold."""
    return "".join(char if char.isprintable() else " " for char in text)
