"""SynC and JLSE: losses, codes and turns as written, solved some other way."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.checks import close, fitted, make_data, never_rises, unit
from tests.oracles import minimise
from unseen import JLSE, SynC
from unseen.models.jlse import simplex_codes
from unseen.models.relative_codes import minimise_loss, squared_hinge
from unseen.models.sync import combine_phantoms, structured


@pytest.fixture
def small():
    """Rows, the numbers of their classes, and embeddings of four classes."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(4), [5, 7, 6, 4])
    X = rng.normal(size=(22, 3)) + rng.normal(size=(4, 3))[codes]
    return X - X.mean(axis=0), codes, rng.normal(size=(4, 3))


@pytest.mark.parametrize("name", ["one_vs_other", "structured", "with codes"])
def test_l_bfgs_finds_the_minimum_of_the_loss_as_written(small, name):
    X, codes, A = small
    Z = simplex_codes(A, A, 0.1) if name == "with codes" else np.eye(4)
    margins = np.linalg.norm(A[:, None] - A, axis=2)

    def objective(W):
        total, F = 0.0, X @ W @ Z.T
        for f, y in zip(F, codes, strict=True):
            if name == "structured":
                v = margins[y] + f - f[y]
                total += 0.2 * np.log(np.sum(np.exp(v / 0.2)))
            else:
                signs = np.where(np.arange(4) == y, 1, -1)
                total += np.mean(np.maximum(0, 1 - signs * f) ** 2)
        return total / len(X) + 0.05 * np.sum(W**2) / 2

    loss = squared_hinge(codes, 4)
    loss = structured(codes, margins, 0.2) if name == "structured" else loss
    W, history = minimise_loss(loss, X, Z, 0.05, max_iter=500, tol=1e-7)
    never_rises(history)
    close(history[-1], objective(W))
    close(W, minimise(objective, np.zeros((3, 4)), gtol=1e-6), digits=4)


def test_the_squared_form_is_least_squares_on_the_rows():
    data = make_data()
    model = fitted(SynC(0.01, loss="squared", n_axes="all"), data)
    X = unit(data.X_seen)
    X = X - X.mean(axis=0)
    signs = 2.0 * (data.y_seen[:, None] == np.unique(data.y_seen)) - 1
    ridge = 0.01 / 2 * signs.size
    stacked = np.vstack([X, ridge**0.5 * np.eye(16)])
    target = np.vstack([signs, np.zeros((16, 9))])
    close(model.coef_, np.linalg.lstsq(stacked, target, rcond=None)[0], digits=10)


def test_similarities_are_those_of_the_paper(small):
    S = small[2]
    new = S[:2] + 0.3
    every = [np.linalg.norm(S[i] - S[j]) for i in range(4) for j in range(i)]

    def similar(A):
        distances = np.linalg.norm(A[:, None] - S, axis=2) / np.median(every)
        K = np.exp(-0.7 * distances**2)
        return K / K.sum(axis=1, keepdims=True)

    expected = similar(new) @ np.linalg.pinv(similar(S))
    close(combine_phantoms(new, S, 0.7), expected, digits=8)


def test_it_says_when_it_stopped_too_early():
    with pytest.warns(ConvergenceWarning, match="max_iter=2 steps"):
        fitted(SynC(1e-8, max_iter=2), make_data())


# ---- JLSE --------------------------------------------------------------------------


@pytest.mark.parametrize("softness", [0.01, 1.0])
def test_codes_of_classes_are_the_minimum_on_the_simplex(softness):
    rng = np.random.default_rng(0)
    A, S = rng.normal(size=(4, 3)), rng.normal(size=(6, 3))
    for a, code in zip(A, simplex_codes(A, S, softness), strict=True):
        close(code.sum(), 1)
        # The gradient is the same wherever the code is not zero, and larger elsewhere.
        slope = (code @ S - a) @ S.T + softness * code
        assert np.ptp(slope[code > 1e-9]) < 1e-9
        assert (code >= 0).all() and (slope >= slope[code > 1e-9].max() - 1e-9).all()


def test_every_turn_lowers_the_objective():
    model = fitted(JLSE(1e-3, n_turns=6, tol=1e-6), make_data())
    assert len(model.history_) == model.n_iter_ == 6
    assert np.all(np.diff(model.history_) < 0)
