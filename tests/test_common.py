"""scikit-learn's own checks, over every public estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from unseen import (
    CCA,
    ESZSL,
    JEDM,
    TSTD,
    AnchoredSelfTraining,
    PerDomainCenterer,
    SelfTraining,
    SumsPCA,
    WithinClassWhitener,
)

ESTIMATORS = [
    JEDM(),
    JEDM(variant="paper", n_components=2, tol=1e-3),
    TSTD(),
    AnchoredSelfTraining(),
    ESZSL(),
    CCA(),
    SelfTraining(ESZSL()),
    PerDomainCenterer(),
    SumsPCA(),
    WithinClassWhitener(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
