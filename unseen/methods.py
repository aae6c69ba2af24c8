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

GRID = list(PAPER_GRID)


@dataclass(frozen=True)
class Method:
    """A method as it appears in the tables.

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
    alone : dict
        Parameters that differ when there are prototypes but no labelled rows.
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

    def searched(
        self, X: Any, y: Any, class_embeddings: Any, *, n_folds: int, inner: Any = None
    ) -> Any:
        """Return the estimator with the parameters that class-wise folds choose.

        What it starts from is searched first, unless it is given as ``inner``. It is
        not fitted yet.
        """
        if inner is None and self.start is not None:
            start = METHODS[self.start]
            inner = start.searched(X, y, class_embeddings, n_folds=n_folds)
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


def register(
    name: str,
    label: str,
    estimator: str | type,
    parameters: dict[str, Any] | None = None,
    **more: Any,
) -> Method:
    """Add a method; of what else is said of it, every list is searched.

    See :class:`Method` for what can be said.

    Examples
    --------
    >>> from unseen.methods import METHODS, register
    >>> register("mine", "My own", "ESZSL", {"gamma": 10.0}, lam=[0.1, 1.0]).make()
    ESZSL(gamma=10.0)
    >>> METHODS.pop("mine").grid
    {'lam': [0.1, 1.0]}
    """
    if name in METHODS:
        raise ValueError(f"There is a method {name!r} already. Choose another name.")
    grid = {key: more.pop(key) for key in list(more) if isinstance(more[key], list)}
    METHODS[name] = Method(name, label, estimator, parameters or {}, grid, **more)
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


# ---- the methods: fixed parameters, then what is searched, then what it needs --------

TENS = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
SHARP = [0.3, 1.0, 3.0]
RATES = [0.3, 1.0, 3.0, 10.0]
FEW = [0.1, 1.0, 10.0]
GAUSSIAN: dict[str, Any] = {
    "temperature": [1.0, 3.0, 10.0, 30.0],
    "shrinkage": [0.1, 1.0, 10.0],
}
OF_CCA: dict[str, Any] = {"regularisation": GRID, "power": [0, 1, 2, 4]}
OF_ESZSL: dict[str, Any] = {"gamma": GRID, "lam": GRID}


# Inductive.

ROWS: dict[str, Any] = {"from_rows": True, "cost": 12}
EPOCHS = {"max_iter": 30, "n_iter_no_change": 5}
RANKING: dict[str, Any] = {"parameters": EPOCHS, "n_seeds": 3, **ROWS}
LATEM: dict[str, Any] = {"learning_rate": [3.0, 10.0, 30.0], "n_seeds": 3, **ROWS}
JEDM: dict[str, Any] = {"alpha": GRID, "beta": GRID, "n_seeds": 3, "cost": 30}

register("dap", "DAP", "DAP", lam=TENS)
register("iap", "IAP", "IAP", **GAUSSIAN)
register("conse", "ConSE", "ConSE", n_top=[1, 3, 10, 30], **GAUSSIAN)
register("cca", "CCA", "CCA", **OF_CCA)
register("eszsl", "ESZSL", "ESZSL", **OF_ESZSL)
_l21 = {"penalty": "l21"}
register("eszsl-l21", "Qiao et al. (ESZSL with ℓ2,1)", "ESZSL", _l21, **OF_ESZSL)
register("to-semantic", "Ridge, rows to table", "RidgeToSemantic", lam=TENS)
register("to-visual", "Ridge, table to rows", "RidgeToVisual", lam=TENS)
register("sae", "SAE, table to rows", "SAE", lam=TENS)
_back = {"direction": "to_semantic"}
register("sae-to-semantic", "SAE, rows to table", "SAE", _back, lam=TENS)
# The authors' score takes means and score lengths from all rows, so JEDM adapts.
register("jedm", "JEDM", "JEDM", adapts=True, **JEDM)
_lam = [1e-6, 1e-5, 1e-4, 1e-3]
_loss = {"loss": "squared"}
register("sync-squared", "SynC, squared loss", "SynC", _loss, lam=_lam, sharpness=SHARP)
_one = "SynC, one-vs-other loss"
register("sync-one", _one, "SynC", lam=_lam[:3], sharpness=SHARP, **ROWS)
_hinge = {"loss": "structured", "tol": 0.01}
register("sync", "SynC", "SynC", _hinge, lam=_lam[1:3], sharpness=SHARP, **ROWS)
# By its defaults: it has many weights, and a fit of AwA takes half a minute.
register("jlse", "JLSE", "JLSE", {"tol": 0.01}, from_rows=True, cost=30)
register("devise", "DeViSE", "DeViSE", learning_rate=RATES, **RANKING)
register("ale", "ALE", "ALE", learning_rate=RATES, **RANKING)
register("sje", "SJE", "SJE", learning_rate=RATES[1:], margin=[0.1, 1.0], **RANKING)
register("latem", "LatEm", "LatEm", EPOCHS, **LATEM)
register("latem-one", "LatEm, one map", "LatEm", {**EPOCHS, "n_maps": 1}, **LATEM)

# Self-training, and both readings of the paper: the authors' program, and the equations
# as they are printed.

SELF: dict[str, Any] = {"adapts": True, "cost": 30, "lam": GRID, "mu": GRID}
PRINTED = {"reading": "paper"}
WHITE = {"whitening": 0.1}

register("cca-st", "CCA-ST", "SelfTraining", start="cca", **SELF)
register("eszsl-st", "ESZSL-ST", "SelfTraining", start="eszsl", **SELF)
register("tstd", "TSTD", "TSTD", start="jedm", n_seeds=3, **SELF)
register("tstd-authors", "TSTD, authors' settings", "TSTD", adapts=True, n_seeds=3)
register("jedm-authors", "JEDM, authors' settings", "JEDM", adapts=True, n_seeds=3)
register("tstd-printed", "TSTD, as printed", "TSTD", PRINTED, adapts=True)
register("jedm-cv", "JEDM, as printed, searched", "JEDM", PRINTED, adapts=True, **JEDM)
# Section III-F implies a dictionary as large as the features, and no principal axes.
# Five sweeps, after which the objective hardly falls: each takes many seconds.
WIDE = {"reading": Reading(max_iter=5), "n_axes": "all", "n_components": 1000}
register("tstd-wide", "TSTD, d = 1,000, no axes", "TSTD", WIDE, adapts=True, cost=100)
_cv: dict[str, Any] = {"start": "jedm-cv", "n_seeds": 3, **SELF}
register("tstd-cv", "TSTD, as printed, searched", "TSTD", PRINTED, **_cv)
for _kind in ("CCA", "ESZSL"):
    _name = f"{_kind.lower()}-default"
    register(_name, f"{_kind}, defaults", _kind)
    _label = f"{_kind}-ST, defaults"
    register(f"{_name}-st", _label, "SelfTraining", start=_name, adapts=True)
for _kind, _grid in {"CCA": OF_CCA, "ESZSL": OF_ESZSL}.items():
    _name = f"{_kind.lower()}-white"
    register(_name, f"{_kind}, whitened", _kind, WHITE, **_grid)
    _label = f"{_kind}-ST, whitened"
    register(f"{_name}-st", _label, "SelfTraining", start=_name, **SELF)
_readings = [Reading(0.1, unit_prototypes=True), Reading(unit_prototypes=True)]
_white: dict[str, Any] = {"alpha": [0.01, 0.1, 1.0], "reading": _readings, "cost": 15}
register("jedm-white", "JEDM, whitened", "JEDM", {**WHITE, "n_axes": 500}, **_white)
_after: dict[str, Any] = {"start": "jedm-white", "adapts": True, "cost": 25}
register("tstd-white", "TSTD, whitened", "TSTD", lam=FEW, mu=FEW, **_after)

# Transductive: of the paper's Table VI, and of today; one start for those that relabel.
# What folds of seen classes can tell is searched, the rest is the default.

AST: dict[str, Any] = {"start": "ast", "adapts": True, "cost": 10}
OWN: dict[str, Any] = {"adapts": True, "cost": 15}

register("tmv-hlp", "TMV-HLP", "TMVHLP", **AST)
register("sms", "SMS", "SMS", gamma=FEW[:2], lam=FEW[:2], start="eszsl", **OWN)
_uda: dict[str, Any] = {"near": [10.0, 100.0], "pull": [0.01, 0.1]}
register("uda", "Kodirov et al.", "KodirovUDA", **_uda, **OWN)
_wang: dict[str, Any] = {"n_components": [50, 150, 300], "alpha": [0.01, 0.1]}
_wang |= {"parameters": {"transduction": "structured"}, "n_seeds": 3}
register("bidilel", "Wang et al. (BiDiLEL)", "BiDiLEL", **_wang, **OWN)
register("pst", "PST", "PST", alpha=[0.5, 0.9], **AST)
_clip: dict[str, Any] = {"likelihood_weight": [0.005, 0.02, 0.1], **AST}
register("transclip", "TransCLIP", "TransCLIP", **_clip)
register("zlap", "ZLaP", "ZLaP", alpha=[0.3, 0.7], **AST)
register("stata", "StatA", "StatA", **AST)
_gauss: dict[str, Any] = {"alone": {"prior": "logits"}, **AST}
register("adapt", "ADAPT", "GaussianAlignment", {"prior": "probabilities"}, **_gauss)
register("em-dirichlet", "EM-Dirichlet", "EMDirichlet", **AST)
register("otter", "OTTER", "OTTER", **AST)
register("csls", "CSLS", "CSLS", n_neighbors=[5, 10, 30], **AST)
register("spreading", "Label spreading", "SpreadLabels", **AST)
register("global", "Global correction", "GlobalCorrection", **AST)
register("normalised", "Normalised scores", "NormalisedScores", **AST)
register("inverted", "Inverted softmax", "InvertedSoftmax", beta=[0.1, 0.3, 1.0], **AST)
register("averaging", "Prototype averaging", "PrototypeAveraging", **AST)
_xu: dict[str, Any] = {**AST, "start": "to-semantic"}
register("xu", "Xu et al. (self-training)", "PrototypeAveraging", **_xu)

# Ours.

register("ast", "AST (ours)", "AnchoredSelfTraining", adapts=True)
register("guided", "Guided mixture (ours)", "GuidedMixture", adapts=True)
