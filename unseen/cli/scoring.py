"""``unseen run --score``: how good labels are, for those who know the truth."""

from __future__ import annotations

from typing import Any

from unseen._words import printable


def score_labels(truth: Any, labels: Any, unseen: Any = None) -> dict[str, Any]:
    """Compare labels with true ones, as far as these are known.

    Parameters
    ----------
    truth : array of str
        "" where nobody knows.
    labels : array of str
    unseen : array of str, optional
        Names of the unseen classes, to score both sides of a mixed set.

    >>> score_labels(["zebra", "okapi", ""], ["zebra", "zebra", "okapi"])["missing"]
    1
    """
    import numpy as np

    from unseen.trust.metrics import confusion, harmonic_mean, per_class_accuracy

    truth, labels = np.asarray(truth, str), np.asarray(labels, str)
    known = truth != ""
    truth, labels = truth[known], labels[known]
    found: dict[str, Any] = {"rows": len(truth), "missing": int((~known).sum())}
    if not len(truth):
        return found
    found["per-class accuracy"] = round(float(per_class_accuracy(truth, labels)), 6)
    found["share of rows"] = round(float((truth == labels).mean()), 6)
    theirs = np.isin(truth, [] if unseen is None else unseen)
    if unseen is not None and 0 < theirs.sum() < len(theirs):
        U = float(per_class_accuracy(truth[theirs], labels[theirs]))
        S = float(per_class_accuracy(truth[~theirs], labels[~theirs]))
        sides = {"U": U, "S": S, "H": float(harmonic_mean(S, U))}
        found |= {side: round(value, 6) for side, value in sides.items()}
    table = confusion(truth, labels)
    found["classes"] = {}
    for name in np.unique(truth):
        own = table.loc[name]
        wrong = own.drop(name).sort_values(ascending=False, kind="stable")
        found["classes"][str(name)] = {
            "rows": int(own.sum()),
            "accuracy": round(float(own[name] / own.sum()), 6),
            "mistaken for": str(wrong.index[0]) if wrong.sum() else None,
        }
    return found


def as_lines(found: dict[str, Any]) -> list[str]:
    """Write scores as a table of text."""
    by_class = found.get("classes", {})
    width = max(len(printable(name)) for name in (*by_class, "mean of classes")) + 2
    lines = [f"{'class':<{width}}{'rows':>8}{'right, %':>10}  most often mistaken for"]
    for name, own in by_class.items():
        other = printable(own["mistaken for"] or "-")
        share = f"{own['rows']:>8}{100 * own['accuracy']:>10.1f}"
        lines.append(f"{printable(name):<{width}}{share}  {other}")
    shares = {
        "mean of classes": found.get("per-class accuracy"),
        **{side: found[side] for side in "USH" if side in found},
    }
    for name, value in shares.items():
        if value is not None:
            lines.append(f"{name:<{width}}{'':>8}{100 * value:>10.1f}")
    left_out = {
        "true labels are missing": found["missing"],
        "rows stay unknown": found.get("without a label", 0),
    }
    lines += [f"{n:,} {what} and not scored." for what, n in left_out.items() if n]
    return lines
