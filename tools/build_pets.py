"""Build ``unseen/photos/data/pets.npz``: photos of 37 breeds, as features and small.

    unseen encode pets37 --encoder lite0 --out features.npz
    python tools/build_pets.py pets37 features.npz

``pets37`` is a folder per breed with 15 photos each of the Oxford-IIIT Pet Dataset. The
attributes of the breeds are in ``pets.csv``, written by hand.
"""

import argparse
import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from unseen.files import replace_file

OUT = Path(__file__).parents[1] / "unseen" / "photos" / "data" / "pets.npz"
SIDE = 48


def small_jpeg(path):
    """Return the middle square of a photo as a small JPEG."""
    buffer = io.BytesIO()
    with Image.open(path) as photo:
        square = ImageOps.fit(photo.convert("RGB"), (SIDE, SIDE))
    square.save(buffer, "jpeg", quality=70, optimize=True)
    return buffer.getvalue()


def main():
    """Read features by the paths of their photos, write them with small photos."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("features", type=Path)
    given = parser.parse_args()
    with np.load(given.features, allow_pickle=False) as stored:
        features, paths = stored["features"], stored["paths"].tolist()
    breeds = [Path(path).parent.name.replace("_", " ") for path in paths]
    classes, y = np.unique(breeds, return_inverse=True)
    jpegs = [small_jpeg(given.folder / path) for path in paths]
    with replace_file(OUT) as file:
        np.savez_compressed(
            file,
            classes=classes,
            y=y.astype(np.uint8),
            paths=np.array(paths),
            features=features.astype(np.float16),
            jpegs=np.frombuffer(b"".join(jpegs), np.uint8),
            ends=np.cumsum([len(one) for one in jpegs]),
        )
    print(f"{OUT}: {len(y)} photos, {OUT.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
