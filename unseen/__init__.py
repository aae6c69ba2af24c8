"""Zero-shot classification that teaches itself on unlabelled data.

The public names, in the order the data meets them. Each is imported when it is first
asked for, so that ``unseen --help`` need not wait for scikit-learn; ``__init__.pyi``
has the same names for type checkers and editors.
"""

from importlib import metadata

from unseen._lazy import lazy

# module of this package: the names it gives
HOMES = {
    "progress": "show_progress",
    "core.classes": "EqualDescriptionsWarning",
    "core.given": "NONE_OF_THESE",
    "data": "ZeroShotData",
    "keep": "load_model",
    "loading": "load_data save_data",
    "models.cca": "CCA",
    "models.conse": "ConSE",
    "models.dap": "DAP IAP",
    "models.eszsl": "ESZSL",
    "models.jedm": "JEDM Reading",
    "models.jlse": "JLSE",
    "models.ranking": "ALE SJE DeViSE LatEm",
    "models.ridge": "RidgeToSemantic RidgeToVisual",
    "models.sae": "SAE",
    "models.sync": "SynC",
    "preprocessing": "PerDomainCenterer SumsPCA WithinClassWhitener",
    "transduction.anchored": "AnchoredSelfTraining WeakStartWarning",
    "transduction.bidilel": "BiDiLEL",
    "transduction.em_dirichlet": "EMDirichlet",
    "transduction.gaussian_alignment": "GaussianAlignment",
    "transduction.guided_mixture": "GuidedMixture",
    "transduction.hubness": "CSLS GlobalCorrection InvertedSoftmax NormalisedScores",
    "transduction.otter": "OTTER",
    "transduction.pst": "PST",
    "transduction.rounds": "SelfTraining",
    "transduction.sms": "SMS",
    "transduction.spread_labels": "SpreadLabels",
    "transduction.stata": "StatA",
    "transduction.tmvhlp": "TMVHLP PrototypeAveraging",
    "transduction.transclip": "TransCLIP",
    "transduction.tstd": "TSTD",
    "transduction.uda": "KodirovUDA",
    "transduction.zlap": "ZLaP",
    "trust.asking": "AccuracyEstimate draw_check estimate_accuracy suggest",
    "trust.calibrated": "Calibrated",
    "trust.metrics": (
        "expected_calibration_error generalized_scores per_class_accuracy "
        "reliability_curve risk_coverage"
    ),
    "trust.search": "ClasswiseFolds ClasswiseSearchCV",
}

try:
    __version__ = metadata.version("unseen")
except metadata.PackageNotFoundError:  # sources that were never installed
    __version__ = "0.dev0"

__all__ = [name for names in HOMES.values() for name in names.split()]

__getattr__ = lazy(__name__, HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
