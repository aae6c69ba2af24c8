"""FIT: one method, one file, each with its objective at the head."""

from typing import TYPE_CHECKING

from unseen._lazy import lazy

if TYPE_CHECKING:
    from unseen.models.cca import CCA
    from unseen.models.conse import ConSE
    from unseen.models.dap import DAP, IAP
    from unseen.models.eszsl import ESZSL
    from unseen.models.jedm import JEDM
    from unseen.models.jlse import JLSE
    from unseen.models.latem import LatEm
    from unseen.models.ranking import ALE, SJE, DeViSE
    from unseen.models.ridge import RidgeToSemantic, RidgeToVisual
    from unseen.models.sae import SAE
    from unseen.models.sync import SynC

__all__ = [
    "ALE",
    "CCA",
    "DAP",
    "ESZSL",
    "IAP",
    "JEDM",
    "JLSE",
    "SAE",
    "SJE",
    "ConSE",
    "DeViSE",
    "LatEm",
    "RidgeToSemantic",
    "RidgeToVisual",
    "SynC",
]

__getattr__ = lazy(
    __name__,
    {
        "cca": "CCA",
        "conse": "ConSE",
        "dap": "DAP IAP",
        "eszsl": "ESZSL",
        "jedm": "JEDM",
        "jlse": "JLSE",
        "latem": "LatEm",
        "ranking": "ALE SJE DeViSE",
        "ridge": "RidgeToSemantic RidgeToVisual",
        "sae": "SAE",
        "sync": "SynC",
    },
)
