"""Hugging Face data sets: parquet with the photos inside, and a card.

The schema carries what ``datasets`` calls features, so that labels come back as names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unseen._command import needs_extra
from unseen.exporting.selecting import Selected

__all__ = ["write_parquet"]

SHARD = 1_000  # rows of a file
CARD = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*.parquet
---
{n} {things} in {k} classes, labelled by unseen. `reliability` says how far to trust a
label, from 0 to 1.
"""


def write_parquet(chosen: Selected, draft: Path, target: Path) -> list[str]:
    """Write ``data/train-….parquet`` and ``README.md``."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise needs_extra("pyarrow", "files", "Writing parquet") from None
    photos = bool(chosen.sources)
    picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    thing = ("image", picture) if photos else ("text", pa.string())
    fields = [
        pa.field(*thing),
        pa.field("label", pa.int64()),
        pa.field("reliability", pa.float64()),
        pa.field("id", pa.string()),
    ]
    schema = pa.schema(fields, metadata={"huggingface": json.dumps(features(chosen))})
    (draft / "data").mkdir()
    n_files = -(-len(chosen) // SHARD)
    for number in range(n_files):
        rows = range(number * SHARD, min(len(chosen), (number + 1) * SHARD))
        table = pa.Table.from_pylist([row(chosen, i) for i in rows], schema=schema)
        name = f"train-{number:05d}-of-{n_files:05d}.parquet"
        pq.write_table(table, draft / "data" / name, row_group_size=100)
    things = "photos" if photos else "texts"
    card = CARD.format(n=len(chosen), things=things, k=len(chosen.classes))
    with open(draft / "README.md", "x", encoding="utf-8") as file:
        file.write(card)
    return []


def features(chosen: Selected) -> dict[str, Any]:
    """Return what the columns are, as ``datasets`` writes it."""
    thing = {"image": {"_type": "Image"}}
    if not chosen.sources:
        thing = {"text": {"dtype": "string", "_type": "Value"}}
    return {
        "info": {
            "features": thing
            | {
                "label": {"names": chosen.classes, "_type": "ClassLabel"},
                "reliability": {"dtype": "float64", "_type": "Value"},
                "id": {"dtype": "string", "_type": "Value"},
            }
        }
    }


def row(chosen: Selected, i: int) -> dict[str, Any]:
    """Return one row, with the photo as it is on the disk."""
    name = chosen.ids[i].encode("utf-8", "backslashreplace").decode()
    fields = {
        "label": chosen.classes.index(chosen.labels[i]),
        "reliability": chosen.reliability[i],
        "id": name,
    }
    if chosen.sources:
        content = chosen.sources[i].read_bytes()
        return {"image": {"bytes": content, "path": chosen.files[i]}, **fields}
    return {"text": chosen.texts[i], **fields}
