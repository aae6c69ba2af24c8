"""Graphs of our own, and pairs of them: two towers in one space, by onnxruntime.

CLIP is one (``clip.py``); a folder with any pair of graphs is another:

    visual.onnx      photos, (n, 3, size, size) → features
    textual.onnx     numbers of pieces, (n, length) → features
    tokenizer.json   texts → pieces, as the library tokenizers writes it
    encoder.json     size, mean and std of photos, and what differs from DEFAULTS
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unseen._command import optional
from unseen._download import hash_of
from unseen.limits import read_small
from unseen.naming.classes import spoken

DEFAULTS: dict[str, Any] = {
    "view": "middle",  # of a photo: its middle square, or "whole", squeezed into one
    "length": 0,  # texts are padded to this many pieces; 0: to the longest of a batch
    "longest": 77,  # pieces of a text that are read
    "pad": 0,  # the number of a piece that says nothing
    "lowercase": False,
    "prompts": ["a photo of a {}."],  # sentences for the name of a class, averaged
}
EMBEDS = ("features", "image_embeds", "text_embeds", "pooler_output")


class Graph:
    """Collects nodes and constants; every method returns the name of its output."""

    def __init__(self) -> None:
        self.onnx = optional("onnx", "photos", "Building an image encoder")
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def add(self, kind: str, *inputs: str, out: str | None = None, **options) -> str:
        """Add a node."""
        out = out or f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [out], **options))
        return out

    def constant(self, values: Any, kind: Any = np.float32) -> str:
        """Add numbers, which are written into the graph."""
        name = f"constant_{len(self.constants)}"
        tensor = self.onnx.numpy_helper.from_array(np.asarray(values, kind), name)
        self.constants[name] = tensor
        return name

    def finish(self, name: str, takes: tuple[str, Any, list], gives: int) -> Any:
        """Return the model from an input (name, kind, shape) to n rows of features."""
        info, of_floats = self.onnx.helper.make_tensor_value_info, np.dtype(np.float32)
        what, kind, shape = takes
        number = self.onnx.helper.np_dtype_to_tensor_dtype
        return self.onnx.helper.make_model(
            self.onnx.helper.make_graph(
                self.nodes,
                name,
                [info(what, number(np.dtype(kind)), shape)],
                [info("features", number(of_floats), ["n", gives])],
                [*self.constants.values()],
            ),
            producer_name="unseen",
            opset_imports=[self.onnx.helper.make_opsetid("", 20)],
            ir_version=9,
        )


def start_session(graph: bytes | str, weights: Path | None = None) -> Any:
    """Let onnxruntime load a graph, without its reports to its makers.

    From 1.29 on its Linux and macOS wheels look up a host of Microsoft's as soon as
    they are loaded, unless this variable is set before. On Windows events go to the
    system's tracing, which a call turns off. What a graph takes from a file in the
    folder ``weights`` is mapped from there, not copied.
    """
    silence = "ORT_DISABLE_TELEMETRY"
    os.environ.setdefault(silence, "1")
    onnxruntime = optional("onnxruntime", "photos", "Encoding photos")
    if os.environ[silence] == "1":
        onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only
    # Its threads would burn a tenth of the time of a run while photos are decoded.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if weights is not None:
        folder = "session.model_external_initializers_file_folder_path"
        options.add_session_config_entry(folder, str(weights))
        # Packing weights makes a copy of all of them, and is no faster here.
        options.add_session_config_entry("session.disable_prepacking", "1")
    return onnxruntime.InferenceSession(
        graph, options, providers=["CPUExecutionProvider"]
    )


class _Tower:
    """A session that is started when it is first needed; features are unit rows."""

    def __init__(
        self, name: str, version: str, dimension: int, start: Callable[[], Any]
    ) -> None:
        self.name, self.version, self.dimension = name, version, dimension
        self._start = start

    @cached_property
    def session(self) -> Any:
        return self._start()

    def _run(self, items: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        first, *others = self.session.get_inputs()
        kind = {"tensor(float)": np.float32, "tensor(int32)": np.int32}
        feed = {first.name: items.astype(kind.get(first.type, items.dtype))}
        for other in others:  # a mask of the pieces that say something
            feed[other.name] = np.asarray(mask, kind.get(other.type, np.int64))
        (rows,) = self.session.run([_output(self.session)], feed)
        return _to_unit(rows.astype(np.float32))


def _to_unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _output(session: Any) -> str:
    """Return the name of the output that holds a row per item."""
    flat = [one.name for one in session.get_outputs() if len(one.shape) == 2]
    usual = [name for name in EMBEDS if name in flat]
    if len(flat) != 1 and not usual:
        raise ValueError(
            f"The graph has {len(flat)} outputs with a row per item. Give a graph "
            f"with one, or call the right one {' or '.join(EMBEDS)}."
        )
    return (usual or flat)[0]


class ImageTower(_Tower):
    """Turns photos into unit rows.

    ``mean`` and ``std`` are for a graph that takes numbers between 0 and 1, less the
    mean, over the deviation; a graph that takes ``uint8`` has them inside.
    """

    def __init__(
        self, *about: Any, size: int, mean: Any = 0.0, std: Any = 1.0, view="middle"
    ) -> None:
        super().__init__(*about)
        self.size, self.view = size, view
        self._mean, self._std = (255 * np.array(one, np.float32) for one in (mean, std))

    def encode(self, images: np.ndarray) -> np.ndarray:
        """Turn (n, size, size, 3) ``uint8`` into (n, dimension) ``float32``."""
        if not len(images):
            return np.empty((0, self.dimension), np.float32)
        if self.session.get_inputs()[0].type == "tensor(uint8)":
            return self._run(images)
        return self._run(((images - self._mean) / self._std).transpose(0, 3, 1, 2))


class TextTower(_Tower):
    """Turns texts into unit rows; a blank one is a row of zeros.

    ``prompts`` are sentences with ``{}`` where the name of a class goes.
    """

    def __init__(
        self,
        *about: Any,
        pieces: Any,
        prompts: Sequence[str],
        clean: Callable[[str], str] = str,
    ) -> None:
        super().__init__(*about)
        self.space, self.prompts, self.clean = self.name, prompts, clean
        self._pieces = pieces

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into (n, dimension) ``float32``."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        filled.sort(key=lambda row: len(texts[row]))
        for start in range(0, len(filled), 32):  # texts of like lengths share a batch
            some = filled[start : start + 32]
            cleaned = [self.clean(texts[row]) for row in some]
            found = self._pieces.encode_batch_fast(cleaned)
            mask = np.array([one.attention_mask for one in found])
            rows[some] = self._run(np.array([one.ids for one in found]), mask)
        return rows

    def encode_names(self, names: Sequence[str]) -> np.ndarray:
        """Return the mean of all prompts for every name, whatever its language."""
        said = [one.format(spoken(name)) for name in names for one in self.prompts]
        rows = self.encode(said).reshape(len(names), len(self.prompts), -1)
        return _to_unit(rows.mean(axis=1))


def open_pair(folder: Any, kind: str) -> ImageTower | TextTower:
    """Open one tower, "image" or "text", of a folder with a pair of graphs."""
    home = Path(folder)
    about = home / "encoder.json"
    try:
        said = json.loads(read_small(about))
        size = int(said.pop("size"))
        mean, std = ([float(one) for one in said.pop(key)] for key in ("mean", "std"))
        if strange := set(said) - set(DEFAULTS):
            raise ValueError(f"{min(strange)!r} is not known")
        asked = DEFAULTS | said
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{about} is not understood ({error!r}). Give size, mean and std of "
            f"photos, and perhaps {', '.join(DEFAULTS)}."
        ) from error
    version = hashlib.sha256()
    for part in sorted(path for path in home.iterdir() if path.is_file()):
        version.update(bytes.fromhex(hash_of(part)))
    graph = home / ("visual.onnx" if kind == "image" else "textual.onnx")
    session = start_session(str(graph))
    place = [one.name for one in session.get_outputs()].index(_output(session))
    n = session.get_outputs()[place].shape[1]
    if not isinstance(n, int):
        raise ValueError(f"{graph} does not say how many features it gives.")
    known = str(folder), f"sha256:{version.hexdigest()[:12]}", n, lambda: session
    if kind == "image":
        return ImageTower(*known, size=size, mean=mean, std=std, view=asked["view"])
    tokenizers = optional("tokenizers", "clip", "Reading class names")
    pieces = tokenizers.Tokenizer.from_file(str(home / "tokenizer.json"))
    pieces.enable_padding(length=asked["length"] or None, pad_id=asked["pad"])
    pieces.enable_truncation(asked["length"] or asked["longest"])
    clean = str.lower if asked["lowercase"] else str
    return TextTower(*known, pieces=pieces, prompts=asked["prompts"], clean=clean)
