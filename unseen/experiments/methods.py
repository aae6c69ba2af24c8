"""The methods a plan may name: one line each, and what is searched of them.

A method that is not built yet is registered by the name it will have in ``unseen``:
its row prints as ``—`` until that name exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from unseen.model_selection import PAPER_GRID

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
    estimator : str
        Its name in ``unseen``.
    parameters : dict
        Fixed for all data.
    grid : dict
        Searched by class-wise cross-validation on the seen classes.
    start : str or None
        The method whose winner it starts from: given as ``base`` if the estimator
        takes one, else by its parameters.
    adapts : bool
        Whether ``adapt`` is called, in the search and at the end.
    n_seeds : int
        Seeds of ``random_state``, 1 if nothing is drawn.
    from_rows : bool
        Whether it needs rows, not sums. Then it gets them on 300 principal axes, and
        is searched on three folds.
    detail : bool
        Whether accuracies and mistakes are also told class by class.
    cost : float
        Rough seconds of the first seed, which makes the search: for the order of
        runs and the time left only.
    """

    name: str
    label: str
    estimator: str
    parameters: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list] = field(default_factory=dict)
    start: str | None = None
    adapts: bool = False
    n_seeds: int = 1
    from_rows: bool = False
    detail: bool = False
    cost: float = 2.0

    @property
    def built(self) -> bool:
        """Tell whether ``unseen`` has the estimator."""
        import unseen

        return hasattr(unseen, self.estimator)

    @property
    def offered(self) -> bool:
        """Tell whether one would use it: built, and no variant of an ablation."""
        return self.built and ":" not in self.name

    def make(self, base: Any = None) -> Any:
        """Return the estimator, around or from a base if it starts from one.

        Examples
        --------
        >>> from unseen.experiments.methods import METHODS
        >>> METHODS["tstd"].make(METHODS["jedm"].make())
        TSTD()
        """
        import unseen

        build: Callable = getattr(unseen, self.estimator)
        if base is None:
            return build(**self.parameters)
        if "base" in build._parameter_constraints:  # type: ignore[attr-defined]
            return build(base=base, **self.parameters)
        return build(**base.get_params(), **self.parameters)


METHODS: dict[str, Method] = {}


def register(name: str, label: str, estimator: str, **more: Any) -> Method:
    """Add a method; see :class:`Method` for what else can be said of it.

    Examples
    --------
    >>> from unseen.experiments.methods import METHODS, register
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
    >>> from unseen.experiments.methods import find_method
    >>> find_method("esz")
    Traceback (most recent call last):
    ValueError: There is no method 'esz'. The methods are dap, cca, eszsl, ...
    """
    known = [method.name for method in METHODS.values() if method.offered]
    if name not in known:
        raise ValueError(
            f"There is no method {name!r}. The methods are {', '.join(known)}."
        )
    return replace(METHODS[name], from_rows=False)


# ---- inductive: Tables III and IV ---------------------------------------------------

TENS = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
JEDM_GRID = {"alpha": GRID, "beta": GRID}
SHARP = [0.3, 1.0, 3.0]
ROWS: dict[str, Any] = {"from_rows": True}
EPOCHS = {"max_iter": 30, "n_iter_no_change": 5}

register("dap", "DAP", "DAP", grid={"lam": TENS})
register("cca", "CCA", "CCA", grid={"regularisation": GRID, "power": [0, 1, 2, 4]})
register("eszsl", "ESZSL", "ESZSL", grid={"gamma": GRID, "lam": GRID})
# The authors' score takes means and score lengths from the pile, so JEDM adapts.
register("jedm", "JEDM", "JEDM", grid=JEDM_GRID, adapts=True, n_seeds=3, cost=30)
register(
    "sync",
    "SynC",
    "SynC",
    parameters={"loss": "structured", "tol": 0.01},
    grid={"lam": [1e-5, 1e-4], "sharpness": SHARP},
    cost=15,
    **ROWS,
)
register(
    "jlse-lite",
    "JLSELite",
    "JLSELite",
    parameters={"tol": 0.003},
    grid={"softness": [0.01, 0.1, 1.0]},
    cost=15,
    **ROWS,
)
register(
    "sje",
    "SJE",
    "SJE",
    parameters=EPOCHS,
    grid={"learning_rate": [1.0, 10.0], "margin": [0.1, 1.0]},
    n_seeds=3,
    cost=12,
    **ROWS,
)
register(
    "latem",
    "LatEm",
    "LatEm",
    parameters=EPOCHS,
    grid={"learning_rate": [3.0, 10.0]},
    n_seeds=3,
    cost=12,
    **ROWS,
)

# ---- self-training: Table V ---------------------------------------------------------

ROUNDS = {"lam": GRID, "mu": GRID}
SELF: dict[str, Any] = {"grid": ROUNDS, "adapts": True, "cost": 30}

register("cca-st", "CCA-ST", "SelfTraining", start="cca", **SELF)
register("eszsl-st", "ESZSL-ST", "SelfTraining", start="eszsl", **SELF)
register("tstd", "TSTD", "TSTD", start="jedm", n_seeds=3, detail=True, **SELF)
register("tstd-authors", "TSTD, authors' settings", "TSTD", adapts=True, n_seeds=3)
register(
    "jedm-white",
    "JEDM, whitened",
    "JEDM",
    parameters={"whitening": 0.1, "unit_prototypes": True, "n_axes": 500},
    grid={"alpha": [0.01, 0.1, 1.0], "embedding_ridge": [0.1, 1.0]},
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

# ---- transductive: Table VI, and what one would reach for today; one start for all --

register("tmv-hlp", "TMV-HLP", "TMVHLP", start="ast", adapts=True)
register("sms", "SMS", "SMS", start="eszsl", adapts=True)
register("uda", "Kodirov et al.", "KodirovUDA", adapts=True)
register("bidilel", "Wang et al. (BiDiLEL)", "BiDiLEL", adapts=True)
register("pst", "PST", "PST", start="ast", adapts=True)
register("transclip", "TransCLIP", "TransCLIP", start="ast", adapts=True)
register("zlap", "ZLaP", "ZLaP", start="ast", adapts=True)
register("em-dirichlet", "EM-Dirichlet", "EMDirichlet", start="ast", adapts=True)
register("otter", "OTTER", "OTTER", start="ast", adapts=True)
register("csls", "CSLS", "CSLS", start="ast", adapts=True)
register("spreading", "Label spreading", "SpreadLabels", start="ast", adapts=True)
register("inverted", "Inverted softmax", "InvertedSoftmax", start="ast", adapts=True)
register(
    "averaging", "Prototype averaging", "PrototypeAveraging", start="ast", adapts=True
)

# ---- ours, and what each ingredient of it is worth ----------------------------------

register("ast", "AST (ours)", "AnchoredSelfTraining", adapts=True, detail=True)
ABLATION: dict[str, dict[str, Any]] = {
    "no whitening": {"whiten": False},
    "linear kernel only": {"kernels": ["linear"]},
    "prototypes of any length": {"equal_prototypes": False},
    "one variance for all directions": {"by_direction": False},
    "no anchor": {"kappa": 0.0, "radius": None, "min_weight": 0.0},
    "no radius": {"radius": None},
    "no estimate of class sizes": {"prior_rows": None},
    "hard labels": {"soft": False},
    "no growing share": {"rates": []},
    "20 rounds": {"max_rounds": 20},
    "no guard": {"min_weight": 0.0},
    "100 axes": {"n_axes": 100},
    "300 axes": {"n_axes": 300},
    "sizes known to be equal": {"class_prior": "uniform"},
}
for _change, _parameters in ABLATION.items():
    register(
        f"ast: {_change}",
        f"AST, {_change}",
        "AnchoredSelfTraining",
        parameters=_parameters,
        adapts=True,
    )
