"""Label Studio: tasks to import, and the configuration of their project.

What a person said becomes an annotation, what the model said a prediction.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from unseen.exporting.selecting import Selected

__all__ = ["write_tasks"]

CONFIG = """<View>
  {shown}
  <Choices name="label" toName="thing" choice="single">
{choices}
  </Choices>
</View>
"""
PHOTO = '<Image name="thing" value="$image"/>'
TEXT = '<Text name="thing" value="$text"/>'


def write_tasks(chosen: Selected, draft: Path, target: Path) -> list[str]:
    """Label Studio: ``tasks.json``, ``config.xml`` and ``images/``."""
    photos = bool(chosen.sources)
    tasks = [task(chosen, i, target) for i in range(len(chosen))]
    with open(draft / "tasks.json", "x", encoding="utf-8") as file:
        json.dump(tasks, file, indent=1)
    choices = "\n".join(f"    <Choice value={quoteattr(n)}/>" for n in chosen.classes)
    text = CONFIG.format(shown=PHOTO if photos else TEXT, choices=choices)
    with open(draft / "config.xml", "x", encoding="utf-8") as file:
        file.write(text)
    return [f"images/{file}" for file in chosen.files] if photos else []


def task(chosen: Selected, i: int, target: Path) -> dict[str, Any]:
    """Return one task; photos are found by Label Studio's local files."""
    result = {
        "from_name": "label",
        "to_name": "thing",
        "type": "choices",
        "value": {"choices": [chosen.labels[i]]},
    }
    if chosen.sources:
        # Below LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT, the folder above the target.
        place = quote(f"{target.name}/images/{chosen.files[i]}")
        data = {"image": f"/data/local-files/?d={place}"}
    else:
        data = {"text": chosen.texts[i]}
    data["id"] = chosen.ids[i].encode("utf-8", "backslashreplace").decode()
    if chosen.given[i]:
        return {"data": data, "annotations": [{"result": [result]}]}
    prediction: dict[str, Any] = {"model_version": "unseen", "result": [result]}
    if chosen.reliability[i] is not None:
        prediction["score"] = chosen.reliability[i]
    return {"data": data, "predictions": [prediction]}
