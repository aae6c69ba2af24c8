"""``unseen encode``: photos to features, for use elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from unseen._words import how_many
from unseen.cli.options import Force, examples, say

EXAMPLES = examples(
    "unseen encode photos/ --out features.npz",
    "unseen encode photos/ --out features.npz --encoder lite2",
)


def encode(
    folder: Annotated[
        Path, typer.Argument(help="Folder of photos; its sub-folders are included.")
    ],
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("features.npz"),
    encoder: Annotated[
        str,
        typer.Option(
            help="lite0, lite2, clip, clip-half, a checkpoint of CLIP, or a folder "
            "with a pair of ONNX graphs; auto is clip if its weights are here."
        ),
    ] = "auto",
    force: Force = False,
) -> None:
    """Turn the photos below FOLDER into features.

    JPEG, PNG, WebP, GIF, TIFF, BMP, and HEIC; all other files are
    listed with the reason. Photos encoded before come from the cache, so an interrupted
    run can be continued.
    """
    from unseen.files import check_outputs
    from unseen.naming.clip import advice
    from unseen.photos import encode_folder, write_features
    from unseen.progress import show_items

    if out.suffix != ".npz":
        raise ValueError(f"{out}: features are written as .npz.")
    check_outputs(out, reading=[folder], force=force)
    with show_items("files") as progress:
        encoded = encode_folder(folder, encoder=encoder, progress=progress)
    write_features(encoded, out)
    list_skipped(encoded.skipped, len(encoded.skipped))
    say(
        f"{how_many(len(encoded), 'photo')} x {encoded.encoder.dimension} features of "
        f"{encoded.encoder.name} ({encoded.n_new} encoded now, the rest from the "
        "cache).",
        f"Written to {out}",
    )
    if encoder == "auto" and encoded.encoder.name == "lite0":
        say(advice(), err=True)


def list_skipped(skipped: Any, most: int = 20) -> None:
    """Say on stderr which files were left out, and why."""
    say(*(f"skipped {path}: {reason}" for path, reason in skipped[:most]), err=True)
    if len(skipped) > most:
        say(f"skipped {len(skipped) - most} more; --json lists all", err=True)
