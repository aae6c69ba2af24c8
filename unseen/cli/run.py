"""``unseen run``: learn from labelled rows, or take a saved model, and label the rest.

data, class table -> fit, or a saved model -> adapt -> labels.csv -> score, page, model
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from unseen._command import command_line
from unseen.cli.bars import show_work
from unseen.cli.options import (
    AsJson,
    Column,
    DataOptions,
    Force,
    Id,
    Source,
    Tables,
    Unseen,
    complete_method,
    file_errors,
)
from unseen.cli.scoring import as_lines, score_labels

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

EXAMPLES = """
Examples:

  unseen run birds.csv --classes attributes.csv

  unseen run digits --method tstd --search --score

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
        str | None,
        typer.Option(
            help="Method.", autocompletion=complete_method, show_default="ast"
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set a parameter: NAME=VALUE. May be repeated."),
    ] = None,
    search: Annotated[
        bool,
        typer.Option(
            "--search",
            help="Choose parameters by cross-validation over the seen classes.",
        ),
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option(help="Saved model to label with, instead of learning from DATA."),
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option(help="CSV file of id and label, for labels you are sure of."),
    ] = None,
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
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    save: Annotated[Path | None, typer.Option(help="Save the model here.")] = None,
    score: Annotated[
        bool,
        typer.Option("--score", help="Compare with the true labels in DATA."),
    ] = False,
    out: Annotated[
        Path, typer.Option(help="File for the labels; a folder gets a page as well.")
    ] = Path("labels.csv"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn from the labelled rows of DATA, or take MODEL, and label all other rows.

    DATA is a file, a folder or a bundled set. Rows with an empty label, and rows of
    classes that are unseen, get one of the unseen classes. Their labels, if they have
    any, are used for --score alone.
    """
    is_file = bool(out.suffix) or (out.exists() and not out.is_dir())
    target = out if is_file else out / "labels.csv"
    page = None if is_file else out / "report.html"
    asked = DataOptions(data, classes, unseen, column, id)
    with file_errors(), show_work():
        from unseen.files import check_outputs
        from unseen.labels import label_table, write_labels
        from unseen.review.origins import Origin, absolute, note_origin

        reading = [*asked.files, model, given]
        check_outputs(target, page, save, reading=reading, force=force)
        who = "all" if generalized else None
        with asked.naming_gaps():
            if model is None:
                way = method or "ast"
                fitted, rows = learn(asked, way, settings, search, generalized, seed)
            elif method or settings or search or classes or unseen:
                raise ValueError(
                    "--model says what was learned: leave out --classes, --unseen, "
                    "--method, --set and --search."
                )
            else:
                fitted, rows = take(asked, model, generalized)
            if not len(rows.ids):
                raise ValueError(
                    f"{data}: every row has the label of a seen class, so there is "
                    "nothing to label. Leave labels empty, or name unseen classes "
                    "with --unseen."
                )
            if score and not (rows.truth != "").any():
                raise ValueError(
                    f"{data}: no row that is to be labelled has a true label, so there "
                    "is nothing to score. Leave out --score."
                )
            labels = label(fitted, rows, who, read_given(given, rows.ids))
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
        found: dict[str, Any] = {}
        if score:
            kept = named != UNKNOWN
            sides = fitted.unseen_classes_ if generalized else None
            found = score_labels(rows.truth[kept], named[kept], sides)
            found["without a label"] = int((~kept).sum())
    if as_json:
        answer = {
            "labels": str(target),
            "report": str(page) if page else None,
            "model": str(save) if save else None,
            "estimator": " ".join(repr(fitted).split()),
            "rows": len(labels),
            "counts": labels["label"].value_counts().to_dict(),
            "rounds": [str(done) for done in getattr(fitted, "rounds_", [])],
        }
        typer.echo(json.dumps(answer | ({"score": found} if score else {}), indent=2))
        return
    for line in as_lines(found) if score else []:
        typer.echo(line)
    typer.echo(f"{names_given(named)}.")
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
    asked: DataOptions,
    method: str,
    settings: list[str] | None,
    search: bool,
    generalized: bool,
    seed: int,
) -> tuple[Any, Rows]:
    """Return a model that has learned from the labelled rows, and all other rows."""
    import numpy as np

    from unseen.methods import find_method
    from unseen.trust.calibrated import Calibrated

    way = find_method(method)
    wanted = dict(map(parse_setting, settings or []))
    data = asked.load()
    typer.echo(repr(data), err=True)
    if not len(data.seen):
        raise ValueError(
            f"{asked.source}: no row has a label, so there is nothing to learn from. "
            "Label rows of at least two classes; if the labels are in another column, "
            "name it with --column."
        )
    places = data.pile
    if generalized and data.seen_test is not None:  # rows that the set keeps to score
        places = np.union1d(places, np.flatnonzero(data.seen_test))
    X, y = as_frame(data.X_seen, data.feature_names), data.y_seen
    n_seen, table = len(data.seen), data.class_embeddings
    if search and way.searchable:
        if n_seen < 4:
            raise ValueError(
                f"--search holds out classes with labels, two at a time, and needs "
                f"four; the data has {n_seen}. Leave out --search."
            )
        model = way.searched(X, y, table, n_folds=min(5, n_seen // 2))
    else:
        if search:
            typer.echo(f"--search: {way.label} has nothing to search.", err=True)
        model = way.make()
    seeds = [name for name in model.get_params() if name.endswith("random_state")]
    model.set_params(**(dict.fromkeys(seeds, seed) if seed else {}) | wanted)
    if generalized:
        folds = max(2, min(4, n_seen // 2))
        model = Calibrated(model, cv=folds, random_state=seed)
    model.fit(X, y, class_embeddings=table)
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
    model: Any, rows: Rows, who: str | None, given: dict[int, str] | None
) -> pd.DataFrame:
    """Return the table of labels: adapted where the method learns from the rows."""
    import pandas as pd

    from unseen.labels import label_table

    reliability = None
    if hasattr(model, "adapt"):
        certain = {"given": given} if given else {}
        model.adapt(rows.X, classes=who, **certain)
        labels, reliability = model.labels_, model.reliability_
    elif given:
        raise ValueError(f"{type(model).__name__} takes no given labels.")
    else:
        labels = model.predict(rows.X, classes=who)
    second, lead = runners_up(model, rows.X, labels, who)
    if reliability is None:  # the order of rows within their class is all there is
        reliability = pd.Series(lead).groupby(labels).rank(pct=True).to_numpy()
    return label_table(labels, ids=rows.ids, reliability=reliability, second=second)


def runners_up(
    model: Any, X: Any, labels: np.ndarray, who: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best class other than the label, and the label's lead over it."""
    import numpy as np
    import pandas as pd

    adapted = hasattr(model, "adapt")
    names = np.asarray(model.competing_classes_ if adapted else candidates(model, who))
    if len(names) < 2:
        return np.full(len(labels), ""), np.zeros(len(labels))
    own = pd.Index(names).get_indexer(pd.Index(labels))  # -1: none of these
    seconds, leads = [], []
    for start in range(0, len(labels), ROWS_AT_ONCE):
        here = slice(start, start + ROWS_AT_ONCE)
        scores = model.decision_function(X[here], classes=None if adapted else who)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        number, mine = np.arange(len(scores)), own[here]
        top = scores[number, mine]
        others = np.where(np.arange(len(names)) == mine[:, None], -np.inf, scores)
        best = others.argmax(axis=1)
        seconds.append(names[best])
        leads.append(top - others[number, best])
    return np.concatenate(seconds), np.concatenate(leads)


def candidates(model: Any, who: str | None) -> Any:
    """Return the names of the classes that compete."""
    if who == "all" or not len(model.unseen_classes_):
        return model.classes_
    return model.unseen_classes_


def read_given(path: Path | None, ids: np.ndarray) -> dict[int, str] | None:
    """Return labels a person is sure of, by place among the rows to label."""
    if path is None:
        return None
    from unseen.labels import read_labels

    table = read_labels(path)
    places = {str(name): place for place, name in enumerate(ids)}
    known = {k: v for k, v in zip(table["id"], table["label"], strict=True) if v}
    strange = [name for name in known if name not in places]
    if strange:
        raise ValueError(
            f"{path}: id {strange[0]!r} is none of the rows to label ({len(strange)} "
            f"of {len(known)} are not), whose ids are like {str(ids[0])!r}."
        )
    return {places[name]: label for name, label in known.items()}


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
    if not kept.any() and len(kept):
        best = int(1000 * table["reliability"].max()) / 1000  # never rounded up
        warnings.warn(
            f"No label is this reliable; the best has {best:g}. Lower "
            "--min-reliability, or look at some labels by hand.",
            UserWarning,
            stacklevel=2,
        )
    return table.assign(label=table["label"].where(kept, UNKNOWN)) if least else table


def names_given(labels: np.ndarray) -> str:
    """Say how many rows got how many names, and how many were left out.

    >>> import numpy as np
    >>> names_given(np.array(["okapi", "unknown", "zebra"]))
    '2 rows got 2 names, 1 stay unknown'
    """
    named = labels[labels != UNKNOWN]
    left = f", {len(labels) - len(named):,} stay unknown" * (len(named) < len(labels))
    rows = "1 row" if len(named) == 1 else f"{len(named):,} rows"
    names = "1 name" if len(set(named)) == 1 else f"{len(set(named))} names"
    return f"{rows} got {names}{left}"
