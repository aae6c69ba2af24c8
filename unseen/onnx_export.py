"""A linear classifier as an ONNX graph: features in, scores and labels out.

x → x / |x| (if the model does) → x coefᵀ + intercept = scores → labels

A model that turns rows first has, after x / |x|: x - mean → x / |x turn|.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unseen._command import optional
from unseen.files import replace_file

OPSET, IR_VERSION = 17, 8  # old enough for every runtime in use


def export_onnx(
    model: Any, path: str | os.PathLike[str], *, classes: Any = None
) -> Path:
    """Write a fitted or adapted linear model as an ONNX file.

    Parameters
    ----------
    model : zero-shot model, or SelfTraining or ClasswiseSearchCV around one
    path : path
        Where to; the file appears whole or not at all.
    classes : optional
        The candidates; by default as in ``predict``.

    Returns
    -------
    Path
        The file written. Its input ``features`` is float32 of shape (n, n_features);
        its outputs are ``scores`` of shape (n, n_competing) and ``labels``, strings or
        whole numbers, of shape (n,).

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> import onnxruntime
    >>> from unseen import TSTD, load_data
    >>> from unseen.onnx_export import export_onnx
    >>> data = load_data("photos-200")
    >>> model = TSTD().fit(data.X_seen, data.y_seen,
    ...                    class_embeddings=data.class_embeddings).adapt(data.X_unseen)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = export_onnx(model, Path(folder) / "photos.onnx")
    ...     session = onnxruntime.InferenceSession(path)
    >>> X = data.X_unseen.astype(np.float32)
    >>> scores, labels = session.run(None, {"features": X})
    >>> bool(np.abs(scores - model.decision_function(X)).max() < 1e-5)
    True
    """
    from unseen import __version__

    onnx = optional("onnx", "files", str(path))
    check_is_fitted(model)
    rule = model._rule(model._asked(classes)) if hasattr(model, "_rule") else None
    if not hasattr(rule, "scorer"):  # it is not linear
        raise TypeError(
            f"{type(model).__name__} has no linear scores. Export a model whose scores "
            "are linear, or the last step of a pipeline."
        )
    graph = _graph(onnx, rule, type(model).__name__)
    made = onnx.helper.make_model(
        graph,
        producer_name="unseen",
        producer_version=__version__,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    onnx.checker.check_model(made, full_check=True)
    path = Path(path)
    with replace_file(path) as file:
        file.write(made.SerializeToString())
    return path


def _graph(onnx: Any, rule: Any, title: str) -> Any:
    node, kinds = onnx.helper.make_node, onnx.TensorProto
    candidates, (coef, intercept), unit_rows, turning = rule
    constants = {"coef": coef.T, "intercept": intercept}
    rows, measured, nodes = "features", "features", []
    if turning is not None:
        constants |= {"mean": turning.mean, "turn": turning.turn}
        rows, measured = "centred", "turned"
        nodes += [
            *_divided(node, "features", "features", "unit"),
            node("Sub", ["unit", "mean"], ["centred"]),
            node("MatMul", ["centred", "turn"], ["turned"]),
        ]
    nodes.append(node("MatMul", [rows, "coef"], ["raw"]))
    raw = "raw"
    if unit_rows or turning is not None:
        constants |= {"zero": np.zeros(()), "one": np.ones(())}
        nodes += _divided(node, "raw", measured, "scaled")
        raw = "scaled"
    # Classes with equal descriptions are scored once, and shown in every column.
    columns = candidates.spread(np.arange(len(candidates)))
    nodes += [
        node("Add", [raw, "intercept"], ["distinct"]),
        node("ArgMax", ["distinct"], ["best"], axis=1, keepdims=0),
        node("Gather", ["names", "best"], ["labels"]),
        node("Gather", ["distinct", "columns"], ["scores"], axis=1),
    ]
    weights = [
        onnx.numpy_helper.from_array(np.ascontiguousarray(v, dtype=np.float32), k)
        for k, v in constants.items()
    ]
    names = candidates.names
    whole = names.dtype.kind in "iu"
    labels = names.astype(np.int64) if whole else names.astype(str).astype(object)
    weights.append(onnx.numpy_helper.from_array(labels, "names"))
    weights.append(onnx.numpy_helper.from_array(columns.astype(np.int64), "columns"))
    info = onnx.helper.make_tensor_value_info
    return onnx.helper.make_graph(
        nodes,
        title,
        [info("features", kinds.FLOAT, ["n", coef.shape[1]])],
        [
            info("scores", kinds.FLOAT, ["n", len(columns)]),
            info("labels", kinds.INT64 if whole else kinds.STRING, ["n"]),
        ],
        weights,
    )


def _divided(node: Any, what: str, by_length_of: str, result: str) -> list[Any]:
    """Divide by the length of rows; a row of zeros has length 1, as in the model."""
    length, has, divisor = (f"{result}_{part}" for part in ("length", "has", "by"))
    return [
        node("ReduceL2", [by_length_of], [length], axes=[1], keepdims=1),
        node("Greater", [length, "zero"], [has]),
        node("Where", [has, length, "one"], [divisor]),
        node("Div", [what, divisor], [result]),
    ]
