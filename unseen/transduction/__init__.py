"""ADAPT: what models do with a pile of unlabelled rows."""

from typing import TYPE_CHECKING

from unseen._lazy import lazy

if TYPE_CHECKING:
    from unseen.transduction.anchored import AnchoredSelfTraining
    from unseen.transduction.anchored_rounds import WeakStartWarning
    from unseen.transduction.bidilel import BiDiLEL
    from unseen.transduction.em_dirichlet import EMDirichlet
    from unseen.transduction.gaussian_alignment import GaussianAlignment
    from unseen.transduction.guided_mixture import GuidedMixture
    from unseen.transduction.hubness import (
        CSLS,
        GlobalCorrection,
        InvertedSoftmax,
        NormalisedScores,
    )
    from unseen.transduction.otter import OTTER
    from unseen.transduction.pst import PST
    from unseen.transduction.rounds import SelfTraining
    from unseen.transduction.sms import SMS
    from unseen.transduction.spread_labels import SpreadLabels
    from unseen.transduction.stata import StatA
    from unseen.transduction.tmvhlp import TMVHLP, PrototypeAveraging
    from unseen.transduction.transclip import TransCLIP
    from unseen.transduction.tstd import TSTD
    from unseen.transduction.uda import KodirovUDA
    from unseen.transduction.views import join_views
    from unseen.transduction.zlap import ZLaP

__all__ = [
    "CSLS",
    "OTTER",
    "PST",
    "SMS",
    "TMVHLP",
    "TSTD",
    "AnchoredSelfTraining",
    "BiDiLEL",
    "EMDirichlet",
    "GaussianAlignment",
    "GlobalCorrection",
    "GuidedMixture",
    "InvertedSoftmax",
    "KodirovUDA",
    "NormalisedScores",
    "PrototypeAveraging",
    "SelfTraining",
    "SpreadLabels",
    "StatA",
    "TransCLIP",
    "WeakStartWarning",
    "ZLaP",
    "join_views",
]

__getattr__ = lazy(
    __name__,
    {
        "anchored": "AnchoredSelfTraining",
        "anchored_rounds": "WeakStartWarning",
        "bidilel": "BiDiLEL",
        "em_dirichlet": "EMDirichlet",
        "gaussian_alignment": "GaussianAlignment",
        "guided_mixture": "GuidedMixture",
        "hubness": "CSLS GlobalCorrection InvertedSoftmax NormalisedScores",
        "otter": "OTTER",
        "pst": "PST",
        "rounds": "SelfTraining",
        "sms": "SMS",
        "spread_labels": "SpreadLabels",
        "stata": "StatA",
        "tmvhlp": "TMVHLP PrototypeAveraging",
        "transclip": "TransCLIP",
        "tstd": "TSTD",
        "uda": "KodirovUDA",
        "views": "join_views",
        "zlap": "ZLaP",
    },
)
