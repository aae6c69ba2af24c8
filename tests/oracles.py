"""Brute-force answers that share no line with the package.

Here columns are samples, as in the paper, every sum is over samples, and nothing is
reduced to products.
"""

import numpy as np
from scipy.optimize import minimize


def authors_jedm(X, A, Y, D, V, *, alpha=0.1, beta=0.01, sweeps=20):
    """The authors' JEDM on samples: X (p, m), A (q, M), Y (m, M) in 0/1."""

    def codes(D, V):
        VA = V @ A
        left = D.T @ D + alpha * VA @ VA.T + np.eye(D.shape[1])
        return np.linalg.solve(left, D.T @ X + alpha * VA @ Y.T)

    C = codes(D, V)
    for _ in range(sweeps):
        right = np.linalg.inv(A @ A.T + np.eye(len(A)))
        left = C @ C.T + beta / alpha * np.eye(len(C))
        V = np.linalg.solve(left, C @ Y @ A.T @ right)
        D = authors_dictionary(X, C, D)
        C = codes(D, V)
    return D, V


def authors_dictionary(X, C, D):
    S, T, rho, before = D, np.zeros_like(D), 1.0, D
    gram, cross = C @ C.T, X @ C.T  # the authors make them anew in every step
    for _ in range(49):
        left = rho * np.eye(len(C)) + gram
        new = np.linalg.solve(left, (rho * (S - T) + cross).T).T
        S = new + T
        S = S / np.maximum(1, np.sqrt((S**2).sum(axis=0)))
        T = T + new - S
        rho *= 0.999
        error = np.mean(np.mean(before - new, axis=0) ** 2)
        before = new
        if error <= 1e-12:
            break
    return before


def authors_answer(X, A, D, V):
    W = D @ V
    W = W / np.sqrt((W**2).sum(axis=0))
    scores = X.T @ W @ A
    return scores / np.sqrt((scores**2).sum(axis=0))


def authors_tstd(X, A, D, V, *, lam=100.0, mu=100.0, rates=(0.4, 0.6, 0.8, 1.0)):
    """The authors' rounds on samples; returns D and the labels after every round."""
    labels = []
    for rate in rates:
        scores = X.T @ D @ V @ A
        top = scores.argmax(axis=1)
        kept = []
        for c in range(A.shape[1]):
            mine = np.flatnonzero(top == c)
            order = np.argsort(-scores[mine, c], kind="stable")
            kept += list(mine[order][: int(np.floor(len(mine) * rate))])
        Xk, Ak = X[:, kept], A[:, top[kept]]

        def codes(D, Xk=Xk, Ak=Ak):
            left = D.T @ D + lam * np.eye(D.shape[1])
            return np.linalg.solve(left, D.T @ Xk + lam * V @ Ak)

        C = codes(D)
        for _ in range(4):
            left = C @ C.T + mu * np.eye(len(C))
            D = np.linalg.solve(left, (Xk @ C.T + mu * D).T).T
            C = codes(D)
        labels.append(authors_answer(X, A, D, V).argmax(axis=1))
    return D, labels


def authors_preparation(X_seen, X_unseen, A, counts, seen, n_axes):
    """Unit rows, centring per domain and principal axes; rows are samples here."""

    def unit(M):
        return M / np.linalg.norm(M, axis=1, keepdims=True)

    Xs, Xu, A = unit(X_seen), unit(X_unseen), unit(A)
    Xs, Xu = Xs - Xs.mean(axis=0), Xu - Xu.mean(axis=0)
    A_seen = A[seen] - (counts[seen] @ A[seen]) / counts[seen].sum()
    A_unseen = A[~seen] - A[~seen].mean(axis=0)
    _, _, axes = np.linalg.svd(np.linalg.qr(Xs, mode="r"))
    axes = axes[:n_axes].T
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.sign(axes[largest, np.arange(n_axes)])
    return Xs @ axes, Xu @ axes, A_seen, A_unseen


def minimise(f, start, **options):
    """A generic minimiser; f takes an array shaped like ``start``."""
    found = minimize(
        lambda v: f(v.reshape(start.shape)),
        start.ravel(),
        method="BFGS",
        options={"gtol": 1e-9, "maxiter": 5000, **options},
    )
    return found.x.reshape(start.shape)
