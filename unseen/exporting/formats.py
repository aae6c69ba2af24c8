"""What other programs read, each written by one function.

A writer makes its files in a draft folder, which becomes ``target``; photos are put
where the format's ``place`` says.
"""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from unseen._command import needs_extra
from unseen.exporting.placing import safe_names
from unseen.photos.photo import KINDS

__all__ = ["FORMATS", "Selected"]

SHARD = 1_000  # rows of a parquet file


@dataclass(frozen=True)
class Selected:
    """What is exported, row by row.

    Attributes
    ----------
    ids, labels : list of str
    reliability : list of float or None
    given : list of bool
        Whether a person said so.
    sources : list of Path
        Photos; empty for texts.
    texts : list of str
        Texts; empty for photos.
    files : list of str
        A safe name for each photo, none twice.
    classes : list of str
    left_out : dict
        How many rows do not go, by reason.
    """

    ids: list[str]
    labels: list[str]
    reliability: list[float | None]
    given: list[bool]
    sources: list[Path]
    texts: list[str]
    files: list[str]
    classes: list[str]
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def codes(self) -> list[int]:
        """Return the number of every row's class."""
        code = {name: number for number, name in enumerate(self.classes)}
        return [code[name] for name in self.labels]


class Format(NamedTuple):
    """How labels are written, where photos go (None: nowhere), whether texts may."""

    write: Callable[[Selected, Path, Path], None]
    place: Callable[[Selected], list[str]] | None
    takes_texts: bool = False


def below(folder: str) -> Callable[[Selected], list[str]]:
    """Put all photos into one folder."""
    return lambda chosen: [f"{folder}/{file}" for file in chosen.files]


def by_class(chosen: Selected) -> list[str]:
    """Put photos into folders by class: ``zebra/a.jpg``."""
    folders = safe_names((name, "") for name in chosen.classes)
    pairs = zip(chosen.codes, chosen.files, strict=True)
    return [f"{folders[code]}/{file}" for code, file in pairs]


def write_nothing(chosen: Selected, draft: Path, target: Path) -> None:
    """Write nothing: the folders say it all."""


def write_imagefolder(chosen: Selected, draft: Path, target: Path) -> None:
    """Hugging Face's imagefolder: ``train/`` with a ``metadata.csv``."""
    (draft / "train").mkdir()
    with open(draft / "train" / "metadata.csv", "x", newline="", encoding="utf-8") as f:
        lines = csv.writer(f)
        lines.writerow(["file_name", "label", "reliability", "original"])
        for i, file in enumerate(chosen.files):
            sure = chosen.reliability[i]
            confidence = "" if sure is None else f"{sure:.4f}"
            lines.writerow([file, chosen.labels[i], confidence, plain(chosen.ids[i])])


def write_coco(chosen: Selected, draft: Path, target: Path) -> None:
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


def write_fiftyone(chosen: Selected, draft: Path, target: Path) -> None:
    """FiftyOneImageClassificationDataset: ``data/`` and ``labels.json``."""
    labels = {}
    for i, (file, code) in enumerate(zip(chosen.files, chosen.codes, strict=True)):
        entry: dict[str, object] = {"label": code}
        if chosen.reliability[i] is not None:
            entry["confidence"] = chosen.reliability[i]
        labels[Path(file).stem if Path(file).suffix else file] = entry
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
    for name, label in zip(chosen.ids, chosen.labels, strict=True):
        path = draft / f"{PurePosixPath(name)}.xmp"
        path.parent.mkdir(parents=True, exist_ok=True)
        printable = "".join(char if char.isprintable() else " " for char in label)
        keyword = escape(printable)
        text = XMP.format(name=keyword, level=keyword.replace("|", "/"))
        with open(path, "xb") as file:
            file.write(text.encode())


CARD = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*.parquet
---
{n} {items} in {k} classes, labelled by unseen. `reliability` says how far to trust a
label, from 0 to 1.
"""


def write_parquet(chosen: Selected, draft: Path, target: Path) -> None:
    """Hugging Face data sets: ``data/train-….parquet`` and ``README.md``.

    The schema carries what ``datasets`` calls features, so that labels come back as
    names.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise needs_extra("pyarrow", "files", "Writing parquet") from None
    photos, codes = bool(chosen.sources), chosen.codes
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns = {
        "image" if photos else "text": kind if photos else pa.string(),
        "label": pa.int64(),
        "reliability": pa.float64(),
        "id": pa.string(),
    }
    features: dict[str, Any] = {
        name: {"dtype": str(dtype).replace("double", "float64"), "_type": "Value"}
        for name, dtype in columns.items()
    }
    features["label"] = {"names": chosen.classes, "_type": "ClassLabel"}
    if photos:
        features["image"] = {"_type": "Image"}
    described = {"huggingface": json.dumps({"info": {"features": features}})}
    schema = pa.schema(list(columns.items()), metadata=described)

    def row(i: int) -> dict[str, Any]:
        fields = {
            "label": codes[i],
            "reliability": chosen.reliability[i],
            "id": plain(chosen.ids[i]),
        }
        if not photos:
            return {"text": chosen.texts[i], **fields}
        content = chosen.sources[i].read_bytes()
        return {"image": {"bytes": content, "path": chosen.files[i]}, **fields}

    (draft / "data").mkdir()
    n_files = -(-len(chosen) // SHARD)
    for number in range(n_files):
        rows = range(number * SHARD, min(len(chosen), (number + 1) * SHARD))
        table = pa.Table.from_pylist([row(i) for i in rows], schema=schema)
        name = f"train-{number:05d}-of-{n_files:05d}.parquet"
        pq.write_table(table, draft / "data" / name, row_group_size=100)
    items = "photos" if photos else "texts"
    card = CARD.format(n=len(chosen), items=items, k=len(chosen.classes))
    write_text(draft / "README.md", card)


CONFIG = """<View>
  {shown}
  <Choices name="label" toName="item" choice="single">
{choices}
  </Choices>
</View>
"""
PHOTO = '<Image name="item" value="$image"/>'
TEXT = '<Text name="item" value="$text"/>'


def write_tasks(chosen: Selected, draft: Path, target: Path) -> None:
    """Label Studio: ``tasks.json``, ``config.xml`` and ``images/``.

    What a person said becomes an annotation, what the model said a prediction.
    """
    tasks = [task(chosen, i, target) for i in range(len(chosen))]
    write_json(draft / "tasks.json", tasks)
    choices = "\n".join(f"    <Choice value={quoteattr(n)}/>" for n in chosen.classes)
    shown = PHOTO if chosen.sources else TEXT
    write_text(draft / "config.xml", CONFIG.format(shown=shown, choices=choices))


def task(chosen: Selected, i: int, target: Path) -> dict[str, Any]:
    """Return one task; photos are found by Label Studio's local files."""
    result = {
        "from_name": "label",
        "to_name": "item",
        "type": "choices",
        "value": {"choices": [chosen.labels[i]]},
    }
    if chosen.sources:
        # Below LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT, the folder above the target.
        place = quote(f"{target.name}/images/{chosen.files[i]}")
        data = {"image": f"/data/local-files/?d={place}"}
    else:
        data = {"text": chosen.texts[i]}
    data["id"] = plain(chosen.ids[i])
    if chosen.given[i]:
        return {"data": data, "annotations": [{"result": [result]}]}
    prediction: dict[str, Any] = {"model_version": "unseen", "result": [result]}
    if chosen.reliability[i] is not None:
        prediction["score"] = chosen.reliability[i]
    return {"data": data, "predictions": [prediction]}


FORMATS = {
    "folders": Format(write_nothing, by_class),
    "imagefolder": Format(write_imagefolder, below("train")),
    "hf": Format(write_parquet, None, takes_texts=True),
    "coco": Format(write_coco, below("images")),
    "label-studio": Format(write_tasks, below("images"), takes_texts=True),
    "fiftyone": Format(write_fiftyone, below("data")),
    "xmp": Format(write_xmp, None),
}


def size_of(path: Path) -> tuple[int, int]:
    """Return width and height of a photo as it is shown, upright."""
    from PIL import Image

    try:
        with warnings.catch_warnings(), Image.open(path, formats=KINDS) as picture:
            warnings.simplefilter("ignore")
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
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)


def plain(text: str) -> str:
    """Return text that can be written as UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()
