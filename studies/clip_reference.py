"""CLIP beside open_clip: whether both compute the same, and what they take.

    python studies/clip_reference.py compare --data ../shared/data
    python studies/clip_reference.py measure --data ../shared/data
    python studies/clip_reference.py tiny tests/naming/tiny_clip

Weights are random: nothing depends on what they are. ``compare`` prints how far towers
of four architectures are from open_clip's on photos and texts, and whether the pieces
of 10,000 texts are the same; ``measure`` prints speed and memory. Every encoder has a
process of its own. Speed is items per second of one processor's time, so that a busy
machine does not count; it is the best of three rounds. ``tiny`` writes what the tests
of this project hold: a model of two layers, 128 and 64 wide. Its numbers are few, so it
packs well.

The environment: ``pip install '.[clip]'``, ``torch==2.13.0`` for processors,
``open_clip_torch==3.3.0`` and ``timm``, these two with ``--no-deps``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

import numpy as np

TEXTS = [
    "a photo of a dog.",
    "🦓 zebra, 3,000 metres up",
    "Ärger über café №5",
    "okapi &amp; tapir: “quoted”",
    "日本の猫",
    "long " * 100,
    "x",
]
TINY = {
    "embed_dim": 32,
    "vision_cfg": {"image_size": 64, "layers": 2, "width": 128, "patch_size": 16},
    "text_cfg": {"context_length": 77, "width": 64, "heads": 1, "layers": 2},
}
# By architecture: the side of a photo, and how many photos are compared.
LARGE = {
    "ViT-B-32-256": (256, 64),
    "ViT-B-32-quickgelu": (224, 64),
    "ViT-B-16-quickgelu": (224, 32),
    "ViT-L-14": (224, 8),
}
BATCH, ROUNDS = 16, 3


def open_clip():
    """Import open_clip without torchvision, whose operators this does not need."""
    names = "Normalize Compose RandomResizedCrop InterpolationMode ToTensor Resize"
    modules = {"transforms": f"{names} CenterCrop ColorJitter Grayscale".split()}
    modules |= {"": [], "transforms.functional": [], "ops": []}
    modules["ops.misc"] = ["FrozenBatchNorm2d"]
    for name in sorted(modules):
        module = types.ModuleType(f"torchvision.{name}".rstrip("."))
        module.__path__, module.__version__ = [], "0"
        for kind in modules[name]:
            setattr(module, kind, type(kind, (), {"BICUBIC": 3}))
        sys.modules[module.__name__] = module
    import open_clip

    return open_clip


# ---- what goes in --------------------------------------------------------------------


def read_photos(data: Path, size: int, n: int) -> np.ndarray:
    """Return the middles of photos of all sets in turn, (n, size, size, 3)."""
    from unseen.photos.photo import read_square

    sets = [sorted(one.rglob("*.jpg")) for one in sorted((data / "photos").iterdir())]
    turns = [path for several in zip(*sets, strict=False) for path in several]
    squares = (read_square(path, size) for path in turns)
    good = (one.pixels for one in squares if one.pixels is not None)
    return np.stack([pixels for pixels, _ in zip(good, range(n), strict=False)])


def read_texts(data: Path) -> list[str]:
    """Return 10,000 texts: intents and news, a third with emoji, a tenth long."""
    import pandas as pd

    names = "clinc150_test", "banking77_test", "agnews_test"
    read = [pd.read_csv(data / "texts" / f"{name}.csv")["text"] for name in names]
    texts = pd.concat(read).astype(str).sample(10_000, random_state=0).tolist()
    signs = [chr(one) for one in (*range(0x1F300, 0x1FAFF), *range(0x2600, 0x27BF))]
    draw = np.random.default_rng(0)
    for row in range(0, len(texts), 3):
        emoji = "".join(draw.choice(signs, 3)) + draw.choice(["", "\u200d", "\ufe0f"])
        texts[row] = f"{emoji} {texts[row]}{emoji[::-1]}"
    for row in range(0, len(texts), 10):
        texts[row] = "\n".join(texts[row : row + 8])
    return texts


def news(data: Path) -> list[str]:
    """Return 128 news, of about fifty pieces each."""
    import pandas as pd

    return pd.read_csv(data / "texts" / "agnews_test.csv")["text"][:128].tolist()


def names(data: Path) -> list[str]:
    """Return 128 class names in a sentence."""
    known = (data / "texts" / "banking77_classes.txt").read_text("utf-8").split()
    return [f"a photo of a {name.replace('_', ' ')}." for name in (known * 2)[:128]]


# ---- two encoders --------------------------------------------------------------------


class Theirs:
    """A model of open_clip, from a checkpoint."""

    def __init__(self, name: str, path: Path, kind: str) -> None:
        library = open_clip()
        import torch

        torch.set_num_threads(1)
        self.torch, self.library = torch, library
        self.model = library.create_model(name, pretrained=str(path)).eval()
        self.tokens = library.get_tokenizer(name)

    def encode(self, items) -> np.ndarray:
        """Return unit rows of photos or texts."""
        with self.torch.inference_mode():
            if isinstance(items, list):
                return self.model.encode_text(
                    self.tokens(items), normalize=True
                ).numpy()
            mean, std = (
                self.library.OPENAI_DATASET_MEAN,
                self.library.OPENAI_DATASET_STD,
            )
            pixels = ((items / 255 - mean) / std).astype(np.float32)
            pixels = self.torch.from_numpy(pixels.transpose(0, 3, 1, 2).copy())
            return self.model.encode_image(pixels, normalize=True).numpy()


def encoder(who: str, name: str, path: Path, kind: str):
    """Return open_clip's encoder, ours, or ours in half precision."""
    if who == "open_clip":
        return Theirs(name, path, kind)
    from unseen.naming import find_encoder
    from unseen.naming.clip import halve

    half = path.with_name(f"half-{path.name}")
    if who == "clip-half" and not half.exists():
        halve(path, half)
    return find_encoder(half if who == "clip-half" else path, kind)


def make(name: str, path: Path) -> None:
    """Write a checkpoint with random weights."""
    library = open_clip()
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    tensors = library.create_model(name, pretrained=None).state_dict()
    draw = np.random.default_rng(1)
    for values in tensors.values():
        if values.ndim == 1:  # else biases are 0 and norms 1, and not told apart
            values += torch.from_numpy(draw.integers(-4, 5, values.shape) / 64)
    save_file({key: values.contiguous() for key, values in tensors.items()}, path)


def tokens(data: Path) -> None:
    """Print whether both make the same pieces of 10,000 texts."""
    from unseen.naming.clip import clean_text, clip_pieces

    texts, pieces = read_texts(data), clip_pieces()
    theirs = open_clip().get_tokenizer("ViT-B-32")(texts).numpy()
    pieces.enable_truncation(77)
    same = cut = 0
    for text, row in zip(texts, theirs, strict=True):
        ids = pieces.encode(clean_text(text)).ids
        same += ids == row[: len(ids)].tolist() and not row[len(ids) :].any()
        cut += bool(row[-1])
    print(f"pieces are the same for {same:,} of {len(texts):,} texts; {cut:,} are full")


def one(who: str, name: str, path: Path, what: str, out: Path, data: Path) -> None:
    """Encode photos or texts in this process; write rows, and what it took."""
    size, n = LARGE[name]
    if what == "photos":
        items = read_photos(data, size, n)
    else:
        items = {"news": news, "names": names, "texts": lambda _: TEXTS}[what](data)
    tower = encoder(who, name, path, "image" if what == "photos" else "text")
    tower.encode(items[:2])
    best = np.inf
    for _ in range(ROUNDS):
        started = time.process_time()
        batches = [items[at : at + BATCH] for at in range(0, len(items), BATCH)]
        rows = np.concatenate([tower.encode(batch) for batch in batches])
        best = min(best, time.process_time() - started)
    np.save(out, rows)
    status = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
    print(json.dumps({"rate": len(items) / best, "peak": int(status) / 1000}))


def apart(*words) -> dict[str, float]:
    """Run a task of this file in a process of its own, on one thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, __file__, *map(str, words)]
    told = subprocess.run(
        command, env=os.environ | threads, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return json.loads(told.splitlines()[-1]) if told else {}


def compare(data: Path) -> None:
    """Print cosine distances to open_clip's rows, by architecture."""
    tokens(data)
    print("architecture         items   n  largest cosine distance, difference; half")
    with tempfile.TemporaryDirectory() as place:
        for name in LARGE:
            path = Path(place) / f"{name}.safetensors"
            apart("make", name, path)
            for what in ("photos", "texts"):
                rows = {}
                for who in ("open_clip", "clip", "clip-half"):
                    out = Path(place) / f"{who}.npy"
                    apart("one", who, name, path, what, out, data)
                    rows[who] = np.load(out).astype(np.float64)
                theirs = rows.pop("open_clip")
                said = f"{name:20} {what:6} {len(theirs):3}"
                for mine in rows.values():
                    far = 1 - (mine * theirs).sum(axis=1) / np.linalg.norm(
                        mine, axis=1
                    ) / np.linalg.norm(theirs, axis=1)
                    said += f"  {far.max():.1e}, {np.abs(mine - theirs).max():.1e}"
                print(said, flush=True)
            for file in Path(place).iterdir():
                file.unlink()


def measure(data: Path) -> None:
    """Print items per second and peak memory beside open_clip's, ViT-B-32-256."""
    name = "ViT-B-32-256"
    print(
        "                     ",
        *(f"{what:>20}" for what in ("photos", "news", "names")),
    )
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"{name}.safetensors"
        apart("make", name, path)
        for who in ("open_clip", "clip", "clip-half"):
            said = f"{who:21}"
            for what in ("photos", "news", "names"):
                out = Path(place) / "rows.npy"
                apart("one", who, name, path, "texts", out, data)  # makes the half
                took = apart("one", who, name, path, what, out, data)
                said += f"{took['rate']:9.1f}/s {took['peak']:6.0f} MB"
            print(said, flush=True)


def tiny(folder: Path) -> None:
    """Write a tiny checkpoint, and what open_clip makes of photos and texts with it."""
    library = open_clip()
    import torch
    from open_clip.model import CLIP
    from safetensors.torch import save

    tokens = library.get_tokenizer("ViT-B-32")(TEXTS)
    torch.manual_seed(0)
    drawn = CLIP(**TINY).state_dict()
    tensors = {key: values.clone() for key, values in drawn.items()}
    draw = np.random.default_rng(1)
    for key, values in tensors.items():
        if values.ndim == 1:
            values += torch.from_numpy(draw.integers(-4, 5, values.shape) / 64)
        elif values.ndim:
            scale = 2.0 ** -round(float(np.log2(values.shape[-1] ** 0.5 * 1.3)))
            few = draw.integers(-4, 5, tuple(values.shape)) * scale
            tensors[key] = torch.from_numpy(few).float()
    unused = np.setdiff1d(np.arange(49408), tokens.numpy())
    tensors["token_embedding.weight"][unused] = 0
    coarse = draw.integers(0, 128, (3, 4, 4, 3)).repeat(16, 1)
    photos = coarse.repeat(16, 2) + draw.integers(0, 128, (3, 64, 64, 3))
    mean, std = library.OPENAI_DATASET_MEAN, library.OPENAI_DATASET_STD
    pixels = ((photos / 255 - mean) / std).astype(np.float32).transpose(0, 3, 1, 2)
    rows = {}
    for quick in (False, True):
        model = CLIP(**TINY, quick_gelu=quick).eval()
        model.load_state_dict(tensors)
        with torch.inference_mode():
            images = model.encode_image(torch.from_numpy(pixels), normalize=True)
            rows[f"images_{quick}"] = images.numpy()
            texts = model.encode_text(tokens, normalize=True)
            rows[f"texts_{quick}"] = texts.numpy()
    folder.mkdir(parents=True, exist_ok=True)
    held = {"photos": photos.astype(np.uint8), "texts": TEXTS, "tokens": tokens.numpy()}
    np.savez_compressed(folder / "expected.npz", **held, **rows)
    some = {key: v.half() if v.ndim > 1 else v for key, v in tensors.items()}
    packed = gzip.compress(save(some), 9, mtime=0)
    (folder / "tiny.safetensors.gz").write_bytes(packed)


if __name__ == "__main__":
    task, *words = sys.argv[1:]
    if task in ("compare", "measure"):
        parser = argparse.ArgumentParser()
        parser.add_argument("--data", type=Path, required=True)
        {"compare": compare, "measure": measure}[task](parser.parse_args(words).data)
    elif task == "tiny":
        tiny(Path(words[0]))
    elif task == "make":
        make(words[0], Path(words[1]))
    else:
        who, name, path, what, out, data = words
        one(who, name, Path(path), what, Path(out), Path(data))
