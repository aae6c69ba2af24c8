"""scikit-learn's own checks, over every public estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.checks import public_estimators
from unseen import JEDM, SAE, SynC, TransCLIP
from unseen.core.around import Relabelling
from unseen.models.jedm import READINGS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")

# Public estimators that scikit-learn's checks cannot meet, and why.
EXCEPTIONS = {
    "Calibrated": "holds out seen classes, so it needs class embeddings; "
    "tests/test_calibration.py vouches for it.",
    "ClasswiseSearchCV": "needs class embeddings, and four seen classes or more; "
    "the checks give neither. tests/test_model_selection.py vouches for it.",
}
ESTIMATORS = [
    *(one for name, one in public_estimators().items() if name not in EXCEPTIONS),
    JEDM(READINGS["paper"]._replace(tol=1e-3), n_components=2),
    SAE(direction="to_semantic"),
    SynC(1e-3, loss="structured"),
    SynC(loss="squared"),
]
# Made by ``estimator_of`` as TransCLIP is: they differ in ``adapt`` alone, which
# scikit-learn's checks do not call.
ALIKE = [
    one
    for one in ESTIMATORS
    if isinstance(one, Relabelling) and not isinstance(one, TransCLIP)
]


@parametrize_with_checks([one for one in ESTIMATORS if one not in ALIKE])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(ALIKE)
def test_scikit_learn_check_of_methods_that_share_all_it_sees(estimator, check):
    check(estimator)


def test_what_is_checked_rarely_shares_all_that_is_checked():
    for kind in map(type, ALIKE):
        assert kind.__bases__ == TransCLIP.__bases__
        functions = {name for name, value in vars(kind).items() if callable(value)}
        assert functions <= set(vars(TransCLIP))
