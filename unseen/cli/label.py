"""``unseen label``: photos or texts, and a list of class names."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen._command import command_line
from unseen.cli.encode import list_skipped
from unseen.cli.options import (
    STDOUT,
    AsJson,
    Force,
    Given,
    Model,
    Save,
    examples,
    labels_and_page,
    print_json,
    read_given,
    say,
)
from unseen.files import named

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = examples(
    'unseen label photos/ --classes "zebra,okapi,tapir"',
    "unseen label photos/ --classes classes.txt --out results",
    "unseen label photos/ --classes classes.txt --dry-run",
    'unseen label photos/ --classes "cat,dog" --save pets.unseen',
    "unseen label new/ --model pets.unseen --out new.csv",
    'unseen label photos/ --classes "cat,dog" --given labels.review/corrections.csv',
    'unseen label tickets.csv --column text --classes "card lost, refund, hours"',
    'unseen label photos/ --classes "cat,dog" --checked labels.review/corrections.csv',
    "cat headlines.txt | unseen label - --classes topics.txt --out - > labels.csv",
    then="In classes.txt a line is a name, or a name, a colon and a description. For "
    "texts a description may be several texts of such a class, with | between "
    "them.",
)
TRUST = {  # how far names of photos are understood, the worst first
    "unknown": "WordNet does not know this kind of thing; describe it",
    "vague": "the name does not tell how the thing looks; describe it",
    "broad": "ImageNet has many classes of this kind, or none that is near",
    "close": "ImageNet has a few classes of this kind",
    "exact": "ImageNet has a class of this name",
    "given": "understood by your description",
    "": "",
}


def label(
    source: Annotated[
        str,
        typer.Argument(
            help="Folder of photos; or texts: a .csv, .jsonl, .txt, .parquet or .xlsx "
            "file, a folder of .txt files, or - for standard input."
        ),
    ],
    classes: Annotated[
        str | None, typer.Option(help="Names between commas, or a .txt or .csv file.")
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            help="CSV file to write; a folder gets a page as well. For texts - is "
            "standard output."
        ),
    ] = Path("labels.csv"),
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Photos: lite0, lite2, clip, clip-half, a file of features, a "
            "checkpoint of CLIP, or a folder with a pair of ONNX graphs; after a + "
            "what reads the names, such as lite0+minilm or features.npz+vectors.npy. "
            "Texts: wordllama, minilm, clip, model2vec:NAME, "
            "sentence-transformers:NAME, or a model's folder.",
            show_default="for photos auto: clip if its weights are here, else lite0; "
            "for texts wordllama",
        ),
    ] = None,
    save: Save = None,
    model: Model = None,
    given: Given = None,
    checked: Annotated[
        Path | None,
        typer.Option(
            help="CSV file of id and label: right labels of items drawn at random, "
            "which tell how right the others are."
        ),
    ] = None,
    unknown: Annotated[
        bool,
        typer.Option(
            "--unknown",
            help="Label what resembles none of the classes as 'none of these'.",
        ),
    ] = False,
    column: Annotated[
        str | None,
        typer.Option(
            help="Texts only: the column of the texts.",
            show_default="the only one, or text",
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(help="Texts only: column of ids.", show_default="numbers from 0"),
    ] = None,
    template: Annotated[
        str,
        typer.Option(
            help="Texts only: a sentence with {} for the name of a class, such as "
            "'this text is about {}'."
        ),
    ] = "",
    learn_from: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Texts only: learn from at most this many. All are labelled.",
            show_default="5000, or 10 per class, up to 20000",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only show how the class names are understood."),
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Label photos or texts by the names of their classes alone.

    Writes id (the path, or the number of the text), label, reliability, second choice,
    and the round from which on the label was trusted. Files that cannot be read are
    listed with the reason. A second run takes features from the cache. In the file of
    --given, a new name adds a class, and "none of these" says that no class fits.
    """
    from unseen.files import check_outputs
    from unseen.naming.encoders import has_own_text
    from unseen.progress import show_items
    from unseen.texts.source import holds_texts

    warnings.simplefilter("default")  # until the command ends
    for_texts: dict[str, Any] = {"column": column, "id": id, "template": template}
    for_texts["learn_from"] = learn_from
    of_texts, piped = holds_texts(source), str(out) == "-"
    if dry_run:
        show_names(classes, of_texts or has_own_text(encoder), as_json)
        return
    if piped and as_json:
        raise ValueError("Labels go to standard output. For --json give --out a file.")
    if given and checked:
        raise ValueError(
            "--checked judges labels that were made without its answers. Omit --given."
        )
    what, idle = "photos", list(for_texts)
    if of_texts:
        what, idle = "a saved model", ["template", "learn_from"] if model else []
    if useless := [name for name in idle if for_texts[name]]:
        option = f"--{useless[0].replace('_', '-')}"
        raise ValueError(f"{option} does nothing for {what}. Omit it.")
    target, page = (None, None) if piped else labels_and_page(out)
    used = [encoder, *(encoder or "").split("+"), model, classes, given, checked]
    reading = used if source == "-" else [source, *used]
    check_outputs(target, page, save, reading=reading, force=force)
    with show_items("texts" if of_texts else "files") as progress:
        options: dict[str, Any] = {
            "encoder": encoder,
            "model": model,
            "given": read_given(given),
            "unknown": unknown,
            "progress": progress,
        }
        if of_texts:
            from unseen.texts.label import TextJob

            job: Any = TextJob(source, classes, **options, **for_texts)
        else:
            from unseen.photos.label import PhotoJob

            if encoder and not os.path.exists(encoder) and "+" in encoder:
                options["encoder"], _, options["text"] = encoder.rpartition("+")
            job = PhotoJob(source, classes, **options)
        counts, judged = write(job, target, page, checked)
    if save:
        job.fitted.save(save)
    if target and source != "-":
        note(job, source, target, save or model, column, id)
    tell(job, counts, judged, {"out": target, "report": page, "model": save}, as_json)


def show_names(classes: str | None, by_encoder: bool, as_json: bool) -> None:
    """Show how class names are understood; exit code 1 if one is not an English noun.

    Some encoders read names by themselves; for others WordNet does, too.
    """
    from unseen.naming import read_classes, read_names
    from unseen.naming.reading import nearest_classes

    if classes is None:
        raise ValueError("--dry-run shows how names are understood. Give --classes.")
    named = read_classes(classes)
    described = named.descriptions
    rows: list[dict[str, Any]]
    rows = [{"name": n, "description": described.get(n, "")} for n in named.names]
    own = "by the text encoder"
    readings = [(name, "", described.get(name, own)) for name in named.names]
    read = [] if by_encoder else read_names(named.names, described)
    for place, one in enumerate(read):
        near = nearest_classes(one)
        rows[place] |= {"read_as": one.how, "trust": one.trust, "nearest": near}
        like = f"; like {', '.join(near)}" if near and one.trust != "exact" else ""
        how = f"{one.how or rows[place]['description']}{like}"
        readings[place] = (one.name, one.trust, how)
    trusts = list(dict.fromkeys(trust for _, trust, _ in readings))
    if as_json:
        print_json(rows)
    else:
        echo_readings(readings)
        say(*(f"{trust}: {TRUST[trust]}" for trust in trusts if trust), err=True)
    if "unknown" in trusts:
        raise typer.Exit(1)


def echo_readings(readings: Any, err: bool = False) -> None:
    """Print how names were understood, under a line of heads."""
    width = max((len(name) for name, *_ in readings), default=0)
    heads = [("name", "trust", "understood as")] if len(readings) else []
    rows = [(f"{name:<{max(width, 4)}}", *more) for name, *more in [*heads, *readings]]
    say(*(f"{name}  {trust:<8}{how}".rstrip() for name, trust, how in rows), err=err)


def write(
    job: Any, target: Path | None, page: Path | None, checked: Path | None
) -> tuple[pd.DataFrame, str]:
    """Write labels, to stdout without a target, and how far they are checked.

    Returns size and reliability by label, and a sentence. They are written, and shown
    on the page, as they come; all at once where answers judge them.
    """
    import pandas as pd

    from unseen.labels import labels_as_csv, write_labels
    from unseen.report.gallery import TextPage, write_gallery

    of_texts, found = job.items == "texts", []
    texts, judged = TextPage(job.fitted.classes_), ""
    source: Any = (part.assign(sure="unchecked") for part in job.parts())
    if checked is not None:
        whole, judged = apply_check(pd.concat(list(source), ignore_index=True), checked)
        source = iter([whole])

    def parts() -> Iterator[pd.DataFrame]:
        for part in source:
            if of_texts and page is not None:
                texts.add(part)
            found.append(part[["label", "reliability"]] if of_texts else part)
            yield part.drop(columns="text", errors="ignore")

    if target is None:
        with named(Path(STDOUT)):
            for content in labels_as_csv(parts(), STDOUT):
                sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
    else:
        write_labels(parts(), target)
    judged = judged or unchecked(job)
    table, classes = pd.concat(found, ignore_index=True), len(job.fitted.classes_)
    if page is not None and of_texts:
        title = f"{job.source.name}: {classes} classes"
        texts.write(page, title=title, about=f"{job.message} {judged}")
    elif page is not None:
        write_gallery(
            table.assign(label=table["label"].replace("", "without a label")),
            page,
            thumbnails=job.photos.thumbnail,
            originals=job.photos.folder,
            title=f"{job.photos.folder.resolve().name}: {classes} classes",
            about=" ".join(filter(None, [job.message, job.weak_names, judged])),
            readings=job.readings,
        )
    stated = table["reliability"].where(table["reliability"] < 1)  # 1 was given
    counts = stated.groupby(table["label"]).agg(["size", "median"]).fillna(1)
    counts = counts.sort_values(["size", "median"], ascending=False, kind="stable")
    return counts, judged


def unchecked(job: Any) -> str:
    """Say what nobody knows before a check, and how it was with other photos."""
    said = "Unchecked: it is not known how many labels are right."
    if job.items == "texts" or not job.adapted or job.given or job.asked[1]:
        return said
    if (name := job.photos.encoder.name) != "lite0":
        return f"{said} How often labels by {name} are right was not measured."
    # Between these lie 90 % of the parts of ten development sets, seen by lite0; for
    # texts a range of other sets does not hold. See ``studies/unchecked.py``.
    low, high = (float(job.fitted.reliability_.mean()) + off for off in (-0.34, 0.26))
    span = f"{100 * max(low, 0):.0f} % to {100 * min(high, 1):.0f} %"
    return f"{said} On other photos, {span} of such labels were right."


def apply_check(table: pd.DataFrame, checked: Path) -> tuple[pd.DataFrame, str]:
    """Return a table of labels as a check judges it, and what the check says."""
    import numpy as np
    import pandas as pd

    from unseen.core.given import NONE_OF_THESE
    from unseen.labels import read_labels
    from unseen.review.items import in_order
    from unseen.trust.asking import estimate_accuracy
    from unseen.trust.sure import ENOUGH, recalibrated

    answers = read_labels(checked)
    known, asked = table["id"].tolist(), answers["id"].tolist()
    place = in_order(asked, known, np.arange(len(table)), "The table of labels")
    plan = answers.get("check", pd.Series("all", answers.index))
    random = ~plan.isin(["", "aside"])
    # As the review writes it, say "40 for 95 %, look 1"; a list of one's own says less.
    terms = re.findall(r"[\d.]+", str(plan[random].max()))
    planned, wanted, looks = map(float, [*terms, *(0, 95, 1)[len(terms) :]])
    if planned not in (0, random.sum()):
        raise ValueError(
            f"{checked} has {random.sum()} of the {planned:.0f} answers of its check. "
            "Answer them all: those that are missing may be the hard ones."
        )
    truth = answers["label"].replace("", NONE_OF_THESE)
    labels = table["label"].replace("", NONE_OF_THESE)
    kept = (random | (plan == "aside")).to_numpy()
    given = dict(zip(place[kept].tolist(), truth[kept], strict=True))
    drawn = place[random.to_numpy()]
    stated = table["reliability"].to_numpy(float)
    how: dict[str, Any] = {"wanted": wanted / 100, "looks": int(looks)}
    how["drawn"] = drawn if "check" in answers else None
    found = estimate_accuracy(labels, given, reliability=stated, **how)
    sure = np.full(len(table), "look", object)
    if found.sure is not None:
        sure[found.sure.rows] = "yes"
    sure[place] = "yes"
    sure[(labels == NONE_OF_THESE).to_numpy()] = NONE_OF_THESE
    right = labels.to_numpy()[drawn] == truth[random].to_numpy()
    new = recalibrated(stated, drawn, right)
    by = f"{len(drawn)} checked" if len(drawn) >= ENOUGH else "unchecked"
    table = table.assign(reliability=new, sure=sure, reliability_by=by)
    return table, f"{found} {found.sure}"


def note(
    job: Any, source: str, target: Path, model: Path | None, column: Any, id: Any
) -> None:
    """Note down how the labels were made, for ``unseen review``."""
    from unseen.naming.encoders import encoder_name, identity
    from unseen.review.origins import Origin, absolute, note_origin

    if job.items == "texts":
        own: dict[str, Any] = {"column": column or "", "id": id or ""}
        own["names"] = job.fitted.classes_.tolist()
        encoder = encoder_name(job.fitted.encoder)
        own["version"] = identity(job.fitted.encoder)
    else:
        named, (seeing, reading) = job.named, job.asked
        own = {"text": absolute(reading), "model": absolute(model)}
        own["version"] = identity(job.photos.encoder)
        if named:
            own |= {"names": named.names, "descriptions": named.descriptions}
        encoder = seeing or encoder_name(job.fitted.image_encoder)
    origin = Origin(job.items, absolute(source), absolute(encoder), **own)
    note_origin(target, origin)


def tell(
    job: Any,
    counts: pd.DataFrame,
    judged: str,
    files: dict[str, Path | None],
    as_json: bool,
) -> None:
    """Say what the answer is: on stderr where the labels themselves go to stdout."""
    readings = job.readings
    n_none = int(counts["size"].get("", 0))
    counts = counts.drop(index="", errors="ignore")
    if as_json:
        print_json(
            {
                job.items: job.n_items,
                "labels": counts["size"].to_dict(),
                "without_label": n_none,
                "adapted": job.adapted,
                "message": job.message,
                "checked": judged,
                "weak_names": job.weak_names,
                "classes": [
                    {"name": name, "trust": trust, "read_as": how}
                    for name, trust, how in readings
                ],
                **files,
                "skipped": [{"path": path, "reason": why} for path, why in job.skipped],
            }
        )
        return
    list_skipped(job.skipped)
    worst = sorted(readings, key=lambda reading: [*TRUST].index(reading[1]))[:20]
    echo_readings(worst, err=True)
    if len(readings) > len(worst):
        say(f"{len(readings) - 20} more names; --json lists all", err=True)
    if job.advice:
        say(job.advice, err=True)
    width = max([5, *map(len, counts.index)])
    lines = [f"{'label':<{width}}{job.items:>8}{'reliability':>13}"]
    for name, size, median in counts.itertuples(name=None):
        least = 100 * median // 1 / 100  # nothing is called certain
        lines.append(f"{name:<{width}}{size:>8}{least:>13.2f}")
    none = [f"{n_none:,} without a label"] if n_none else []
    lines += [*none, job.message, judged]
    if files["out"]:
        look = command_line("review", files["out"])
        lines += [f"Labels are in {files['out']}", f"Check and correct some:  {look}"]
    lines += [f"The model is in {files['model']}"] if files["model"] else []
    lines += [f"Open {files['report']}"] if files["report"] else []
    say(*lines, err=files["out"] is None)
