"""CLIP: photos and texts in one space (Radford et al., ICML 2021), by onnxruntime.

A checkpoint of open_clip is a file of named tensors. Its architecture is read from
their shapes, and a graph of a few kilobytes is built for each tower, which takes the
numbers from that very file: mapped into memory, neither copied nor unpickled.

    photo   uint8 → (x / 255 - mean) / std → patches + class token → ln_pre ┐
    text    pieces → vectors + places, later ones hidden ───────────────────┤
    block   x + out(softmax(q kᵀ / √d) v),  q, k, v of ln_1(x)   ◄──────────┘
            x + proj(gelu(fc(ln_2(x))))
    end     the class token, or the end of the text → ln → projection

Of the last block only that one row is needed, so no other is computed.
"""

import gzip
import html
import json
import os
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from unseen._command import command_line, optional
from unseen._download import download, hash_of
from unseen.cache import cache_home
from unseen.files import replace_file
from unseen.naming.towers import Graph, ImageTower, TextTower, start_session

# The one set of weights that is fetched: three public records agree on this file.
HOME = "https://huggingface.co/laion/CLIP-ViT-B-32-256x256-DataComp-s34B-b86K/resolve"
URL = f"{HOME}/4afec35ffe57a943d569ff7ee888061830164da8/open_clip_model.safetensors"
SHA256 = "92c26d60d3200ed5ed040dff31a8d19f8140648da8007216c25744c478deef27"
N_BYTES = 605_189_364
FILE, HALF = "clip-vit-b-32-256.safetensors", "clip-vit-b-32-256.half.safetensors"
MEAN = (0.48145466, 0.4578275, 0.40821073)
STD = (0.26862954, 0.26130258, 0.27577711)
# Of the eighty sentences of the authors those that, averaged, they found enough.
PROMPTS = (
    "itap of a {}.",
    "a bad photo of the {}.",
    "a origami {}.",
    "a photo of the large {}.",
    "a {} in a video game.",
    "art of the {}.",
    "a photo of the small {}.",
)


# ---- the weights that are fetched ----------------------------------------------------


def weights_folder() -> Path:
    """Return the folder of fetched weights; it may not be there yet."""
    return cache_home() / "clip"


def fetch_clip(progress: Callable[[int, int], None] | None = None) -> Path:
    """Fetch the weights once, whole and verified, and return their file."""
    path = weights_folder() / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    download(URL, path, f"sha256:{SHA256}", progress=progress)
    return path


def best_encoder() -> str:
    """Return "clip" if its weights were fetched, whole or half, else "lite0"."""
    if (weights_folder() / FILE).is_file():
        return "clip"
    return "clip-half" if (weights_folder() / HALF).is_file() else "lite0"


def advice() -> str:
    """Return the line that says how to get the better encoder."""
    how = command_line("data", "fetch", "clip")
    return f"CLIP mostly labels better. To fetch its weights once (605 MB):  {how}"


def fetched(kind: str, *, half: bool = False) -> ImageTower | TextTower:
    """Make a tower, "image" or "text", of the weights that were fetched.

    They were verified before they got their name. In half precision they are another
    file, which is made when it is first asked for, and needs the original no more.
    """
    path, smaller = weights_folder() / FILE, weights_folder() / HALF
    if half and path.is_file() and not smaller.is_file():
        halve(path, smaller)
    path = smaller if half and smaller.is_file() else path
    if not path.is_file():
        raise FileNotFoundError(
            f"The weights of CLIP are not here. They are one file of {N_BYTES:,} bytes "
            f"under the MIT licence, from {URL}. Fetch them once, and it works offline "
            f"from then on:  {command_line('data', 'fetch', 'clip')}"
        )
    name = "clip-half" if half else "clip"
    return Checkpoint(path).tower(kind, name, SHA256)


def open_clip_file(path: str | os.PathLike[str], kind: str) -> ImageTower | TextTower:
    """Make a tower of a checkpoint of open_clip, a ``.safetensors`` file."""
    return Checkpoint(Path(path)).tower(kind, os.fspath(path), hash_of(Path(path)))


def halve(source: Path, target: Path) -> Path:
    """Write a checkpoint in half precision beside it, with the digest of the original.

    A number loses what is beyond its eleventh binary digit.
    """
    from safetensors import safe_open
    from safetensors.numpy import save

    with safe_open(source, framework="numpy") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}
    for key, values in tensors.items():
        tensors[key] = values.astype(np.float16 if values.ndim > 1 else np.float32)
    with replace_file(target) as draft:
        draft.write(save(tensors, {"made_from_sha256": hash_of(source)}))
    return target


# ---- a checkpoint --------------------------------------------------------------------


class Checkpoint:
    """The tensors of a ``.safetensors`` file by name: kind, shape and place of each."""

    def __init__(self, path: Path) -> None:
        self.path, self.tensors = path, read_header(path)
        self.width, _, self.patch, _ = self.shape("visual.conv1.weight")
        self.tokens = self.shape("visual.positional_embedding")[0]
        self.size = round((self.tokens - 1) ** 0.5) * self.patch
        self.dimension = self.shape("visual.proj")[1]
        # Beside it may lie what open_clip calls its configuration.
        beside = path.with_name("open_clip_config.json")
        said = json.loads(beside.read_text("utf-8")) if beside.is_file() else {}
        self.quick = bool(said.get("model_cfg", {}).get("quick_gelu"))
        self.quick |= "quickgelu" in path.name.lower()
        asked = {"mean": MEAN, "std": STD} | said.get("preprocess_cfg", {})
        self.mean, self.std = np.array(asked["mean"]), np.array(asked["std"])

    def shape(self, name: str) -> list[int]:
        """Return the shape of a tensor, which must be there."""
        if name not in self.tensors:
            raise ValueError(
                f"{self.path} has no tensor {name!r}. Give a vision transformer in "
                "the layout of open_clip, such as open_clip_model.safetensors."
            )
        return list(self.tensors[name]["shape"])

    def tower(self, kind: str, name: str, sha256: str) -> ImageTower | TextTower:
        """Return one of the two towers, "image" or "text"."""
        build = build_visual if kind == "image" else build_textual

        def start() -> Any:
            return start_session(build(self).SerializeToString(), self.path.parent)

        # The 1 is to be raised when the graphs change.
        version = f"sha256:{sha256[:12]}-{'quick-' * self.quick}1"
        scale = tuple(self.mean), tuple(self.std)
        version += f"-{scale}" * (scale != (MEAN, STD))
        if kind == "text":
            length = self.shape("positional_embedding")[0]
            pieces = clip_pieces()
            pieces.enable_truncation(length)
            pieces.enable_padding()
            options = {"pieces": pieces, "prompts": PROMPTS, "clean": clean_text}
            return TextTower(name, version, self.dimension, start, **options)
        return ImageTower(name, version, self.dimension, start, size=self.size)


def read_header(path: Path) -> dict[str, Any]:
    """Return kind, shape and place in the file of every tensor; no number is read."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, 100 << 20):
            raise ValueError(f"{path} is not a file of safetensors.")
        try:
            tensors = json.loads(file.read(length))
            tensors.pop("__metadata__", None)
            for one in tensors.values():
                start, end = one["data_offsets"]
                n_bytes = {"F32": 4, "I64": 8}.get(one["dtype"], 2)
                whole = np.prod(one["shape"], dtype=object) * n_bytes == end - start
                one["place"] = 8 + length + start, end - start
                if not (0 <= start <= end <= size - 8 - length and whole):
                    raise ValueError("a tensor is not where it should be")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{path} is damaged ({error!r}). Get it again.") from None
    return tensors


# ---- graphs --------------------------------------------------------------------------


class _TransformerGraph(Graph):
    """Blocks of a transformer, on rows: (n · length, width)."""

    def __init__(self, source: Checkpoint) -> None:
        super().__init__()
        self.source = source

    def tensor(self, name: str, third: int | None = None) -> str:
        """Name a tensor of the file, or one third of it."""
        shape, known = self.source.shape(name), self.onnx.TensorProto
        found = self.source.tensors[name]
        kinds = {"F32": known.FLOAT, "F16": known.FLOAT16}
        if found["dtype"] not in kinds:
            raise ValueError(
                f"{self.source.path}: {name} is {found['dtype']}. Give F32 or F16."
            )
        place, n_bytes = found["place"]
        if third is not None:
            shape[0], n_bytes, name = shape[0] // 3, n_bytes // 3, f"{name}.{third}"
            place += third * n_bytes
        if name not in self.constants:
            one = known(name=name, data_type=kinds[found["dtype"]], dims=shape)
            one.data_location = known.EXTERNAL
            file = {"location": self.source.path.name, "offset": place}
            for key, value in (file | {"length": n_bytes}).items():
                one.external_data.add(key=key, value=str(value))
            self.constants[name] = one
        if found["dtype"] == "F32":
            return name
        return self.add("Cast", name, to=known.FLOAT)

    def norm(self, x: str, name: str) -> str:
        both = self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias")
        return self.add("LayerNormalization", x, *both, axis=-1, epsilon=1e-5)

    def linear(self, x: str, name: str, third: int | None = None) -> str:
        both = (self.tensor(f"{name}{part}", third) for part in ("weight", "bias"))
        return self.add("Gemm", x, *both, transB=1)

    def gelu(self, x: str) -> str:
        if not self.source.quick:
            return self.add("Gelu", x)
        return self.add("Mul", x, self.add("Sigmoid", self.scaled(x, 1.702)))

    def scaled(self, x: str, factor: float) -> str:
        return self.add("Mul", x, self.constant(factor))

    def reshaped(self, x: str, *shape: int) -> str:
        return self.add("Reshape", x, self.constant(shape, np.int64))

    def blocks(
        self, x: str, name: str, apart: str, masks: tuple[str, str] | None, pick: Any
    ) -> str:
        """Add all blocks; of the last one, only the rows that ``pick`` picks.

        ``apart`` is (n, length, heads, width of a head); ``masks`` are for all rows of
        a text, and for those that are picked.
        """
        known = {key.removeprefix(name).split(".")[0] for key in self.source.tensors}
        last = max(int(number) for number in known if number.isdecimal())
        for block in range(last):
            x = self.block(x, f"{name}{block}.", apart, masks, None)
        return self.block(x, f"{name}{last}.", apart, masks, pick)

    def block(self, x: str, name: str, apart: str, masks: Any, pick: Any) -> str:
        width = self.source.shape(f"{name}ln_1.weight")[0]
        depth = head_width(width)
        asking = normed = self.norm(x, f"{name}ln_1")
        one = apart
        if pick is not None:
            x, asking = pick(x), pick(normed)
            one = self.constant([-1, 1, width // depth, depth], np.int64)
        q, k, v = (
            self.linear(rows, f"{name}attn.in_proj_", third)
            for third, rows in enumerate((asking, normed, normed))
        )
        q = self.add("Reshape", self.scaled(q, depth**-0.5), one)
        q = self.add("Transpose", q, perm=[0, 2, 1, 3])
        k = self.add("Transpose", self.add("Reshape", k, apart), perm=[0, 2, 3, 1])
        v = self.add("Transpose", self.add("Reshape", v, apart), perm=[0, 2, 1, 3])
        scores = self.add("MatMul", q, k)
        if masks is not None:
            scores = self.add("Add", scores, masks[pick is not None])
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), v)
        mixed = self.add("Transpose", mixed, perm=[0, 2, 1, 3])
        mixed = self.linear(self.reshaped(mixed, -1, width), f"{name}attn.out_proj.")
        x = self.add("Add", x, mixed)
        inner = self.linear(self.norm(x, f"{name}ln_2"), f"{name}mlp.c_fc.")
        inner = self.linear(self.gelu(inner), f"{name}mlp.c_proj.")
        return self.add("Add", x, inner)


def head_width(width: int) -> int:
    """Return the width of an attention head: 64, but for the largest towers."""
    return {1280: 80, 1408: 88, 1664: 104}.get(width, 64)


def build_visual(source: Checkpoint) -> Any:
    """Build the graph from photos, (n, size, size, 3) ``uint8``, to unit rows."""
    graph = _TransformerGraph(source)
    width, tokens, depth = source.width, source.tokens, head_width(source.width)
    x = graph.add("Cast", "images", to=graph.onnx.TensorProto.FLOAT)
    x = graph.add("Transpose", x, perm=[0, 3, 1, 2])
    mean, std = (one.reshape(-1, 1, 1) for one in (source.mean, source.std))
    x = graph.add("Mul", x, graph.constant(1 / (std * 255)))
    x = graph.add("Sub", x, graph.constant(mean / std))
    steps = [source.patch, source.patch]
    x = graph.add("Conv", x, graph.tensor("visual.conv1.weight"), strides=steps)
    x = graph.add("Transpose", graph.reshaped(x, 0, width, -1), perm=[0, 2, 1])
    n = graph.add("Shape", x, start=0, end=1)
    each = graph.add("Concat", n, graph.constant([1, width], np.int64), axis=0)
    first = graph.add("Expand", graph.tensor("visual.class_embedding"), each)
    x = graph.add("Concat", first, x, axis=1)
    x = graph.add("Add", x, graph.tensor("visual.positional_embedding"))
    x = graph.norm(graph.reshaped(x, -1, width), "visual.ln_pre")
    zero = graph.constant(0, np.int64)

    def pick(x: str) -> str:
        return graph.add("Gather", graph.reshaped(x, -1, tokens, width), zero, axis=1)

    apart = graph.constant([-1, tokens, width // depth, depth], np.int64)
    x = graph.blocks(x, "visual.transformer.resblocks.", apart, None, pick)
    x = graph.norm(x, "visual.ln_post")
    graph.add("MatMul", x, graph.tensor("visual.proj"), out="features")
    takes = "images", np.uint8, ["n", source.size, source.size, 3]
    return graph.finish("clip-visual", takes, source.dimension)


def build_textual(source: Checkpoint) -> Any:
    """Build the graph from pieces of texts, (n, length) ``int64``, to unit rows.

    A text ends where its highest number first stands; what follows is hidden from it,
    so texts need no more length than the longest of them.
    """
    graph = _TransformerGraph(source)
    longest, width = source.shape("positional_embedding")
    depth = head_width(width)
    shape = graph.add("Shape", "ids")
    length = graph.add("Shape", "ids", start=1, end=2)
    zero = graph.constant([0], np.int64)
    places = graph.add("Slice", graph.tensor("positional_embedding"), zero, length)
    x = graph.add("Gather", graph.tensor("token_embedding.weight"), "ids")
    x = graph.reshaped(graph.add("Add", x, places), -1, width)
    end = graph.add("ArgMax", "ids", axis=1)  # (n, 1)
    hidden = graph.constant(np.triu(np.full((longest, longest), -np.inf), 1))
    both = graph.add("Concat", length, length, axis=0)
    hidden = graph.add("Slice", hidden, graph.constant([0, 0], np.int64), both)
    own = graph.add("Gather", hidden, end, axis=0)  # (n, 1, length)
    own = graph.add("Unsqueeze", own, graph.constant([1], np.int64))
    sizes = graph.constant([width // depth, depth], np.int64)
    apart = graph.add("Concat", shape, sizes, axis=0)
    rows = graph.add("Concat", shape, graph.constant([width], np.int64), axis=0)

    def pick(x: str) -> str:
        return graph.add("GatherND", graph.add("Reshape", x, rows), end, batch_dims=1)

    x = graph.blocks(x, "transformer.resblocks.", apart, (hidden, own), pick)
    x = graph.norm(x, "ln_final")
    graph.add("MatMul", x, graph.tensor("text_projection"), out="features")
    takes = "ids", np.int64, ["n", "length"]
    return graph.finish("clip-textual", takes, source.dimension)


# ---- pieces of texts -----------------------------------------------------------------


def clean_text(text: str) -> str:
    """Return a text in small letters, its letters mended and its spaces single."""
    ftfy = optional("ftfy", "clip", "Reading texts as CLIP does")
    text = html.unescape(html.unescape(ftfy.fix_text(text)))
    return " ".join(text.split()).lower()


@cache
def clip_pieces() -> Any:
    """Return the tokenizer: pairs of bytes that were merged, the most frequent first.

    The merges come with the package, as CLIP's authors published them. Unlike theirs,
    a text in which the name of a special piece is spelt out holds its letters.
    """
    library = optional("tokenizers", "clip", "Reading class names")
    packed = files("unseen.naming").joinpath("data", "clip_merges.txt.gz").read_bytes()
    merges = gzip.decompress(packed).decode().split("\n")
    pairs = [(left, right) for left, right in map(str.split, merges)]
    # Bytes stand for themselves where they can be printed, the rest follow.
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in printed]
    letters += [chr(256 + place) for place in range(256 - len(printed))]
    known = [*letters, *(f"{letter}</w>" for letter in letters)]
    known += ["".join(pair) for pair in pairs]
    start, end = "<start_of_text>", "<end_of_text>"
    vocabulary = {piece: number for number, piece in enumerate([*known, start, end])}
    model = library.models.BPE(vocabulary, pairs, end_of_word_suffix="</w>")
    pieces, first = library.Tokenizer(model), library.pre_tokenizers
    words = r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"
    apart = first.Split(library.Regex(words), "removed", invert=True)
    as_bytes = first.ByteLevel(add_prefix_space=False, use_regex=False)
    pieces.pre_tokenizer = first.Sequence([apart, as_bytes])
    pieces.decoder = library.decoders.ByteLevel()
    pieces.post_processor = library.processors.TemplateProcessing(
        single=f"{start} $A {end}",
        special_tokens=[(one, vocabulary[one]) for one in (start, end)],
    )
    return pieces
