"""Everything a model file may hold: every class, and the state it keeps.

``schema.py`` explains how types are written. Letters are axes: p features, k axes,
d dimensions of class embeddings, c classes, s seen classes, n rows of the pile.
Parameters of estimators are checked by their own constraints; they stand here only
where they have none, or where a file may hold less than a program may.

A class whose state changes gets the next number in ``VERSIONS``: files of another
version are refused by name instead of being read wrongly.
"""

from __future__ import annotations

# Where the classes of STATE live; folders are searched.
ROOMS = (
    "unseen.core.base",
    "unseen.core.classes",
    "unseen.core.given",
    "unseen.models",
    "unseen.transduction",
    "unseen.preprocessing",
    "unseen.trust",
    "unseen.core.sums",
    "unseen.photos.named",
    "unseen.texts.named",
)

# Versions of the state of classes; those not named here are at 1.
VERSIONS: dict[str, int] = {}

# What stands before a model in a pipeline, from scikit-learn.
FROM_SKLEARN = {
    "sklearn.pipeline": ("Pipeline",),
    "sklearn.preprocessing": (
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "RobustScaler",
        "StandardScaler",
    ),
    "sklearn.decomposition": ("PCA",),
}

INPUT = {
    "n_features_in_": "size[p]",
    "feature_names_in_": "names[p] | absent",
}
PILE = {
    "labels_": "names[n] | absent",
    "reliability_": "float[n] | absent",
    "rounds_": "list[Round] | absent",
    "given_": "Given | absent",
}
HISTORY = {"history_": "list[float]", "n_iter_": "int"}
MAP = {"coef_": "float[k, d]"}
SEARCH = {"neighbor_search_": "str | absent"}

# What a base class keeps; its heirs keep it too.
SHARED: dict[str, dict[str, str]] = {
    "TransformerMixin": INPUT | {"_sklearn_output_config": "map[str] | absent"},
    "ZeroShotClassifier": INPUT
    | PILE
    | {
        "_table": "ClassTable",
        "classes_": "names[c]",
        "class_embeddings_": "float[c, d]",
        "unseen_classes_": "names[u]",
        "_default": "Candidates",
        "_adapted": "none | LinearRule",
        "_running": "tuple[any, bool, names[r], plain] | absent",
        "mean_": "float[p] | absent",
        "axes_": "float[p, k] | absent",
        "embedding_mean_": "float[d] | absent",
    },
    "RankingClassifier": MAP | HISTORY,
    "PosteriorClassifier": {"seen_scorer_": "LinearScorer"},
    "Around": {"estimator_": "estimator"},
    "_FromSums": {
        "_seen_sums": "Sums",
        "mean_": "float[p]",
        "axes_": "float[p, k]",
    },
}

ANCHORED = {
    "prototypes_": "float[c, p]",
    "axes_": "float[p, k]",
    "mean_": "float[p]",
    "variances_": "float[k]",
    "variance_": "float",
    "ridges_": "map[float]",
    "explained_": "float",
    "_scale": "EmbeddingScale",
    "_weights": "map[float[s, k]]",
    "_seen_embeddings": "list[float[s, _]]",
    "_seen_means": "float[s, k]",
    "_seen_counts": "float[s]",
    "_seen_names": "names[s]",
    "_length": "float",
    "_temperature": "float",
    "weight_": "float",
    "adapted_": "bool",
    "stopped_because_": "str",
    "present_classes_": "names[_]",
    "class_shares_": "float[_]",
    "_pile_temperature": "float",
}

STATE: dict[str, dict[str, str]] = {
    # Parts of models. All their fields are needed.
    "ClassTable": {
        "names": "names[c]",
        "embeddings": "float[c, d]",
        "seen": "bool[c]",
        "widths": "plain",
    },
    "Candidates": {
        "names": "names[c]",
        "embeddings": "float[c, d]",
        "offered": "none | Offered",
    },
    "Offered": {"names": "names[c]", "embeddings": "float[c, d]", "column": "int[c]"},
    "LinearScorer": {"coef": "float[c, p]", "intercept": "float[c]"},
    "LinearRule": {
        "candidates": "Candidates",
        "scorer": "LinearScorer",
        "unit_rows": "bool",
    },
    "EmbeddingScale": {
        "widths": "plain",
        "means": "list[float[_]]",
        "sizes": "list[float]",
    },
    "Given": {"rows": "int[g]", "labels": "names[g]", "alone": "bool"},
    "Reading": {
        "embedding_ridge": "float",
        "code_ridge": "float",
        "label_coding": "str",
        "dictionary": "str",
        "unit_scores": "bool",
        "codes_last": "bool",
        "max_iter": "int",
        "tol": "float",
        "inner_steps": "int",
        "moving_anchor": "bool",
        "rounding": "str",
        "unit_prototypes": "bool",
    },
    "Round": {
        "rate": "float",
        "selected": "int[c]",
        "n_changed": "int",
        "objective": "float",
        "labels": "names[n] | none",
        "note": "str",
        "n_rows": "int | none",
    },
    "Sums": {
        "gram": "float[p, p]",
        "class_sums": "float[c, p]",
        "counts": "float[c]",
        "dtype": "dtype",
        "span": "none",  # sums that are kept are those of the features
    },
    # Models.
    "ALE": {},
    "AnchoredSelfTraining": {key: f"{t} | absent" for key, t in ANCHORED.items()},
    "BiDiLEL": {
        "components_": "float[k, e]",
        "landmarks_": "float[s, e]",
        "mean_": "float[p]",
        "axes_": "float[p, k]",
        "_seen_names": "names[s]",
        "_seen_units": "float[s, d]",
        "_seed": "int",
        "_placed": "tuple[Candidates, float[m, e]]",
    },
    "CCA": {
        "x_weights_": "float[k, e]",
        "embedding_weights_": "float[d, e]",
        "correlations_": "float[e]",
    },
    "ConSE": {},
    "DAP": {
        "thresholds_": "float[d]",
        "priors_": "float[d]",
        "slopes_": "float[d]",
        "midpoints_": "float[d]",
    }
    | MAP,
    "DeViSE": {},
    "ESZSL": MAP,
    "GuidedMixture": {
        "_ridge": "none | tuple[EmbeddingScale, list[float[s, _]], float[s, p], "
        "float[s, p], float[p], names[s]]",
        "_views": "none | list[str] | absent",
        "adapted_": "bool | absent",
        "stopped_because_": "str | absent",
        "mean_": "float[p] | absent",
        "turn_": "none | float[p, k] | absent",
        "_certain": "float | absent",
        "_names_mean": "float[p] | absent",
        "_pull": "tuple[float, float] | list[tuple[float, float]] | absent",
        "_turned_widths": "none | list[int] | absent",
        "view_weights_": "none | float[_] | absent",
        "names_share_": "float | absent",
        "tightness_": "float | absent",
        "evenness_": "float | absent",
        "prototype_worth_": "float | absent",
        "temperature_": "float | absent",
    },
    "IAP": {},
    "JEDM": {
        "components_": "float[e, k]",
        "compatibility_": "float[e, d]",
    }
    | HISTORY,
    "JLSE": {"_dictionary": "float[s, d]", "coef_": "float[k, s]"} | HISTORY,
    "KodirovUDA": MAP,
    "LatEm": {"maps_": "float[g, k, d]"},
    "RidgeToSemantic": MAP,
    "RidgeToVisual": MAP,
    "SAE": MAP,
    "SJE": {},
    "SMS": MAP
    | {"_seen_sums": "Sums | absent", "_seen_embeddings": "float[s, d] | absent"},
    "TSTD": {},
    "SynC": {"_phantoms": "float[s, d]", "coef_": "float[k, s]"} | HISTORY,
    "Weights": {
        "mean": "float[e]",
        "scale": "float[e]",
        "coef": "float[e]",
        "intercept": "float",
    },
    "Calibration": {
        "temperature": "float",
        "start_temperature": "float",
        "weights": "Weights",
        "levels": "float[_]",
    },
    # Estimators around others.
    "Calibrated": {
        "_start": "estimator",
        "gamma_": "float",
        "temperature_": "float",
        "novelty_threshold_": "float",
        "conformal_quantile_": "float",
        "fold_coverages_": "float[_]",
        "_start_gamma": "float",
        "_start_unit": "float",
        "_adapted_unit": "float",
        "_pure": "Calibration",
        "_mixed": "Calibration",
        "_novelty": "Weights",
        "novelty_": "float[n] | absent",
    },
    "CSLS": {},
    "EMDirichlet": {},
    "GaussianAlignment": {},
    "GlobalCorrection": {},
    "InvertedSoftmax": {},
    "NormalisedScores": {},
    "OTTER": {"class_prior_": "float[m] | absent"},
    "PST": SEARCH,
    "PrototypeAveraging": {},
    "SelfTraining": {},
    "SpreadLabels": SEARCH,
    "StatA": SEARCH,
    "TMVHLP": SEARCH,
    "TransCLIP": SEARCH,
    "ZLaP": SEARCH,
    "ClasswiseSearchCV": {
        "scoring": "none | function",
        "best_params_": "map[any]",
        "cv_results_": "map[any]",
        "best_index_": "int",
        "best_score_": "float",
        "folds_": "list[names[_]]",
    },
    # Photos.
    "NamedPhotos": PILE
    | {
        "image_encoder": "str",
        "text_encoder": "str",
        "tree": "bool",
        "plain_": "float",
        "prototypes_": "float[c, p]",
        "classes_": "names[c]",
        "explained_": "float",
        "cosine_scale_": "float",
        "rows_mean_": "float[p]",
        "evidence_": "float",
        "novelty_": "float[n] | absent",
        "read_as_": "names[c] | absent",
        "trust_": "names[c] | absent",
        "weak_names_": "str | absent",
        "model_": "GuidedMixture",
        "second_": "names[n] | absent",
        "first_trusted_": "int[n] | absent",
        "projected_": "names[n] | absent",
        "adapted_": "bool | absent",
        "stopped_because_": "str | absent",
    },
    # Texts.
    "NamedTexts": PILE
    | {
        "encoder": "str",
        "template": "str",
        "prototypes_": "float[c, p]",
        "classes_": "names[c]",
        "model_": "GuidedMixture",
        "means_": "float[c, p]",
        "mean_": "float[p]",
        "second_": "names[n] | absent",
        "novelty_": "float[n] | absent",
        "first_trusted_": "int[n] | absent",
        "projected_": "names[n] | absent",
        "adapted_": "bool | absent",
        "stopped_because_": "str | absent",
    },
    # Preprocessing, ours and scikit-learn's.
    "PerDomainCenterer": {"seen_mean_": "float[p]", "mean_": "float[p]"},
    "SumsPCA": {"explained_variance_": "float[k]"},
    "WithinClassWhitener": {"classes_": "names[c]"},
    "Pipeline": {
        "steps": "list[tuple[str, estimator | str | none]]",
        "memory": "none",  # a folder here would be unpickled from at the next fit
        "verbose": "bool",
        "transform_input": "none | list[str]",
    },
    "MaxAbsScaler": {
        "n_samples_seen_": "float | number[p]",
        "max_abs_": "float[p]",
        "scale_": "float[p]",
    },
    "MinMaxScaler": {
        "n_samples_seen_": "float | number[p]",
        "scale_": "float[p]",
        "min_": "float[p]",
        "data_min_": "float[p]",
        "data_max_": "float[p]",
        "data_range_": "float[p]",
    },
    "Normalizer": {},
    "RobustScaler": {"center_": "float[p] | none", "scale_": "float[p] | none"},
    "StandardScaler": {
        "n_samples_seen_": "float | number[p]",
        "mean_": "float[p] | none",
        "var_": "float[p] | none",
        "scale_": "float[p] | none",
    },
    "PCA": {
        "_fit_svd_solver": "str",
        "mean_": "float[p]",
        "noise_variance_": "float",
        "n_samples_": "int",
        "n_components_": "int",
        "components_": "float[k, p]",
        "explained_variance_": "float[k]",
        "explained_variance_ratio_": "float[k]",
        "singular_values_": "float[k]",
    },
}
