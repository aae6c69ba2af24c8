"""What open_clip makes of models of its own, to hold our graphs of CLIP against.

    python studies/clip_reference.py ViT-B-32-256 FOLDER   in an environment with torch
    python studies/clip_reference.py tiny tests/naming/tiny_clip
    python studies/clip_reference.py check FOLDER          in one with unseen[clip]

The environment: ``pip install torch==2.13.0 open_clip_torch==3.3.0``. Weights are
random: the question is whether two programs compute the same. The tiny model, 128 and
64 wide with two layers, is what the tests of this project hold. Its numbers are few, so
it packs well.
"""

from __future__ import annotations

import gzip
import sys
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


def write(name: str, folder: Path) -> None:
    """Write a checkpoint, and what open_clip makes of photos and texts with it."""
    library = open_clip()
    import torch
    from open_clip.model import CLIP
    from safetensors.torch import save

    def make(quick: bool):
        if name == "tiny":
            return CLIP(**TINY, quick_gelu=quick).eval()
        return library.create_model(name, force_quick_gelu=quick).eval()

    tokens = library.get_tokenizer("ViT-B-32")(TEXTS)
    torch.manual_seed(0)
    tensors = {key: values.clone() for key, values in make(False).state_dict().items()}
    draw = np.random.default_rng(1)
    for key, values in tensors.items():
        if values.ndim == 1:  # else biases are 0 and norms 1, and not told apart
            values += torch.from_numpy(draw.integers(-4, 5, values.shape) / 64)
        elif name == "tiny" and values.ndim:
            scale = 2.0 ** -round(float(np.log2(values.shape[-1] ** 0.5 * 1.3)))
            few = draw.integers(-4, 5, tuple(values.shape)) * scale
            tensors[key] = torch.from_numpy(few).float()
    if name == "tiny":
        unused = np.setdiff1d(np.arange(49408), tokens.numpy())
        tensors["token_embedding.weight"][unused] = 0
    size = make(False).visual.image_size
    side = size if isinstance(size, int) else size[0]
    coarse = draw.integers(0, 128, (3, 4, 4, 3)).repeat(side // 4, 1)
    photos = coarse.repeat(side // 4, 2) + draw.integers(0, 128, (3, side, side, 3))
    mean, std = library.OPENAI_DATASET_MEAN, library.OPENAI_DATASET_STD
    pixels = ((photos / 255 - mean) / std).astype(np.float32).transpose(0, 3, 1, 2)
    rows = {}
    for quick in (False, True):
        model = make(quick)
        model.load_state_dict(tensors)
        with torch.inference_mode():
            images = model.encode_image(torch.from_numpy(pixels), normalize=True)
            rows[f"images_{quick}"] = images.numpy()
            texts = model.encode_text(tokens, normalize=True)
            rows[f"texts_{quick}"] = texts.numpy()
    folder.mkdir(parents=True, exist_ok=True)
    held = {"photos": photos.astype(np.uint8), "texts": TEXTS, "tokens": tokens.numpy()}
    np.savez_compressed(folder / "expected.npz", **held, **rows)
    if name == "tiny":
        some = {key: v.half() if v.ndim > 1 else v for key, v in tensors.items()}
        packed = gzip.compress(save(some), 9, mtime=0)
        (folder / "tiny.safetensors.gz").write_bytes(packed)
    else:
        (folder / "model.safetensors").write_bytes(save(tensors))


def check(folder: Path) -> None:
    """Print how far our towers are from what open_clip made."""
    from unseen.naming import find_encoder

    expected = np.load(folder / "expected.npz")
    quick = folder / "quickgelu.safetensors"
    quick.unlink(missing_ok=True)
    quick.hardlink_to(folder / "model.safetensors")
    for kind, items in (("image", expected["photos"]), ("text", TEXTS)):
        for path in (folder / "model.safetensors", quick):
            rows = find_encoder(path, kind).encode(items)
            off = np.abs(rows - expected[f"{kind}s_{path == quick}"]).max()
            print(f"{kind:6} {path.stem:10} largest difference {off:.1e}")


if __name__ == "__main__":
    task, place = sys.argv[1], Path(sys.argv[2])
    check(place) if task == "check" else write(task, place)
