"""Zero-shot classification that teaches itself on unlabelled data.

The public names, in the order the data meets them.
"""

import importlib.metadata

from unseen.class_table import EqualDescriptionsWarning
from unseen.data import ZeroShotData
from unseen.loading import load_data, save_data
from unseen.metrics import (
    ausuc,
    confusion,
    harmonic_mean,
    per_class_accuracy,
    top_k_accuracy,
)
from unseen.model_selection import ClasswiseFolds, ClasswiseSearchCV
from unseen.models.cca import CCA
from unseen.models.conse import ConSE
from unseen.models.dap import DAP, IAP
from unseen.models.eszsl import ESZSL
from unseen.models.jedm import JEDM
from unseen.models.jlse_lite import JLSELite
from unseen.models.latem import LatEm
from unseen.models.ranking import ALE, SJE, DeViSE
from unseen.models.ridge import RidgeToSemantic, RidgeToVisual
from unseen.models.sae import SAE
from unseen.models.sync import SynC
from unseen.preprocessing import PerDomainCenterer, SumsPCA, WithinClassWhitener
from unseen.storage import load
from unseen.transduction.anchored import AnchoredSelfTraining, WeakStartWarning
from unseen.transduction.bidilel import BiDiLEL
from unseen.transduction.em_dirichlet import EMDirichlet
from unseen.transduction.gaussian_alignment import GaussianAlignment
from unseen.transduction.hubness import (
    CSLS,
    GlobalCorrection,
    InvertedSoftmax,
    NormalisedScores,
)
from unseen.transduction.otter import OTTER
from unseen.transduction.prototype_averaging import PrototypeAveraging
from unseen.transduction.pst import PST
from unseen.transduction.self_training import SelfTraining
from unseen.transduction.sms import SMS
from unseen.transduction.spread_labels import SpreadLabels
from unseen.transduction.stata import StatA
from unseen.transduction.tmvhlp import TMVHLP
from unseen.transduction.transclip import TransCLIP
from unseen.transduction.tstd import TSTD
from unseen.transduction.uda import KodirovUDA
from unseen.transduction.zlap import ZLaP

try:
    __version__ = importlib.metadata.version("unseen")
except importlib.metadata.PackageNotFoundError:  # sources that were never installed
    __version__ = "0.dev0"

__all__ = [
    "ALE",
    "CCA",
    "CSLS",
    "DAP",
    "ESZSL",
    "IAP",
    "JEDM",
    "OTTER",
    "PST",
    "SAE",
    "SJE",
    "SMS",
    "TMVHLP",
    "TSTD",
    "AnchoredSelfTraining",
    "BiDiLEL",
    "ClasswiseFolds",
    "ClasswiseSearchCV",
    "ConSE",
    "DeViSE",
    "EMDirichlet",
    "EqualDescriptionsWarning",
    "GaussianAlignment",
    "GlobalCorrection",
    "InvertedSoftmax",
    "JLSELite",
    "KodirovUDA",
    "LatEm",
    "NormalisedScores",
    "PerDomainCenterer",
    "PrototypeAveraging",
    "RidgeToSemantic",
    "RidgeToVisual",
    "SelfTraining",
    "SpreadLabels",
    "StatA",
    "SumsPCA",
    "SynC",
    "TransCLIP",
    "WeakStartWarning",
    "WithinClassWhitener",
    "ZLaP",
    "ZeroShotData",
    "ausuc",
    "confusion",
    "harmonic_mean",
    "load",
    "load_data",
    "per_class_accuracy",
    "save_data",
    "top_k_accuracy",
]
