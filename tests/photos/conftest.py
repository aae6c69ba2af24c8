"""Photos made up for the tests, and an encoder that is quick."""

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("onnxruntime")


class Colours:
    """Sees the mean colour of the left and the right half; remembers what it saw."""

    name, version, dimension, size = "colours", "1", 6, 16

    def __init__(self):
        self.n_seen = 0
        self.batches = []

    def encode(self, images):
        assert images.dtype == np.uint8 and images.shape[1:] == (16, 16, 3)
        self.n_seen += len(images)
        self.batches.append(len(images))
        halves = images.reshape(len(images), 16, 2, 8, 3)
        return halves.mean(axis=(1, 3), dtype=np.float32).reshape(-1, 6)


@pytest.fixture
def colours():
    return Colours()


@pytest.fixture
def paint():
    """Return a function that writes a smooth picture of its own colours."""
    return write_picture


def write_picture(path, seed, size=(24, 23), **options):  # nearly square: seen once
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 256, (2, 2, 3)).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(corners).resize(size, Image.Resampling.BILINEAR).save(
        path, **options
    )
    return path
