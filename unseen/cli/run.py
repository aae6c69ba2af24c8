"""``unseen run``: learn from labelled rows, or take a saved model, and label the rest.

data, class table -> fit, or a saved model -> adapt -> labels.csv -> page, model, score
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen._command import command_line
from unseen._words import how_many
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
    examples,
    labels_and_page,
    print_json,
    read_given,
    say,
)

if TYPE_CHECKING:
    import numpy as np

EXAMPLES = examples(
    "unseen run birds.csv --classes attributes.csv",
    "unseen run photos --method tstd",
    "unseen run birds.csv --classes attributes.csv --id ring --save birds.unseen",
    "unseen run more_birds.csv --model birds.unseen --id ring --out more.csv",
    "unseen run birds.csv --classes attributes.csv --generalized --min-reliability 0.6",
)
UNKNOWN = "unknown"


def run(
    data: Source,
    classes: Tables = None,
    unseen: Unseen = None,
    column: Column = None,
    id: Id = None,
    method: Annotated[
        str | None, typer.Option(help="Name of the method.", show_default="ast")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="NAME=VALUE sets a parameter of the method, such as random_state=1; "
            "search chooses them by folds of the seen classes. May be repeated.",
        ),
    ] = None,
    model: Model = None,
    given: Given = None,
    generalized: Annotated[
        bool,
        typer.Option(
            "--generalized",
            help="Make all classes candidates: rows may belong to seen classes, too.",
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
    """Learn from the labelled rows of DATA, and label the others.

    DATA is a file, a folder or a bundled set. Rows with an empty label, and rows of
    classes that are unseen, get one of the unseen classes. If some of them have labels
    in DATA, these are compared with the answer, and used for nothing else.
    """
    import numpy as np

    from unseen.files import check_outputs
    from unseen.labels import label_table, write_labels
    from unseen.named import refuse_lost, unlike_message
    from unseen.progress import show_progress
    from unseen.review.origins import Origin, absolute, note_origin

    target, page = labels_and_page(out)
    asked = DataOptions(data, classes, unseen, column, id)
    reading = [*asked.files, model, given]
    check_outputs(target, page, save, reading=reading, force=force)
    if model and (method or settings or classes or unseen):
        raise ValueError(
            "A saved model keeps its classes and its method. Omit --classes, "
            "--unseen, --method and --set."
        )
    with show_progress(sys.stderr.isatty()):
        fitted, X, ids, truth = (
            take(asked, model, generalized)
            if model
            else learn(asked, method or "ast", settings or [], generalized)
        )
        if min_reliability and not hasattr(fitted, "adapt"):
            raise ValueError(
                f"{no_reliability(fitted)} Omit --min-reliability, or take another "
                "method."
            )
        if not len(ids):
            raise ValueError(
                f"{data}: every row has the label of a seen class, so there is "
                "nothing to label. Leave labels empty, or name unseen classes "
                "with --unseen."
            )
        sure, places = read_given(given), {str(name): i for i, name in enumerate(ids)}
        why = f"{data} has no such row to label; ids are like {str(ids[0])!r}"
        refuse_lost(set(sure) - set(places), why)
        certain = {places[name]: one for name, one in sure.items()}
        table = label(fitted, X, "all" if generalized else None, certain)
        if model and (taught := getattr(fitted, "taught_", None)):
            table["unlike"] = np.where(taught.unlike(np.asarray(X)), "yes", "")
        labels = label_table(ids=ids, **table)
    if min_reliability:
        kept = labels["reliability"] >= min_reliability
        labels["label"] = labels["label"].where(kept, UNKNOWN)
        if not kept.any():
            best = int(1000 * labels["reliability"].max()) / 1000  # never rounded up
            warnings.warn(
                f"No label is this reliable; the highest reliability is {best:g}. "
                "Lower --min-reliability, or look at some labels by hand.",
                stacklevel=1,
            )
    write_labels(labels.assign(sure="unchecked"), target)
    origin = Origin("rows", absolute(data), column=column or "", id=id or "")
    note_origin(target, origin)
    if save:
        fitted.save(save)
    if page:
        from unseen.report import write_labels_report

        write_labels_report(target, page, truth=truth)
    n_unlike = list(table.get("unlike", [])).count("yes")
    foreign = unlike_message(n_unlike, len(labels), "rows")
    score = score_labels(truth, labels["label"].to_numpy(), fitted)
    counts = labels["label"].value_counts().to_dict()
    if as_json:
        print_json(
            {
                "labels": target,
                "report": page,
                "model": save,
                "estimator": " ".join(repr(fitted).split()),
                "rows": len(labels),
                "counts": counts,
                "message": foreign,
                "rounds": [str(done) for done in getattr(fitted, "rounds_", [])],
                "score": score,
            }
        )
        return
    n_scored = score.pop("rows")
    shares = ", ".join(f"{name} {100 * one:.1f} %" for name, one in score.items())
    n_unknown = counts.pop(UNKNOWN, 0)
    got = how_many(len(labels) - n_unknown, "row"), how_many(len(counts), "name")
    left = f", {n_unknown:,} stay unknown" if n_unknown else ""
    lines = [
        shares and f"{shares}, by the true labels of {how_many(n_scored, 'row')}.",
        f"{' got '.join(got)}{left}.",
        foreign,
        f"Labels are in {target}",
        "" if hasattr(fitted, "adapt") else no_reliability(fitted),
        save and f"The model is in {save}",
        page and f"Open {page}",
        f"Unchecked; check and correct some:  {command_line('review', target)}",
    ]
    say(*filter(None, lines))


def no_reliability(model: Any) -> str:
    """Say why labels of a model come without reliability."""
    return f"{type(model).__name__} does not adapt, and so estimates no reliability."


def learn(
    asked: DataOptions, method: str, settings: list[str], generalized: bool
) -> tuple[Any, ...]:
    """Return a model that has learned; features, ids and true labels of other rows."""
    import numpy as np
    import pandas as pd

    from unseen.methods import find_method
    from unseen.named import MOST, remember
    from unseen.trust.calibrated import Calibrated

    way, search = find_method(method), "search" in settings
    wanted = dict(parse_setting(one) for one in settings if one != "search")
    data = asked.load()
    say(*repr(data).split("\n"), err=True)
    check_finite(data.X, asked)
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
        say(f"--set search: {way.label} has nothing to search.", err=True)
    if search and way.searchable:
        model = way.searched(X, y, table, n_folds=max(2, min(5, n_seen // 2)))
    else:
        model = way.make()
    seed = wanted.get("random_state", 0)
    seeds = [name for name in model.get_params() if name.endswith("__random_state")]
    model.set_params(**dict.fromkeys(seeds, seed) | wanted)
    if generalized:
        folds = max(2, min(4, n_seen // 2))
        model = Calibrated(model, cv=folds, random_state=seed)
    model.fit(X, y, class_embeddings=table)
    some = np.linspace(0, len(y) - 1, min(len(y), MOST)).astype(int)
    shares = pd.get_dummies(y[some]).to_numpy(float)
    model.taught_ = remember(data.X_seen[some], shares, whole_classes=True)
    places = data.to_label
    if generalized and data.seen_test is not None:  # rows that the set keeps to score
        places = np.union1d(places, np.flatnonzero(data.seen_test))
    unlabelled = as_frame(data.X[places], data.feature_names)
    ids = places if data.ids is None else data.ids[places]
    return model, unlabelled, ids, data.y[places]


def take(asked: DataOptions, path: Path, generalized: bool) -> tuple[Any, ...]:
    """Return a saved model, and as ``learn`` the rows of no class that it has seen."""
    import numpy as np

    from unseen.keep import load_model
    from unseen.loading.arrays import open_npy
    from unseen.loading.parts import as_float

    model = load_model(path)
    if not hasattr(model, "unseen_classes_"):
        raise ValueError(
            f"{path} is a {type(model).__name__}, which does not label rows of "
            f"features. Photos and texts are labelled by: "
            f"{command_line('label', '--model', path)}"
        )
    columns = getattr(model, "feature_names_in_", None)
    if asked.source.endswith(".npy"):
        X = open_npy(asked.source)
        if X.ndim != 2:
            raise ValueError(f"{asked.source} has shape {X.shape}. Give a table.")
        ids, truth = np.arange(len(X)), np.full(len(X), "")
    else:
        raw = asked.raw()
        wanted = ~np.isin(raw.y, seen_by(model))
        if generalized and raw.seen_test is not None:
            wanted |= raw.seen_test
        X = as_float(raw.X, f"{asked.source}: the features")[wanted]
        if columns is not None and raw.feature_names is not None:
            X = X[:, match_columns(raw.feature_names, columns, asked.source)]
        ids = np.arange(len(wanted)) if raw.ids is None else raw.ids
        ids, truth = ids[wanted], raw.y[wanted]
    check_finite(X, asked)
    return model, as_frame(X, columns), ids, truth


def match_columns(names: np.ndarray, known: np.ndarray, where: str) -> np.ndarray:
    """Return where the columns are that a model has learned from, by their names."""
    import pandas as pd

    from unseen._words import short_list

    place = pd.Index(names).get_indexer(pd.Index(known))
    missing, foreign = known[place < 0], names[~pd.Index(names).isin(known)]
    if len(missing) or len(foreign):
        lacks = f" It needs {short_list(missing)}." if len(missing) else ""
        knows = f" It does not know {short_list(foreign)}." if len(foreign) else ""
        raise ValueError(
            f"{where}: the columns are not those the model has learned from."
            f"{lacks}{knows} Give the same columns, in any order."
        )
    return place


def check_finite(X: np.ndarray, asked: DataOptions) -> None:
    """Where features are missing, say which command lists the rows."""
    import numpy as np

    if not np.isfinite(X.sum(dtype=float)):  # rows may be on disk, and many
        listing = command_line("data", "check", asked.source, *asked.words())
        raise ValueError(
            f"{asked.source}: some features are missing or infinite. To list them: "
            f"{listing}"
        )


def label(
    model: Any, X: Any, who: str | None, given: dict[int, str]
) -> dict[str, np.ndarray]:
    """Return labels, reliability and second choice; adapted where the method does.

    A method that does not adapt estimates no reliability.
    """
    import numpy as np
    from sklearn.utils import gen_batches

    from unseen.named import second_best

    adapts = hasattr(model, "adapt")
    if adapts:
        model.adapt(X, classes=who, given=given or None)
        labels, names, who = model.labels_, model.competing_classes_, None
    elif given:
        raise ValueError(f"{type(model).__name__} takes no given labels.")
    else:
        labels, unseen = model.predict(X, classes=who), model.unseen_classes_
        names = model.classes_ if who == "all" or not len(unseen) else unseen
    seconds = []
    for part in gen_batches(len(labels), 1 << 15):  # scores of all may fill the memory
        scores = model.decision_function(X[part], classes=who)
        if scores.ndim == 1 and len(names) == 2:
            scores = np.column_stack([-scores, scores])
        scores = scores.reshape(len(scores), -1)
        above = scores - scores.min(axis=1, keepdims=True)
        seconds.append(second_best(above, labels[part], np.asarray(names)))
    reliability = model.reliability_ if adapts else np.full(len(labels), np.nan)
    second = np.concatenate(seconds)
    return {"labels": labels, "reliability": reliability, "second": second}


def seen_by(model: Any) -> np.ndarray:
    """Return the classes that a model has learned from labelled rows of."""
    import numpy as np

    return np.setdiff1d(model.classes_, model.unseen_classes_)


def as_frame(X: np.ndarray, names: Any) -> Any:
    """Return rows with the names of their columns, if they fit; a model keeps them."""
    import pandas as pd

    fits = names is not None and len(names) == X.shape[1]
    return pd.DataFrame(X, columns=names) if fits else X


def parse_setting(text: str) -> tuple[str, Any]:
    """Turn NAME=VALUE into a parameter; a value is JSON, or else text."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError(f"--set {text!r} is not of the form NAME=VALUE.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def score_labels(truth: Any, labels: Any, model: Any) -> dict[str, Any]:
    """Compare labels with true ones, "" where nobody knows them.

    Where rows of seen and of unseen classes are among them, both sides are scored.
    """
    import numpy as np

    from unseen.trust.metrics import both_sides, per_class_accuracy

    scored = (truth != "") & (labels != UNKNOWN)
    truth, labels = truth[scored].astype(str), labels[scored].astype(str)
    if not len(truth):
        return {"rows": 0}
    found = {"per-class accuracy": per_class_accuracy(truth, labels)}
    seen = seen_by(model)
    if 0 < np.isin(truth, seen).sum() < len(truth):
        found |= both_sides(truth, labels, labels, seen)
    shares = {name: round(float(value), 6) for name, value in found.items()}
    return {"rows": len(truth), **shares}
