"""Brute-force answers that share no line with the package.

Here columns are samples, as in the paper, every sum is over samples, and nothing is
reduced to products.
"""

import numpy as np
from scipy.optimize import brentq, minimize


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


def plain_anchored(X, y, S, pile, T, *, kappa, radius, prior_rows, n_rounds, pull=0.0):
    """Anchored self-training on samples, line by line, for one linear kernel.

    X, pile: rows of unit length; ``pull`` holds classes to like sizes. Returns a dict
    of what was measured, and labels and class means of the start and every round.
    """
    mean = X.mean(axis=0)
    classes = np.unique(y)
    M = len(classes)
    within = sum(
        np.cov(X[y == c].T, bias=True) * np.sum(y == c) for c in classes
    ) / len(X)
    p = len(within)
    shrunk = within + 0.1 * np.trace(within) / p * np.eye(p)
    values, vectors = np.linalg.eigh(shrunk)
    W = vectors @ np.diag(values**-0.5) @ vectors.T
    C = np.array([(X[y == c] - mean).mean(axis=0) for c in classes]) @ W

    def unit(A):
        return A / np.linalg.norm(A, axis=1, keepdims=True)

    S, T = unit(S), unit(T)
    centre = S.mean(axis=0)
    size = np.sqrt(((S - centre) ** 2).sum(axis=1).mean())
    S, T = (S - centre) / size, (T - centre) / size
    best = None
    for exponent in np.arange(-2.5, 2.01, 0.25):
        errors = []
        for c in range(M):  # leave class c out, for real
            rest = [i for i in range(M) if i != c]
            K = S[rest] @ S[rest].T + 100 + 10**exponent * np.eye(M - 1)
            k = S[[c]] @ S[rest].T + 100
            errors.append(C[c] - (k @ np.linalg.solve(K, C[rest]))[0])
        press = np.mean(np.square(errors))
        if best is None or press < best[0]:
            best = press, 10**exponent, np.array(errors)
    v, ridge, errors = best
    alpha = np.linalg.solve(S @ S.T + 100 + ridge * np.eye(M), C)
    spread, basis = np.linalg.eigh(errors.T @ errors / M)
    v_j = spread / 2 + v / 2
    length = np.sqrt(((C - errors) ** 2).sum(axis=1).mean())
    Z = unit((T @ S.T + 100) @ alpha) * length @ basis
    B = (pile - mean) @ W @ basis
    q = 1 / (1 + v_j)
    L = B @ (q * Z).T - (q * Z**2).sum(axis=1) / 2
    n, N = L.shape

    def soft(scores):
        R = np.exp(scores - scores.max(axis=1, keepdims=True))
        return R / R.sum(axis=1, keepdims=True)

    def pulled(scores, u, n_steps):
        for _ in range(n_steps):
            sizes = soft(scores + u).sum(axis=0)
            u = u + (-pull * np.log(sizes * N / n) - u) / (1 + pull)
        return u - u.mean()

    labels, means, u = [L.argmax(axis=1)], [Z], np.zeros(N)
    heat = [2.0, 1.6, 1.3, *[1.0] * n_rounds]
    for number in range(n_rounds):
        if pull:
            u = pulled(L / heat[number], u, 10 if number == 0 else 3)
        R = soft(L / heat[number] + u)
        if not pull:
            sizes = R.sum(axis=0) + prior_rows
            u = np.log(sizes / sizes.mean())
        m = np.empty_like(Z)
        for c in range(N):

            def mean_of(k, c=c, R=R):
                anchor = k / v_j
                return (R[:, c] @ B + anchor * Z[c]) / (R[:, c].sum() + anchor)

            def beyond(k, c=c, mean_of=mean_of):
                return np.mean((mean_of(k) - Z[c]) ** 2 / v_j) - radius

            held = beyond(kappa) > 0
            m[c] = mean_of(brentq(beyond, kappa, 1e12) if held else kappa)
        L = B @ m.T - (m**2).sum(axis=1) / 2
        answer = L
        if pull:
            answer = L + pulled(L / heat[number + 1], u, 3)
        labels.append(answer.argmax(axis=1))
        means.append(m)
    measured = {"variances": v_j, "variance": v, "length": length, "basis": basis}
    return measured, labels, means
