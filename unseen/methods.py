"""The registry of methods: name, estimator, what is searched of it, what it needs.

``unseen run``, comparisons and every plan of the experiments take methods from here, so
that a method has one grid and one number.
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
        """Return the class of the estimator."""
        import unseen

        if isinstance(self.estimator, str):
            return getattr(unseen, self.estimator)
        return self.estimator

    @property
    def offered(self) -> bool:
        """Tell whether one would use it: no baseline, no variant of an ablation."""
        return isinstance(self.estimator, str) and ":" not in self.name

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
    >>> register("mine", "My own", "ESZSL", parameters={"gamma": 10.0}).make()
    ESZSL(gamma=10.0)
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


# ---- what is searched, and what is fixed ---------------------------------------------

TENS = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
SHARP = [0.3, 1.0, 3.0]
RATES = [0.3, 1.0, 3.0, 10.0]
GAUSSIAN = {"temperature": [1.0, 3.0, 10.0, 30.0], "shrinkage": [0.1, 1.0, 10.0]}
CCA: dict[str, list] = {"regularisation": GRID, "power": [0, 1, 2, 4]}
ESZSL: dict[str, list] = {"gamma": GRID, "lam": GRID}
ROUNDS = {"lam": GRID, "mu": GRID}
FEW = [0.1, 1.0, 10.0]
WHITE_READINGS = [Reading(0.1, unit_prototypes=True), Reading(unit_prototypes=True)]

GRIDS: dict[str, dict[str, list]] = {
    "dap": {"lam": TENS},
    "iap": GAUSSIAN,
    "conse": {"n_top": [1, 3, 10, 30], **GAUSSIAN},
    "cca": CCA,
    "eszsl": ESZSL,
    "to-semantic": {"lam": TENS},
    "to-visual": {"lam": TENS},
    "sae": {"lam": TENS},
    "sae-to-semantic": {"lam": TENS},
    "jedm": {"alpha": GRID, "beta": GRID},
    "sync-squared": {"lam": [1e-6, 1e-5, 1e-4, 1e-3], "sharpness": SHARP},
    "sync-one": {"lam": [1e-6, 1e-5, 1e-4], "sharpness": SHARP},
    "sync": {"lam": [1e-5, 1e-4], "sharpness": SHARP},
    "jlse": {"softness": [0.01, 0.1, 1.0], "reconstruction": [0.1, 1.0]},
    "devise": {"learning_rate": RATES},
    "ale": {"learning_rate": RATES},
    "sje": {"learning_rate": RATES[1:], "margin": [0.1, 1.0]},
    "latem": {"learning_rate": [3.0, 10.0, 30.0]},
    "latem-one": {"learning_rate": [3.0, 10.0, 30.0]},
    "cca-st": ROUNDS,
    "eszsl-st": ROUNDS,
    "tstd": ROUNDS,
    "cca-white": CCA,
    "cca-white-st": ROUNDS,
    "eszsl-white": ESZSL,
    "eszsl-white-st": ROUNDS,
    "jedm-white": {"alpha": [0.01, 0.1, 1.0], "reading": WHITE_READINGS},
    "tstd-white": {"lam": FEW, "mu": FEW},
    # What folds of seen classes can tell is searched, the rest is the default.
    "sms": {"gamma": [0.1, 1.0], "lam": [0.1, 1.0]},
    "uda": {"near": [10.0, 100.0], "pull": [0.01, 0.1]},
    "bidilel": {"n_components": [50, 150, 300], "alpha": [0.01, 0.1]},
    "pst": {"alpha": [0.5, 0.9]},
    "transclip": {"likelihood_weight": [0.005, 0.02, 0.1]},
    "zlap": {"alpha": [0.3, 0.7]},
    "csls": {"n_neighbors": [5, 10, 30]},
    "inverted": {"beta": [0.1, 0.3, 1.0]},
}
EPOCHS = {"max_iter": 30, "n_iter_no_change": 5}
WHITE = {"whitening": 0.1}
PRINTED = {"reading": "paper"}
FIXED: dict[str, dict[str, Any]] = {
    "sae-to-semantic": {"direction": "to_semantic"},
    "sync-squared": {"loss": "squared"},
    "sync": {"loss": "structured", "tol": 0.01},
    "jlse": {"tol": 0.01},
    **dict.fromkeys(("devise", "ale", "sje", "latem"), EPOCHS),
    "latem-one": {**EPOCHS, "n_maps": 1},
    # Both readings of the paper: the authors' program, and the printed equations.
    "jedm-printed": PRINTED,
    "tstd-printed": PRINTED,
    "jedm-printed-tuned": {**PRINTED, "alpha": 0.01, "beta": 100.0},
    "tstd-printed-tuned": {**PRINTED, "alpha": 0.01, "beta": 100.0},
    "cca-white": WHITE,
    "eszsl-white": WHITE,
    "jedm-white": {**WHITE, "n_axes": 500},
    # Without sparsity, which folds cannot tell from a little: the codes in one solve.
    "uda": {"sparsity": 0.0},
    "bidilel": {"transduction": "structured"},
    "adapt": {"prior": "probabilities"},
}


def _register(name: str, label: str, estimator: str, **more: Any) -> None:
    grid, parameters = GRIDS.get(name, {}), FIXED.get(name, {})
    register(name, label, estimator, grid=grid, parameters=parameters, **more)


# ---- inductive -----------------------------------------------------------------------

ROWS: dict[str, Any] = {"from_rows": True, "cost": 12}
RANKING: dict[str, Any] = {"n_seeds": 3, **ROWS}

_register("dap", "DAP", "DAP")
_register("iap", "IAP", "IAP")
_register("conse", "ConSE", "ConSE")
_register("cca", "CCA", "CCA")
_register("eszsl", "ESZSL", "ESZSL")
_register("to-semantic", "Ridge, rows to table", "RidgeToSemantic")
_register("to-visual", "Ridge, table to rows", "RidgeToVisual")
_register("sae", "SAE, table to rows", "SAE")
_register("sae-to-semantic", "SAE, rows to table", "SAE")
# The authors' score takes means and score lengths from all rows, so JEDM adapts.
_register("jedm", "JEDM", "JEDM", adapts=True, n_seeds=3, cost=30)
_register("sync-squared", "SynC, squared loss", "SynC")
_register("sync-one", "SynC, one-vs-other loss", "SynC", **ROWS)
_register("sync", "SynC", "SynC", **ROWS)
_register("jlse", "JLSE", "JLSE", **ROWS)
_register("devise", "DeViSE", "DeViSE", **RANKING)
_register("ale", "ALE", "ALE", **RANKING)
_register("sje", "SJE", "SJE", **RANKING)
_register("latem", "LatEm", "LatEm", **RANKING)
_register("latem-one", "LatEm, one map", "LatEm", **RANKING)

# ---- self-training -------------------------------------------------------------------

SELF: dict[str, Any] = {"adapts": True, "cost": 30}

_register("cca-st", "CCA-ST", "SelfTraining", start="cca", **SELF)
_register("eszsl-st", "ESZSL-ST", "SelfTraining", start="eszsl", **SELF)
_register("tstd", "TSTD", "TSTD", start="jedm", n_seeds=3, detail=True, **SELF)
_register("tstd-authors", "TSTD, authors' settings", "TSTD", adapts=True, n_seeds=3)
_register("jedm-authors", "JEDM, authors' settings", "JEDM", adapts=True, n_seeds=3)
for _which in ("printed", "printed-tuned"):
    _register(f"jedm-{_which}", "JEDM, as printed", "JEDM", adapts=True)
    _register(f"tstd-{_which}", "TSTD, as printed", "TSTD", adapts=True)
for _base in ("CCA", "ESZSL"):
    _white, _start = f"{_base}, whitened", f"{_base.lower()}-white"
    _register(_start, _white, _base)
    _st = f"{_base}-ST, whitened"
    _register(f"{_start}-st", _st, "SelfTraining", start=_start, **SELF)
_register("jedm-white", "JEDM, whitened", "JEDM", cost=15)
_register(
    "tstd-white", "TSTD, whitened", "TSTD", start="jedm-white", adapts=True, cost=25
)

# ---- transductive: of the paper's Table VI, and of today; one start for those that
# relabel.

AST: dict[str, Any] = {"start": "ast", "adapts": True, "cost": 10}
OWN: dict[str, Any] = {"adapts": True, "cost": 15}

_register("tmv-hlp", "TMV-HLP", "TMVHLP", **AST)
_register("sms", "SMS", "SMS", start="eszsl", **OWN)
_register("uda", "Kodirov et al.", "KodirovUDA", **OWN)
_register("bidilel", "Wang et al. (BiDiLEL)", "BiDiLEL", n_seeds=3, **OWN)
_register("pst", "PST", "PST", **AST)
_register("transclip", "TransCLIP", "TransCLIP", **AST)
_register("zlap", "ZLaP", "ZLaP", **AST)
_register("stata", "StatA", "StatA", **AST)
_register("adapt", "ADAPT", "GaussianAlignment", alone={"prior": "logits"}, **AST)
_register("em-dirichlet", "EM-Dirichlet", "EMDirichlet", **AST)
_register("otter", "OTTER", "OTTER", **AST)
_register("csls", "CSLS", "CSLS", **AST)
_register("spreading", "Label spreading", "SpreadLabels", **AST)
_register("global", "Global correction", "GlobalCorrection", **AST)
_register("normalised", "Normalised scores", "NormalisedScores", **AST)
_register("inverted", "Inverted softmax", "InvertedSoftmax", **AST)
_register("averaging", "Prototype averaging", "PrototypeAveraging", **AST)

# ---- ours ---------------------------------------------------------------------------

_register("ast", "AST (ours)", "AnchoredSelfTraining", adapts=True, detail=True)
_register("guided", "Guided mixture (ours)", "GuidedMixture", adapts=True)
