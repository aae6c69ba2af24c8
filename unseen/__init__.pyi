"""The public names, for type checkers and editors; see ``__init__.py``."""

from unseen.core.classes import EqualDescriptionsWarning as EqualDescriptionsWarning
from unseen.core.given import NONE_OF_THESE as NONE_OF_THESE
from unseen.data import ZeroShotData as ZeroShotData
from unseen.keep import load_model as load_model
from unseen.loading import load_data as load_data
from unseen.loading import save_data as save_data
from unseen.models.cca import CCA as CCA
from unseen.models.conse import ConSE as ConSE
from unseen.models.dap import DAP as DAP
from unseen.models.dap import IAP as IAP
from unseen.models.eszsl import ESZSL as ESZSL
from unseen.models.jedm import JEDM as JEDM
from unseen.models.jedm import Reading as Reading
from unseen.models.jlse import JLSE as JLSE
from unseen.models.ranking import ALE as ALE
from unseen.models.ranking import SJE as SJE
from unseen.models.ranking import DeViSE as DeViSE
from unseen.models.ranking import LatEm as LatEm
from unseen.models.ridge import RidgeToSemantic as RidgeToSemantic
from unseen.models.ridge import RidgeToVisual as RidgeToVisual
from unseen.models.sae import SAE as SAE
from unseen.models.sync import SynC as SynC
from unseen.preprocessing import PerDomainCenterer as PerDomainCenterer
from unseen.preprocessing import SumsPCA as SumsPCA
from unseen.preprocessing import WithinClassWhitener as WithinClassWhitener
from unseen.progress import show_progress as show_progress
from unseen.transduction.anchored import AnchoredSelfTraining as AnchoredSelfTraining
from unseen.transduction.anchored import WeakStartWarning as WeakStartWarning
from unseen.transduction.bidilel import BiDiLEL as BiDiLEL
from unseen.transduction.em_dirichlet import EMDirichlet as EMDirichlet
from unseen.transduction.gaussian_alignment import (
    GaussianAlignment as GaussianAlignment,
)
from unseen.transduction.guided_mixture import GuidedMixture as GuidedMixture
from unseen.transduction.hubness import CSLS as CSLS
from unseen.transduction.hubness import GlobalCorrection as GlobalCorrection
from unseen.transduction.hubness import InvertedSoftmax as InvertedSoftmax
from unseen.transduction.hubness import NormalisedScores as NormalisedScores
from unseen.transduction.otter import OTTER as OTTER
from unseen.transduction.pst import PST as PST
from unseen.transduction.rounds import SelfTraining as SelfTraining
from unseen.transduction.sms import SMS as SMS
from unseen.transduction.spread_labels import SpreadLabels as SpreadLabels
from unseen.transduction.stata import StatA as StatA
from unseen.transduction.tmvhlp import TMVHLP as TMVHLP
from unseen.transduction.tmvhlp import PrototypeAveraging as PrototypeAveraging
from unseen.transduction.transclip import TransCLIP as TransCLIP
from unseen.transduction.tstd import TSTD as TSTD
from unseen.transduction.uda import KodirovUDA as KodirovUDA
from unseen.transduction.zlap import ZLaP as ZLaP
from unseen.trust.asking import AccuracyEstimate as AccuracyEstimate
from unseen.trust.asking import draw_check as draw_check
from unseen.trust.asking import estimate_accuracy as estimate_accuracy
from unseen.trust.asking import suggest as suggest
from unseen.trust.calibrated import Calibrated as Calibrated
from unseen.trust.metrics import (
    expected_calibration_error as expected_calibration_error,
)
from unseen.trust.metrics import generalized_scores as generalized_scores
from unseen.trust.metrics import per_class_accuracy as per_class_accuracy
from unseen.trust.metrics import reliability_curve as reliability_curve
from unseen.trust.metrics import risk_coverage as risk_coverage
from unseen.trust.search import ClasswiseFolds as ClasswiseFolds
from unseen.trust.search import ClasswiseSearchCV as ClasswiseSearchCV

__version__: str
__all__: list[str]
