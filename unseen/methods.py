"""The registry of methods: name, estimator, what is searched of it, what it needs.

``unseen run``, comparisons and every plan of the experiments take methods from here, so
that a method has one grid and one number. A method that is not built yet is registered
by the name it will have in ``unseen``: its row prints as ``—`` until that name exists.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from unseen.models.jedm import Reading
from unseen.trust.search import PAPER_GRID, ClasswiseSearchCV

__all__ = ["METHODS", "Method", "find_method", "register"]

GRID = list(PAPER_GRID)


@dataclass(frozen=True)
class Method:
    """A method of the tables.

    Parameters
    ----------
    name : str
        What plans and ``results.csv`` call it.
    label : str
        What tables call it.
    estimator : str or class
        Its name in ``unseen``; a class of no public name is for comparison only.
    parameters : dict
        Fixed for all data.
    grid : dict
        Searched by class-wise cross-validation on the seen classes.
    start : str or None
        The method whose winner it starts from: given as ``estimator`` if the method
        takes one, else by its parameters.
    adapts : bool
        Whether ``adapt`` is called, in the search and at the end.
    n_seeds : int
        Seeds of ``random_state``, 1 if nothing is drawn.
    from_rows : bool
        Whether it needs rows, not sums. Then it gets them on 300 principal axes, and
        is searched on three folds.
    detail : bool
        Whether accuracies and mistakes are also given class by class.
    alone : dict
        Parameters for prototypes alone, where they are others.
    cost : float
        Rough seconds of the first seed, which makes the search: for the order of
        runs and the time left only.
    """

    name: str
    label: str
    estimator: str | type
    parameters: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list] = field(default_factory=dict)
    start: str | None = None
    adapts: bool = False
    n_seeds: int = 1
    from_rows: bool = False
    detail: bool = False
    alone: dict[str, Any] = field(default_factory=dict)
    cost: float = 2.0

    @property
    def kind(self) -> Any:
        """Return the class of the estimator, None if it is not built."""
        import unseen

        if isinstance(self.estimator, str):
            return getattr(unseen, self.estimator, None)
        return self.estimator

    @property
    def built(self) -> bool:
        """Tell whether there is the estimator."""
        return self.kind is not None

    @property
    def offered(self) -> bool:
        """Tell whether one would use it: no baseline, no variant of an ablation."""
        is_public = isinstance(self.estimator, str)
        return self.built and is_public and ":" not in self.name

    def make(self, inner: Any = None) -> Any:
        """Return the estimator, around or from another if it starts from one.

        Examples
        --------
        >>> from unseen.methods import METHODS
        >>> METHODS["tstd"].make()
        TSTD()
        """
        build: Callable = self.kind
        if inner is None and self.start is not None:
            inner = METHODS[self.start].make()
        if inner is None:
            return build(**self.parameters)
        if "estimator" in build._parameter_constraints:  # type: ignore[attr-defined]
            return build(estimator=inner, **self.parameters)
        shared = set(inner.get_params()) & set(inspect.signature(build).parameters)
        taken = {name: inner.get_params()[name] for name in sorted(shared)}
        return build(**taken | self.parameters)

    @property
    def searchable(self) -> bool:
        """Tell whether it, or what it starts from, has a grid to search."""
        return bool(self.grid) or (
            self.start is not None and METHODS[self.start].searchable
        )

    def searched(self, X: Any, y: Any, class_embeddings: Any, *, n_folds: int) -> Any:
        """Return the estimator with the parameters that class-wise folds choose.

        What it starts from is searched first. It is not fitted yet.
        """
        start = None if self.start is None else METHODS[self.start]
        inner = start and start.searched(X, y, class_embeddings, n_folds=n_folds)
        model = self.make(inner)
        if not self.grid:
            return model
        search = ClasswiseSearchCV(
            model, self.grid, n_folds=n_folds, transductive=self.adapts
        )
        search.fit(X, y, class_embeddings=class_embeddings)
        return model.set_params(**search.best_params_)

    def from_prototypes(self, prototypes: Any) -> Any:
        """Return the estimator for prototypes alone, without any seen class."""
        return self.kind.from_prototypes(prototypes, **(self.alone or self.parameters))


METHODS: dict[str, Method] = {}


def register(name: str, label: str, estimator: str | type, **more: Any) -> Method:
    """Add a method; see :class:`Method` for what else can be said of it.

    Examples
    --------
    >>> from unseen.methods import METHODS, register
    >>> register("mine", "My own", "MyOwn", adapts=True).built
    False
    >>> del METHODS["mine"]
    """
    if name in METHODS:
        raise ValueError(f"There is a method {name!r} already. Choose another name.")
    METHODS[name] = Method(name, label, estimator, **more)
    return METHODS[name]


def find_method(name: str) -> Method:
    """Return a method for data of one's own, on rows as they are.

    Examples
    --------
    >>> from unseen.methods import find_method
    >>> find_method("esz")
    Traceback (most recent call last):
    ValueError: There is no method 'esz'. The methods are dap, iap, conse, ...
    """
    known = [method.name for method in METHODS.values() if method.offered]
    if name not in known:
        raise ValueError(
            f"There is no method {name!r}. The methods are {', '.join(known)}."
        )
    return replace(METHODS[name], from_rows=False)


# ---- inductive -----------------------------------------------------------------------

TENS = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
JEDM_GRID = {"alpha": GRID, "beta": GRID}
SHARP = [0.3, 1.0, 3.0]
GAUSSIAN = {"temperature": [1.0, 3.0, 10.0, 30.0], "shrinkage": [0.1, 1.0, 10.0]}
RATES = [0.3, 1.0, 3.0, 10.0]
ROWS: dict[str, Any] = {"from_rows": True, "cost": 12}
EPOCHS = {"max_iter": 30, "n_iter_no_change": 5}
RANKING: dict[str, Any] = {"parameters": EPOCHS, "n_seeds": 3, **ROWS}

register("dap", "DAP", "DAP", grid={"lam": TENS})
register("iap", "IAP", "IAP", grid=GAUSSIAN)
register("conse", "ConSE", "ConSE", grid={"n_top": [1, 3, 10, 30], **GAUSSIAN})
register("cca", "CCA", "CCA", grid={"regularisation": GRID, "power": [0, 1, 2, 4]})
register("eszsl", "ESZSL", "ESZSL", grid={"gamma": GRID, "lam": GRID})
register("to-semantic", "Ridge, rows to table", "RidgeToSemantic", grid={"lam": TENS})
register("to-visual", "Ridge, table to rows", "RidgeToVisual", grid={"lam": TENS})
register("sae", "SAE, table to rows", "SAE", grid={"lam": TENS})
register(
    "sae-to-semantic",
    "SAE, rows to table",
    "SAE",
    parameters={"direction": "to_semantic"},
    grid={"lam": TENS},
)
# The authors' score takes means and score lengths from the pile, so JEDM adapts.
register("jedm", "JEDM", "JEDM", grid=JEDM_GRID, adapts=True, n_seeds=3, cost=30)
register(
    "sync-squared",
    "SynC, squared loss",
    "SynC",
    parameters={"loss": "squared"},
    grid={"lam": [1e-6, 1e-5, 1e-4, 1e-3], "sharpness": SHARP},
)
register(
    "sync-one",
    "SynC, one-vs-other loss",
    "SynC",
    grid={"lam": [1e-6, 1e-5, 1e-4], "sharpness": SHARP},
    **ROWS,
)
register(
    "sync",
    "SynC",
    "SynC",
    parameters={"loss": "structured", "tol": 0.01},
    grid={"lam": [1e-5, 1e-4], "sharpness": SHARP},
    **ROWS,
)
register(
    "jlse",
    "JLSE",
    "JLSE",
    parameters={"tol": 0.01},
    grid={"softness": [0.01, 0.1, 1.0], "reconstruction": [0.1, 1.0]},
    **ROWS,
)
register("devise", "DeViSE", "DeViSE", grid={"learning_rate": RATES}, **RANKING)
register("ale", "ALE", "ALE", grid={"learning_rate": RATES}, **RANKING)
register(
    "sje",
    "SJE",
    "SJE",
    grid={"learning_rate": RATES[1:], "margin": [0.1, 1.0]},
    **RANKING,
)
register(
    "latem", "LatEm", "LatEm", grid={"learning_rate": [3.0, 10.0, 30.0]}, **RANKING
)
register(
    "latem-one",
    "LatEm, one map",
    "LatEm",
    grid={"learning_rate": [3.0, 10.0, 30.0]},
    **{**RANKING, "parameters": {**EPOCHS, "n_maps": 1}},
)

# ---- self-training -------------------------------------------------------------------

ROUNDS = {"lam": GRID, "mu": GRID}
SELF: dict[str, Any] = {"grid": ROUNDS, "adapts": True, "cost": 30}
WHITE = {"whitening": 0.1}

register("cca-st", "CCA-ST", "SelfTraining", start="cca", **SELF)
register("eszsl-st", "ESZSL-ST", "SelfTraining", start="eszsl", **SELF)
register("tstd", "TSTD", "TSTD", start="jedm", n_seeds=3, detail=True, **SELF)
register("tstd-authors", "TSTD, authors' settings", "TSTD", adapts=True, n_seeds=3)
register("jedm-authors", "JEDM, authors' settings", "JEDM", adapts=True, n_seeds=3)
# Both readings of the paper: the authors' program above, the printed equations here.
PRINTED: dict[str, dict[str, Any]] = {
    "printed": {"reading": "paper"},
    "printed-tuned": {"reading": "paper", "alpha": 0.01, "beta": 100.0},
}
for _name, _settings in PRINTED.items():
    _common: dict[str, Any] = {"parameters": _settings, "adapts": True}
    register(f"jedm-{_name}", "JEDM, as printed", "JEDM", **_common)
    register(f"tstd-{_name}", "TSTD, as printed", "TSTD", **_common)
register(
    "cca-white", "CCA, whitened", "CCA", parameters=WHITE, grid=METHODS["cca"].grid
)
register("cca-white-st", "CCA-ST, whitened", "SelfTraining", start="cca-white", **SELF)
register(
    "eszsl-white",
    "ESZSL, whitened",
    "ESZSL",
    parameters=WHITE,
    grid=METHODS["eszsl"].grid,
)
register(
    "eszsl-white-st", "ESZSL-ST, whitened", "SelfTraining", start="eszsl-white", **SELF
)
register(
    "jedm-white",
    "JEDM, whitened",
    "JEDM",
    parameters={**WHITE, "n_axes": 500},
    grid={
        "alpha": [0.01, 0.1, 1.0],
        "reading": [Reading(0.1, unit_prototypes=True), Reading(unit_prototypes=True)],
    },
    cost=15,
)
register(
    "tstd-white",
    "TSTD, whitened",
    "TSTD",
    start="jedm-white",
    grid={"lam": [0.1, 1.0, 10.0], "mu": [0.1, 1.0, 10.0]},
    adapts=True,
    cost=25,
)

# ---- transductive: of the paper's Table VI, and of today; one start for those that
# relabel. What folds of seen classes can tell is searched, the rest is the default.

AST: dict[str, Any] = {"start": "ast", "adapts": True, "cost": 10}
OWN: dict[str, Any] = {"adapts": True, "cost": 15}
LATENT = {"n_components": [50, 150, 300], "alpha": [0.01, 0.1]}

register("tmv-hlp", "TMV-HLP", "TMVHLP", **AST)
register(
    "sms",
    "SMS",
    "SMS",
    start="eszsl",
    grid={"gamma": [0.1, 1.0], "lam": [0.1, 1.0]},
    **OWN,
)
register(
    "uda",
    "Kodirov et al.",
    "KodirovUDA",
    # Without sparsity, which folds cannot tell from a little: the codes in one solve.
    parameters={"sparsity": 0.0},
    grid={"near": [10.0, 100.0], "pull": [0.01, 0.1]},
    **OWN,
)
register(
    "bidilel",
    "Wang et al. (BiDiLEL)",
    "BiDiLEL",
    parameters={"transduction": "structured"},
    grid=LATENT,
    n_seeds=3,
    **OWN,
)
register("pst", "PST", "PST", grid={"alpha": [0.5, 0.9]}, **AST)
register(
    "transclip",
    "TransCLIP",
    "TransCLIP",
    grid={"likelihood_weight": [0.005, 0.02, 0.1]},
    **AST,
)
register("zlap", "ZLaP", "ZLaP", grid={"alpha": [0.3, 0.7]}, **AST)
register("stata", "StatA", "StatA", **AST)
register(
    "adapt",
    "ADAPT",
    "GaussianAlignment",
    parameters={"prior": "probabilities"},
    alone={"prior": "logits"},
    **AST,
)
register("em-dirichlet", "EM-Dirichlet", "EMDirichlet", **AST)
register("otter", "OTTER", "OTTER", **AST)
register("csls", "CSLS", "CSLS", grid={"n_neighbors": [5, 10, 30]}, **AST)
register("spreading", "Label spreading", "SpreadLabels", **AST)
register("global", "Global correction", "GlobalCorrection", **AST)
register("normalised", "Normalised scores", "NormalisedScores", **AST)
register(
    "inverted",
    "Inverted softmax",
    "InvertedSoftmax",
    grid={"beta": [0.1, 0.3, 1.0]},
    **AST,
)
register("averaging", "Prototype averaging", "PrototypeAveraging", **AST)

# ---- ours ---------------------------------------------------------------------------

register("ast", "AST (ours)", "AnchoredSelfTraining", adapts=True, detail=True)
register("guided", "Guided mixture (ours)", "GuidedMixture", adapts=True)
