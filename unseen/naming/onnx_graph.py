"""ONNX graphs: nodes and numbers are collected here, and onnxruntime runs them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from unseen._command import needs_extra

__all__ = ["Graph", "start_session"]


class Graph:
    """Collects nodes and constants; every method returns the name of its output."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError:
            raise needs_extra("onnx", "photos", "Building an image encoder") from None
        self.onnx, self.nodes = onnx, []  # type: Any, list[Any]
        self.constants: dict[str, Any] = {}

    def add(self, kind: str, *inputs: str, out: str | None = None, **options) -> str:
        """Add a node."""
        out = out or f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [out], **options))
        return out

    def constant(self, values: Any, kind: Any = np.float32) -> str:
        """Add numbers, which are written into the graph."""
        name = f"constant_{len(self.constants)}"
        tensor = self.onnx.numpy_helper.from_array(np.asarray(values, kind), name)
        self.constants[name] = tensor
        return name

    def finish(self, name: str, takes: tuple[str, Any, list], gives: int) -> Any:
        """Return the model from an input (name, kind, shape) to n rows of features."""
        info, of_floats = self.onnx.helper.make_tensor_value_info, np.dtype(np.float32)
        what, kind, shape = takes
        number = self.onnx.helper.np_dtype_to_tensor_dtype
        return self.onnx.helper.make_model(
            self.onnx.helper.make_graph(
                self.nodes,
                name,
                [info(what, number(np.dtype(kind)), shape)],
                [info("features", number(of_floats), ["n", gives])],
                [*self.constants.values()],
            ),
            producer_name="unseen",
            opset_imports=[self.onnx.helper.make_opsetid("", 20)],
            ir_version=9,
        )


def start_session(graph: bytes | str, weights: Path | None = None) -> Any:
    """Let onnxruntime load a graph, without its reports to its makers.

    From 1.29 on its Linux and macOS wheels look up a host of Microsoft's as soon as
    they are loaded, unless this variable is set before. On Windows events go to the
    system's tracing, which a call turns off. What a graph takes from a file in the
    folder ``weights`` is mapped from there, not copied.
    """
    silence = "ORT_DISABLE_TELEMETRY"
    os.environ.setdefault(silence, "1")
    try:
        import onnxruntime
    except ImportError:
        raise needs_extra("onnxruntime", "photos", "Encoding photos") from None
    if os.environ[silence] == "1":
        onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only
    # Its threads would burn a tenth of the time of a run while photos are decoded.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if weights is not None:
        folder = "session.model_external_initializers_file_folder_path"
        options.add_session_config_entry(folder, str(weights))
        # Packing weights makes a copy of all of them, and is no faster here.
        options.add_session_config_entry("session.disable_prepacking", "1")
    return onnxruntime.InferenceSession(
        graph, options, providers=["CPUExecutionProvider"]
    )
