"""Every estimator labels real rows as it did; part by default, all when slow."""

import numpy as np
import pytest

import unseen
from tests.paper.known_labels import (
    AGREEMENT,
    UNSTEADY,
    agreement,
    entries,
    is_quick,
    stored,
)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(e, marks=[] if is_quick(e) else pytest.mark.slow, id=e)
        for e in entries()
    ],
)
def test_labels_are_as_stored(entry, shared_data):
    needed = {"cub": "cub_vgg.npz", "awa": "awa1_shallow.npz"}.get(
        entry.split()[2], "texts/banking77_test__minilm-int8.npz"
    )
    if not (shared_data / needed).exists():
        pytest.skip(f"{needed} is absent")
    share = agreement(entry, stored()[entry])
    wanted = UNSTEADY.get(entry, AGREEMENT)
    assert share >= wanted, f"{100 * share:.2f} % of the labels are the stored ones"


def test_every_entry_is_stored_and_no_answer_is_one_class():
    known = stored()
    assert list(known) == list(entries())
    assert all(len(np.unique(labels)) > 2 for labels in known.values())


def test_every_public_estimator_has_an_entry():
    public = {
        name
        for name in unseen.__all__
        if hasattr(getattr(unseen, name), "predict") and name != "ClasswiseSearchCV"
    }
    assert public == {entry.split()[0] for entry in entries()}
