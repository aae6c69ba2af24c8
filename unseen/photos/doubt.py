"""When names do not fit these photos well: a warning, and why.

Photos have clusters of their own, whatever they are called. Names that fit them part
the photos much as k-means does; names that say nothing part them otherwise. On real
sets of photos the agreement (adjusted mutual information) of the labels by names alone
is far apart for those that work and those that do not. Two clear classes among many
photos that look alike agree little and come out right all the same; so where labels
were adapted, their mean reliability decides. Both bounds were fixed on ten development
sets and lists of 2 to 10 of their classes, with their labels.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from unseen.core.linalg import leading_eigenvectors, to_unit

# Agreement, and mean reliability: names that reach it are no cause for a warning.
ENOUGH, SURE = 0.38, 0.6


class WeakNamesWarning(UserWarning):
    """The class names hardly tell how these photos look."""


def agreement(X: np.ndarray, labels: np.ndarray, n_classes: int) -> float:
    """Return how far labels follow the clusters of photos: 0 by chance, 1 exactly."""
    from sklearn.metrics import adjusted_mutual_info_score  # slow to import

    rows = np.linspace(0, len(X) - 1, min(2000, len(X))).astype(int)  # enough to tell
    Z = to_unit(np.asarray(X[rows], dtype=np.float64))
    Z -= Z.mean(axis=0)
    axes = leading_eigenvectors(Z.T @ Z, min(50, Z.shape[1]))[1]
    found = own_groups(Z @ axes, n_classes)  # where they differ most
    return float(adjusted_mutual_info_score(np.asarray(labels)[rows], found))


def own_groups(X: np.ndarray, n: int) -> np.ndarray:
    """Return the group of every row: by k-means, from the groups of a Ward tree.

    No start is drawn, so no answer hangs on one; the groups are within 1 % as tight as
    the best of twenty starts.
    """
    from scipy.cluster.hierarchy import fcluster, ward
    from sklearn.cluster import KMeans

    groups = fcluster(ward(X), n, "maxclust")
    means = np.array([X[groups == one].mean(axis=0) for one in np.unique(groups)])
    return KMeans(len(means), init=means, n_init=1, tol=0).fit_predict(X)


def doubt_in_names(
    X: np.ndarray,
    labels: np.ndarray,
    names: Sequence[str],
    places: Sequence[tuple[int, ...]],
    trust: Sequence[str],
    sure: float = 0.0,
) -> str:
    """Return why photos do not bear names out, "" if they do.

    ``labels`` are by the names alone; ``places`` of the classes are in the tree;
    ``sure`` is the mean reliability of the adapted labels.
    """
    if len(names) < 2 or len(X) < 5 * len(names):  # clusters of fewer say nothing
        return ""
    found = agreement(X, labels, len(names))
    if sure >= SURE if sure else found >= ENOUGH:
        return ""
    counts = Counter(place for place in places if place)
    same = [n for n, place in zip(names, places, strict=True) if counts[place] > 1]
    weak = ("vague", "unknown")
    poor = [n for n, how in zip(names, trust, strict=True) if how in weak]
    vague = [name for name in poor if name not in same]
    why = [f"{_few(same)} were understood as the same kind of thing"] if same else []
    tell = "does not tell" if len(vague) == 1 else "do not tell"
    why += [f"{_few(vague)} {tell} how things look"] if vague else []
    return (
        "The names do not fit these photos well: labels by name agree only weakly with "
        "the groups into which the photos fall "
        f"({'; '.join([f'{found:.2f}, where 1 is perfect', *why])}). Do not trust "
        "these labels yet. Describe the classes, or label a few photos."
    )


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
