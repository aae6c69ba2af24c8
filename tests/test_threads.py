"""All cores: the same numbers from one thread and from several."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

import unseen._threads as threads
from unseen import (
    JEDM,
    TSTD,
    AnchoredSelfTraining,
    ClasswiseSearchCV,
    GuidedMixture,
)
from unseen._threads import each, one_thread
from unseen.trust.search import PAPER_STAGES


@pytest.fixture
def on(monkeypatch):
    """Return a function that lets so many threads work, whatever the machine has."""

    def allow(n):
        monkeypatch.setattr(threads, "_allowed", lambda: n)

    return allow


def rows_of(n, p, dtype=np.float32):
    rng = np.random.default_rng(0)
    A, y = rng.uniform(size=(12, 9)), rng.integers(8, size=n)
    means = A @ rng.normal(size=(9, p))
    X = means[y] + rng.standard_normal((n, p))
    pile = means[rng.integers(8, 12, size=n)] + rng.standard_normal((n, p))
    return X.astype(dtype), y, A, pile.astype(dtype)


@pytest.mark.parametrize(
    ("model", "grid", "adapts"),
    [
        (TSTD(), list(PAPER_STAGES), [False, True]),
        (AnchoredSelfTraining(), [{"kappa": [1.0, 9.0], "n_axes": [3, 5, 8]}], [True]),
        (JEDM(), [{"unit_rows": [True, False], "n_axes": [3, 5]}], [False]),
        (TSTD(random_state=np.random.RandomState(0)), [{"mu": [0.1, 1, 9]}], [True]),
    ],
    ids=["paper", "axes", "two kinds of sums", "one source of random numbers"],
)
def test_a_search_finds_the_same_on_any_number_of_threads(on, model, grid, adapts):
    X, y, A, _ = rows_of(600, 40)
    made, at_once = [], []
    for n in (1, 2, 3):
        on(n)
        search = ClasswiseSearchCV(
            clone(model), grid, n_folds=2, in_stages=True, transductive=adapts
        )
        search.set_params(scoring=lambda y, found: one_at_a_time(at_once, y, found))
        made.append(search.fit(X, y, class_embeddings=A).cv_results_)
    for found in made[1:]:
        assert found["params"] == made[0]["params"]
        for i in (0, 1):
            name = f"split{i}_test_score"
            assert_array_equal(found[name], made[0][name])
    assert len(np.unique(made[0]["mean_test_score"])) > 1, "there is a choice"
    assert not at_once


def one_at_a_time(at_once, y, found):
    """Score; what the user wrote is never run by two threads."""
    assert not at_once, "somebody else is scoring"
    at_once.append(True)
    score = float(np.mean(y == found)) + 1e-6 * float(np.mean(found == found[0]))
    at_once.clear()
    return score


def test_a_mixture_of_names_answers_alike_on_any_number_of_threads(on):
    pile = rows_of(4_000, 280)[3]
    names = np.random.default_rng(1).normal(size=(4, 280)) + pile[:4]
    made = []
    for n in (1, 2):
        on(n)
        made.append(GuidedMixture.from_prototypes(names).adapt(pile).reliability_)
    assert_array_equal(*made)


def test_two_threads_of_the_user_do_not_leave_blas_at_one():
    """The first to enter is the first to leave."""
    with threadpool_limits(limits=2, user_api="blas"):
        inside, leave = threading.Event(), threading.Event()

        def first():
            with one_thread():
                inside.set()
                leave.wait(10)

        other = threading.Thread(target=first)
        other.start()
        inside.wait(10)
        with one_thread():
            leave.set()
            other.join()
        blas = [a["num_threads"] for a in threadpool_info() if a["user_api"] == "blas"]
        assert set(blas) == {2}


def test_an_error_in_a_strip_is_raised(on):
    on(2)

    def fail(i):
        if i == 3:
            raise ValueError("the third")
        return i

    with pytest.raises(ValueError, match="the third"):
        each(fail, range(6))
    assert each(abs, [-1, -2, -3]) == [1, 2, 3]  # and the pool works on


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_threads_of_its_own():
    code = """
import os, numpy as np
import unseen._threads as threads
threads._allowed = lambda: 2
assert threads.each(abs, [-1, -2]) == [1, 2]
child = os.fork()
if not child:
    os._exit(0 if threads.each(abs, [-1, -2]) == [1, 2] else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)
