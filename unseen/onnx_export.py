"""A linear classifier as an ONNX graph: features in, scores and labels out.

x → x / |x| (if the model does) → x coefᵀ + intercept = scores → labels
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unseen._files import replace_file
from unseen.loading.parts import needs_extra

__all__ = ["export_onnx"]

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
        Who competes; by default as ``predict`` has it.

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
    >>> data = load_data("digits")
    >>> model = TSTD().fit(data.X_seen, data.y_seen,
    ...                    class_embeddings=data.class_embeddings).adapt(data.X_unseen)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = export_onnx(model, Path(folder) / "digits.onnx")
    ...     session = onnxruntime.InferenceSession(path)
    >>> X = data.X_unseen.astype(np.float32)
    >>> scores, labels = session.run(None, {"features": X})
    >>> bool(np.abs(scores - model.decision_function(X)).max() < 1e-5)
    True
    """
    try:
        import onnx

        from unseen import __version__
    except ImportError:
        raise needs_extra("onnx", "onnx", str(path)) from None
    coef, intercept, names, unit_rows = _linear_parts(model, classes)
    graph = _graph(onnx, coef, intercept, names, unit_rows, type(model).__name__)
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


def _linear_parts(
    model: Any, classes: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    check_is_fitted(model)
    for inner in ("best_estimator_", "base_"):
        while hasattr(model, inner) and not hasattr(model, "_current_scorer"):
            model = getattr(model, inner)
    if not hasattr(model, "_current_scorer"):
        raise TypeError(
            f"{type(model).__name__} has no linear scorer. Export a zero-shot model, "
            "or the last step of a pipeline."
        )
    competition = model._competition(classes)
    scorer = model._current_scorer(competition)
    return scorer.coef, scorer.intercept, competition.names, bool(model._unit_rows())


def _graph(
    onnx: Any,
    coef: np.ndarray,
    intercept: np.ndarray,
    names: np.ndarray,
    unit_rows: bool,
    title: str,
) -> Any:
    node, kinds = onnx.helper.make_node, onnx.TensorProto
    constants = {"coef": coef.T, "intercept": intercept}
    nodes = [node("MatMul", ["features", "coef"], ["raw"])]
    raw = "raw"
    if unit_rows:  # a row of zeros has length 1, as in the model
        constants |= {"zero": np.zeros(()), "one": np.ones(())}
        nodes += [
            node("ReduceL2", ["features"], ["length"], axes=[1], keepdims=1),
            node("Greater", ["length", "zero"], ["has_length"]),
            node("Where", ["has_length", "length", "one"], ["divisor"]),
            node("Div", ["raw", "divisor"], ["scaled"]),
        ]
        raw = "scaled"
    nodes += [
        node("Add", [raw, "intercept"], ["scores"]),
        node("ArgMax", ["scores"], ["best"], axis=1, keepdims=0),
        node("Gather", ["names", "best"], ["labels"]),
    ]
    weights = [
        onnx.numpy_helper.from_array(np.ascontiguousarray(v, dtype=np.float32), k)
        for k, v in constants.items()
    ]
    whole = names.dtype.kind in "iu"
    labels = names.astype(np.int64) if whole else names.astype(str).astype(object)
    weights.append(onnx.numpy_helper.from_array(labels, "names"))
    info = onnx.helper.make_tensor_value_info
    return onnx.helper.make_graph(
        nodes,
        title,
        [info("features", kinds.FLOAT, ["n", coef.shape[1]])],
        [
            info("scores", kinds.FLOAT, ["n", len(names)]),
            info("labels", kinds.INT64 if whole else kinds.STRING, ["n"]),
        ],
        weights,
    )
