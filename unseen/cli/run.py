"""``unseen run``: learn from labelled rows, or take a saved model, and label the rest.

data, class table -> fit, or a saved model -> adapt -> labels.csv -> page, model, score
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from unseen._command import command_line
from unseen.cli.options import (
    AsJson,
    Column,
    DataOptions,
    Force,
    Given,
    Id,
    Model,
    Save,
    Source,
    Tables,
    Unseen,
    file_errors,
    labels_and_page,
    print_json,
    read_given,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

EXAMPLES = """
Examples:

  unseen run birds.csv --classes attributes.csv

  unseen run digits --method tstd --set search

  unseen run birds.csv --classes attributes.csv --id ring --save birds.unseen

  unseen run more_birds.csv --model birds.unseen --id ring --out more.csv

  unseen run birds.csv --classes attributes.csv --generalized --min-reliability 0.6
"""
UNKNOWN = "unknown"
ROWS_AT_ONCE = 1 << 15


def run(
    data: Source,
    classes: Tables = None,
    unseen: Unseen = None,
    column: Column = None,
    id: Id = None,
    method: Annotated[
        str | None, typer.Option(help="Method.", show_default="ast")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Set a parameter, NAME=VALUE, such as random_state=1. Or search: "
            "choose them by cross-validation over the seen classes. May be repeated.",
        ),
    ] = None,
    model: Model = None,
    given: Given = None,
    generalized: Annotated[
        bool,
        typer.Option(
            "--generalized",
            help="Rows may be of seen classes too: all classes compete.",
        ),
    ] = False,
    min_reliability: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Label rows below this reliability 'unknown' instead."
        ),
    ] = 0.0,
    save: Save = None,
    out: Annotated[
        Path, typer.Option(help="File for the labels; a folder gets a page as well.")
    ] = Path("labels.csv"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn from the labelled rows of DATA, or take MODEL, and label all other rows.

    DATA is a file, a folder or a bundled set. Rows with an empty label, and rows of
    classes that are unseen, get one of the unseen classes. If some of them have labels
    in DATA, these are compared with the answer, and used for nothing else.
    """
    target, page = labels_and_page(out)
    asked = DataOptions(data, classes, unseen, column, id)
    with file_errors():
        from unseen.files import check_outputs
        from unseen.labels import label_table, write_labels
        from unseen.progress import show_progress
        from unseen.review.origins import Origin, absolute, note_origin

        reading = [*asked.files, model, given]
        check_outputs(target, page, save, reading=reading, force=force)
        with asked.naming_gaps(), show_progress(sys.stderr.isatty()):
            if model is None:
                fitted, rows = learn(asked, method or "ast", settings, generalized)
            elif method or settings or classes or unseen:
                raise ValueError(
                    "--model says what was learned: leave out --classes, --unseen, "
                    "--method and --set."
                )
            else:
                fitted, rows = take(asked, model, generalized)
            if not len(rows.ids):
                raise ValueError(
                    f"{data}: every row has the label of a seen class, so there is "
                    "nothing to label. Leave labels empty, or name unseen classes "
                    "with --unseen."
                )
            certain = by_place(read_given(given), rows.ids, given)
            labels = label(fitted, rows, "all" if generalized else None, certain)
        labels = leave_unknown(labels, min_reliability)
        write_labels(labels, target)
        noted = Origin("rows", absolute(data), column=column or "", id=id or "")
        note_origin(target, noted)
        if save is not None:
            fitted.save(save)
        if page is not None:
            from unseen.report import write_labels_report

            known = (rows.truth != "").all()
            truth = label_table(rows.truth, ids=rows.ids) if known else None
            write_labels_report(target, page, data=truth)
        named = labels["label"].to_numpy()
        sides = fitted.unseen_classes_ if generalized else None
        found = score_labels(rows.truth, named, sides)
    if as_json:
        print_json(
            {
                "labels": target,
                "report": page,
                "model": save,
                "estimator": " ".join(repr(fitted).split()),
                "rows": len(labels),
                "counts": labels["label"].value_counts().to_dict(),
                "rounds": [str(done) for done in getattr(fitted, "rounds_", [])],
                "score": found,
            }
        )
        return
    n_scored, *scores = found.items()
    if scores:
        shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in scores)
        typer.echo(f"{shares}, by the true labels of {n_scored[1]:,} rows.")
    rows_named = named[named != UNKNOWN]
    n, k = len(rows_named), len(set(rows_named))
    left = f", {len(named) - n:,} stay unknown" if n < len(named) else ""
    got = f"{k} name" if k == 1 else f"{k} names"
    typer.echo(f"{n:,} {'row' if n == 1 else 'rows'} got {got}{left}.")
    typer.echo(f"Labels are in {target}")
    if save is not None:
        typer.echo(f"The model is in {save}")
    if page is not None:
        typer.echo(f"Open {page}")
    typer.echo(f"Look at them and correct some:  {command_line('review', target)}")


class Rows(NamedTuple):
    """The rows to label: features, ids, and the true labels, "" where none is known."""

    X: Any
    ids: np.ndarray
    truth: np.ndarray


def learn(
    asked: DataOptions, method: str, settings: list[str] | None, generalized: bool
) -> tuple[Any, Rows]:
    """Return a model that has learned from the labelled rows, and all other rows."""
    import numpy as np

    from unseen.methods import find_method
    from unseen.trust.calibrated import Calibrated

    way = find_method(method)
    search = "search" in (settings or [])
    wanted = dict(parse_setting(one) for one in settings or [] if one != "search")
    data = asked.load()
    typer.echo(repr(data), err=True)
    n_seen = len(data.seen)
    if not n_seen:
        raise ValueError(
            f"{asked.source}: no row has a label, so there is nothing to learn from. "
            "Label rows of at least two classes; if the labels are in another column, "
            "name it with --column."
        )
    X, y = as_frame(data.X_seen, data.feature_names), data.y_seen
    table = data.class_embeddings
    if search and not way.searchable:
        typer.echo(f"--set search: {way.label} has nothing to search.", err=True)
    if search and way.searchable:
        if n_seen < 4:
            raise ValueError(
                f"--set search holds out classes with labels, two at a time, and needs "
                f"four; the data has {n_seen}. Leave it out."
            )
        model = way.searched(X, y, table, n_folds=min(5, n_seen // 2))
    else:
        model = way.make()
    seed = wanted.get("random_state", 0)
    seeds = [name for name in model.get_params() if name.endswith("__random_state")]
    model.set_params(**dict.fromkeys(seeds, seed) | wanted)
    if generalized:
        folds = max(2, min(4, n_seen // 2))
        model = Calibrated(model, cv=folds, random_state=seed)
    model.fit(X, y, class_embeddings=table)
    places = data.pile
    if generalized and data.seen_test is not None:  # rows that the set keeps to score
        places = np.union1d(places, np.flatnonzero(data.seen_test))
    unlabelled = as_frame(data.X[places], data.feature_names)
    return model, Rows(unlabelled, data.ids_of(places), data.y[places])


def take(asked: DataOptions, path: Path, generalized: bool) -> tuple[Any, Rows]:
    """Return a saved model, and the rows that have no label of a class it has seen."""
    import numpy as np

    from unseen.data import match_features
    from unseen.keep import load_model
    from unseen.loading import open_npy
    from unseen.loading.parts import as_float

    model = load_model(path)
    if not hasattr(model, "unseen_classes_"):
        raise ValueError(
            f"{path}: is a {type(model).__name__}, which does not label rows of "
            f"features. Photos and texts are labelled by: "
            f"{command_line('label', '--model', path)}"
        )
    if asked.source.endswith(".npy"):
        X = open_npy(asked.source)
        if X.ndim != 2:
            raise ValueError(f"{asked.source}: has shape {X.shape}. Give rows.")
        X = as_frame(X, known_features(model))
        return model, Rows(X, np.arange(len(X)), np.full(len(X), ""))
    parts = asked.parts()
    y = parts.y
    wanted = ~np.isin(y, np.setdiff1d(model.classes_, model.unseen_classes_))
    if generalized and parts.seen_test is not None:
        wanted |= parts.seen_test
    X = as_float(parts.X, f"{asked.source}: the features")[wanted]
    columns = known_features(model)
    X = match_features(X, parts.feature_names, columns, asked.source)
    ids = np.arange(len(y)) if parts.ids is None else parts.ids
    return model, Rows(as_frame(X, columns), ids[wanted], y[wanted])


def label(
    model: Any, rows: Rows, who: str | None, given: dict[int, str]
) -> pd.DataFrame:
    """Return the table of labels: adapted where the method learns from the rows."""
    import numpy as np
    import pandas as pd

    from unseen.labels import label_table
    from unseen.named import second_best

    adapts = hasattr(model, "adapt")
    if adapts:
        model.adapt(rows.X, classes=who, **({"given": given} if given else {}))
        labels, names = model.labels_, model.competing_classes_
    elif given:
        raise ValueError(f"{type(model).__name__} takes no given labels.")
    else:
        labels = model.predict(rows.X, classes=who)
        unseen = model.unseen_classes_
        names = model.classes_ if who == "all" or not len(unseen) else unseen
    second, leads = [], []
    for start in range(0, len(labels), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        scores = model.decision_function(rows.X[part], classes=None if adapts else who)
        if scores.ndim == 1 and len(names) == 2:
            scores = np.column_stack([-scores, scores])
        scores = scores.reshape(len(scores), -1)
        above = scores - scores.min(axis=1, keepdims=True)
        second.append(second_best(above, labels[part], np.asarray(names)))
        leads.append(np.ptp(np.sort(scores, axis=1)[:, -2:], axis=1))
    if adapts:
        reliability = model.reliability_
    else:  # the order of rows within their class is all there is
        lead = pd.Series(np.concatenate(leads))
        reliability = lead.groupby(labels).rank(pct=True).to_numpy()
    return label_table(
        labels, ids=rows.ids, reliability=reliability, second=np.concatenate(second)
    )


def by_place(
    given: dict[str, str], ids: np.ndarray, path: Path | None
) -> dict[int, str]:
    """Return given labels by place among the rows to label."""
    places = {str(name): place for place, name in enumerate(ids)}
    strange = [name for name in given if name not in places]
    if strange:
        raise ValueError(
            f"{path}: id {strange[0]!r} is none of the rows to label ({len(strange)} "
            f"of {len(given)} are not), whose ids are like {str(ids[0])!r}."
        )
    return {places[name]: label for name, label in given.items()}


def known_features(model: Any) -> Any:
    """Return the names of the columns that a model has learned from, or None."""
    own = getattr(model, "feature_names_in_", None)
    inner = getattr(model, "estimator_", None)
    return own if inner is None or own is not None else known_features(inner)


def as_frame(X: np.ndarray, names: Any) -> Any:
    """Return rows with the names of their columns, if they fit; a model keeps them."""
    import pandas as pd

    fits = names is not None and len(names) == X.shape[1]
    return pd.DataFrame(X, columns=names) if fits else X


def parse_setting(text: str) -> tuple[str, Any]:
    """Turn NAME=VALUE into a parameter; a value is JSON, or else text.

    >>> parse_setting("kappa=8"), parse_setting("loss=squared")
    (('kappa', 8), ('loss', 'squared'))
    """
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError(f"--set {text!r} is not of the form NAME=VALUE.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def leave_unknown(table: pd.DataFrame, least: float) -> pd.DataFrame:
    """Return the table with labels below a reliability called unknown.

    >>> from unseen.labels import label_table
    >>> table = label_table(["okapi", "zebra"], reliability=[0.9, 0.4])
    >>> leave_unknown(table, 0.5)["label"].tolist()
    ['okapi', 'unknown']
    """
    kept = table["reliability"] >= least
    if least and not kept.any():
        best = int(1000 * table["reliability"].max()) / 1000  # never rounded up
        warnings.warn(
            f"No label is this reliable; the best has {best:g}. Lower "
            "--min-reliability, or look at some labels by hand.",
            stacklevel=2,
        )
    return table.assign(label=table["label"].where(kept, UNKNOWN)) if least else table


def score_labels(truth: Any, labels: Any, unseen: Any = None) -> dict[str, Any]:
    """Compare labels with true ones, "" where nobody knows them.

    With the names of the ``unseen`` classes, both sides of a mixed set are scored.

    >>> import numpy as np
    >>> score_labels(np.array(["okapi", ""]), np.array(["okapi", "zebra"]))
    {'rows': 1, 'per-class accuracy': 1.0}
    """
    import numpy as np

    from unseen.trust.metrics import harmonic_mean, per_class_accuracy

    scored = (truth != "") & (labels != UNKNOWN)
    truth, labels = truth[scored].astype(str), labels[scored].astype(str)
    if not len(truth):
        return {"rows": 0}
    found = {"per-class accuracy": per_class_accuracy(truth, labels)}
    theirs = np.isin(truth, [] if unseen is None else unseen)
    if 0 < theirs.sum() < len(theirs):
        found["U"] = U = per_class_accuracy(truth[theirs], labels[theirs])
        found["S"] = S = per_class_accuracy(truth[~theirs], labels[~theirs])
        found["H"] = harmonic_mean(S, U)
    shares = {name: round(float(value), 6) for name, value in found.items()}
    return {"rows": len(truth), **shares}
