"""No label of an unseen class may reach fit, adapt or model selection."""

import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import unseen
from tests.checks import make_data, public_estimators, run_protocol, scrambled
from unseen.models.jedm import READINGS

# Two of the made-up classes have the same attributes in 0/1, which DAP and IAP see.
# Small made-up folds explain little; that is told, and not what is tested here.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*equal descriptions"),
    pytest.mark.filterwarnings("ignore::unseen.transduction.anchored.WeakStartWarning"),
]

PUBLIC = [one for one in public_estimators().values() if hasattr(one, "predict")]
REFITTED = [
    one
    for one in PUBLIC
    if hasattr(one, "_refit") and hasattr(one, "adapt") and type(one) is not unseen.TSTD
]
MODELS = [
    *(one for one in PUBLIC if one not in REFITTED),
    *(unseen.SelfTraining(one) for one in REFITTED),
    unseen.SelfTraining(unseen.SAE(direction="to_semantic")),
    unseen.SelfTraining(unseen.SynC(loss="squared")),
    unseen.JEDM(READINGS["paper"]._replace(tol=1e-3, max_iter=1000), n_components=8),
    unseen.BiDiLEL(8, transduction="structured"),
    unseen.ClasswiseSearchCV(
        unseen.AnchoredSelfTraining(),
        {"kappa": [2.0, 8.0], "whitening": [0.1, 0.5]},
        n_folds=3,
    ),
    unseen.ClasswiseSearchCV(
        unseen.TSTD(n_components=8), {"lam": [0.1, 10.0]}, n_folds=3
    ),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_scrambled_unseen_labels_change_nothing(model):
    """Nor does anything else: the same seed gives the same answer."""
    data = make_data()
    other = scrambled(data)
    assert (data.y_unseen != other.y_unseen).any()
    first, second = (run_protocol(clone(model), d) for d in (data, other))
    for ours, theirs in zip(first, second, strict=True):
        assert_array_equal(ours, theirs)
