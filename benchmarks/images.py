"""What encoding a folder costs beyond the network itself, and that memory stays put.

    python benchmarks/images.py throughput
    python benchmarks/images.py memory --photos 1000 20000 [--encoder mean]

``throughput`` runs onnxruntime alone on batches in memory, decodes photos alone, and
takes a whole folder from files to features, in turns in one run, and prints ratios of
CPU time: whatever else the machine is doing slows all three alike. ``memory`` encodes
folders of different size in fresh processes and prints the most that each took. The
encoder ``mean`` does next to nothing, so that many photos take minutes, not an hour.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_images

from unseen.naming import find_encoder
from unseen.photos import encode_folder, write_features
from unseen.photos.folder import BATCH


class Mean:
    """As large as Lite0 at both ends, with nothing in between."""

    name, version, dimension, size = "mean", "1", 1280, 224

    def encode(self, images: np.ndarray) -> np.ndarray:
        """Repeat the mean shade."""
        means = images.mean(axis=(1, 2, 3), dtype=np.float32)
        return np.repeat(means[:, None], self.dimension, axis=1)


def make_photos(folder: Path, n: int, width: int) -> None:
    """Write JPEGs: crops of two photographs, every one different."""
    rng = np.random.default_rng(0)
    photographs = [Image.fromarray(pixels) for pixels in load_sample_images().images]
    for i in range(n):
        side = int(rng.integers(120, 400))
        left, top = int(rng.integers(0, 640 - side)), int(rng.integers(0, 427 - side))
        crop = photographs[i % 2].crop((left, top, left + side, top + side))
        path = folder / f"{i // 1000:03d}" / f"{i:06d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        crop.resize((width, width * 3 // 4)).save(path, quality=85)


def throughput(n: int, width: int, rounds: int) -> None:
    net = find_encoder("lite0", "image")
    # Photos of 4:3 are seen twice, so the network has two images of each.
    images = np.random.default_rng(0).integers(0, 256, (2 * n, 224, 224, 3), np.uint8)
    batches = [images[i : i + BATCH] for i in range(0, 2 * n, BATCH)]
    with tempfile.TemporaryDirectory() as home:
        make_photos(Path(home) / "photos", n, width)

        def runtime() -> None:
            for batch in batches:
                net.session.run(["features"], {"images": batch})

        def decoding() -> None:
            for path in sorted(Path(home).rglob("*.jpg")):
                with Image.open(path) as photo:
                    photo.convert("RGB")

        def folder() -> None:
            with tempfile.TemporaryDirectory() as cache:
                encode_folder(f"{home}/photos", encoder=net, cache=cache)

        runs = {"onnxruntime": runtime, "decoding": decoding, "folder": folder}
        seconds: dict[str, list[float]] = {name: [] for name in runs}
        runtime()  # warm up
        for _ in range(rounds):
            for name, run in runs.items():
                started = time.process_time()
                run()
                seconds[name].append(time.process_time() - started)
    least = np.array(seconds["onnxruntime"]) + seconds["decoding"]
    for name, taken in seconds.items():
        ratios = np.array(taken) / least
        print(
            f"{name:<12}{n / np.median(taken):>7.1f} photos per CPU second"
            f"{np.median(ratios):>7.2f} of decoding and onnxruntime"
            f"  (rounds {', '.join(f'{ratio:.2f}' for ratio in ratios)})"
        )


def memory(counts: list[int], encoder: str, width: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        for n in counts:
            make_photos(Path(home) / str(n), n, width)
            command = [sys.executable, __file__, "one", f"{home}/{n}", encoder]
            subprocess.run(command, check=True)


def one(folder: str, encoder: str) -> None:
    made = Mean() if encoder == "mean" else encoder
    started = time.perf_counter()
    encoded = encode_folder(folder, encoder=made, cache=Path(folder) / ".cache")
    write_features(encoded, Path(folder) / ".features.npz")
    taken = time.perf_counter() - started
    here, there = (
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(
        f"{len(encoded):>7} photos, {encoder}: {here:.0f} MB, its largest child "
        f"{there:.0f} MB; {taken:.0f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    speed = commands.add_parser("throughput")
    speed.add_argument("--photos", type=int, default=320)
    speed.add_argument("--width", type=int, default=500)
    speed.add_argument("--rounds", type=int, default=3)
    size = commands.add_parser("memory")
    size.add_argument("--photos", type=int, nargs="+", default=[1000, 20000])
    size.add_argument("--encoder", default="lite0")
    size.add_argument("--width", type=int, default=64)
    single = commands.add_parser("one")
    single.add_argument("folder")
    single.add_argument("encoder")
    given = parser.parse_args()
    if given.command == "throughput":
        throughput(given.photos, given.width, given.rounds)
    elif given.command == "memory":
        memory(given.photos, given.encoder, given.width)
    else:
        one(given.folder, given.encoder)


if __name__ == "__main__":
    main()
