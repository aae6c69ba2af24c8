"""Every public estimator and command answers as it did: see golden.py."""

from functools import cache

import numpy as np
import pytest

from tests import golden
from tests.golden import NEEDED, PUBLIC, compute, differences, entries

stored = cache(golden.stored)


@pytest.mark.parametrize("entry", list(entries()))
def test_answers_are_as_stored(entry, request):
    needed = NEEDED.get(entry.split()[-1])
    if needed and not (request.getfixturevalue("shared_data") / needed).exists():
        pytest.skip(f"{needed} is absent")
    if entry.startswith("NamedTexts"):
        pytest.importorskip("wordllama")
    wrong = list(differences(entry, compute(entry), stored()[entry]))
    assert not wrong, "; ".join(wrong)


def test_every_entry_is_stored_and_labels_are_not_of_one_class():
    assert sorted(stored()) == sorted(entries())
    for entry, answers in stored().items():
        labels = [answer for answer in answers.values() if answer.dtype == np.uint8]
        assert not labels or max(len(np.unique(a)) for a in labels) > 1, entry


def test_every_public_estimator_has_an_entry():
    methods = {entry.split("(")[0].split()[0] for entry in entries()}
    assert set(PUBLIC) <= methods
