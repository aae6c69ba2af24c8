"""Methods that studies compare and nobody would use: ablations and baselines."""

from __future__ import annotations

from typing import Any

from baselines import KMeans, NamesAlone, PlainEM

from unseen.methods import AST, METHODS, RATES, ROWS, SHARP, register

# What each ingredient of AST is worth.
ABLATION: dict[str, dict[str, Any]] = {
    "no whitening": {"whitening": None},
    "no anchor": {"kappa": 0.0},
    "20 rounds": {"max_rounds": 20},
    "100 axes": {"n_axes": 100},
    "300 axes": {"n_axes": 300},
}
for _change, _parameters in ABLATION.items():
    register(
        f"ast: {_change}",
        f"AST, {_change}",
        "AnchoredSelfTraining",
        parameters=_parameters,
        adapts=True,
    )

# What defaults were chosen from, on seen classes alone.
STUDY: dict[str, dict[str, list]] = {
    "devise": {"learning_rate": [0.03, *RATES], "batch_size": [64, 256, 1024]},
    "ale": {"learning_rate": [0.1, *RATES], "average": [True, False]},
    "sje": {"learning_rate": [*RATES, 30.0], "margin": [0.1, 0.3, 1.0]},
    "latem": {"learning_rate": [*RATES[1:], 30.0, 100.0], "n_maps": [1, 2, 4]},
    "sync-one": {"lam": [1e-6, 1e-5, 1e-4, 1e-3], "sharpness": [0.1, *SHARP]},
    "sync": {"lam": [1e-5, 1e-4, 1e-3], "smoothing": [0.03, 0.1, 0.3]},
    "ast": {
        "kappa": [1.0, 2.0, 4.0, 6.0, 8.0, 16.0],
        "n_axes": [300, 500, 1000],
        "whitening": [0.03, 0.1, 0.3],
    },
}
for _name, _grids in STUDY.items():
    for _parameter, _values in _grids.items():
        _fixed = {k: v for k, v in METHODS[_name].parameters.items() if k != _parameter}
        register(
            f"{_name}: {_parameter}",
            METHODS[_name].label,
            METHODS[_name].estimator,
            parameters=_fixed,
            adapts=METHODS[_name].adapts,
            **{_parameter: _values},
            **(ROWS if METHODS[_name].from_rows else {"cost": 30}),
        )

# What has to be beaten: from AST's start in its whitened space, or from names alone.
BASELINE: dict[str, Any] = {
    "parameters": {"centred": False},
    "alone": {"centred": True},
    **AST,
}
register("k-means", "k-means", KMeans, **BASELINE)
register("em", "Plain EM", PlainEM, **BASELINE)
register("names-centred", "Names, centred", NamesAlone, **BASELINE)
register("names-plain", "Names, plain", NamesAlone, **BASELINE | {"alone": {}})

# What the guided mixture could be instead: one parameter at a time.
GUIDED: dict[str, list[float]] = {"plain": [0.0, 0.25, 1.0], "n_neighbors": [0, 3, 10]}
for _parameter, _values in GUIDED.items():
    for _value in _values:
        register(
            f"guided: {_parameter} {_value:g}",
            f"{_parameter.replace('_', ' ')} {_value:g}",
            "GuidedMixture",
            alone={_parameter: _value},
            adapts=True,
        )
