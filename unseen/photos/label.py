"""From a folder and class names to a label for every photo.

photos → features ─┐
names → prototypes ┴→ adapt to the photos → label, reliability, second choice
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from unseen.named import LabelJob, refuse_lost, set_apart
from unseen.naming.classes import read_classes
from unseen.naming.clip import advice
from unseen.naming.encoders import check_same, encoders, find_encoder, identity
from unseen.naming.towers import ImageTower
from unseen.photos.folder import EncodedFolder, encode_folder
from unseen.photos.named import NamedPhotos
from unseen.photos.precomputed import (
    PrecomputedTexts,
    is_features,
    match_features,
    read_vectors,
)

FOREIGN = 0.965  # novelty of a photo of no class


def label_folder(
    folder: str | os.PathLike[str],
    classes: Any = None,
    *,
    save: str | os.PathLike[str] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Label every photo below a folder with one of some class names.

    No photo needs a label: class names become prototypes through the named classes an
    image classifier knows, and these adapt to the photos.

    Parameters
    ----------
    folder : path
    classes : str, path, list, dict or DataFrame
        See :func:`unseen.naming.read_classes`.
    save : path, optional
        Save the adapted model there; ``unseen.load_model`` reads it.
    **options
        See :class:`PhotoJob`.

    Returns
    -------
    DataFrame
        ``id`` (path below the folder, in order), ``label``, ``reliability`` (0 to 1),
        ``second`` (choice, "" if there is none), ``first_trusted`` (round, 0 for
        never), ``answer`` ("adapted", "names only" or "saved model"), ``novelty`` (how
        little it is like any class, 0 to 1), ``given`` if labels were given, and with a
        saved model ``unlike`` ("yes" or "": unlike the photos that it was taught with);
        :func:`unseen.labels.write_labels` writes it as CSV. Of ``frame.attrs``,
        ``skipped`` lists ``(path, reason)`` of all other files, ``message`` says
        whether the answer was adapted and if not why, ``weak_names`` why it is not to
        be trusted, ``readings`` how each name was read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from sklearn.datasets import load_sample_images
    >>> from unseen.photos import label_folder
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for i, pixels in enumerate(load_sample_images().images):
    ...         Image.fromarray(pixels).save(Path(name) / f"{i}.png")
    ...     frame = label_folder(name, "palace, flower", cache=Path(name) / ".cache")
    >>> frame["label"].tolist()
    ['palace', 'flower']
    """
    job = PhotoJob(folder, classes, **options)
    frame = job.frame()
    if save is not None:
        job.fitted.save(save)
    frame.attrs |= {"weak_names": job.weak_names, "readings": job.readings}
    return frame


class PhotoJob(LabelJob):
    """Photos to label, and what labels them; :meth:`parts` yields the answer.

    Parameters
    ----------
    folder : path
    classes, model, given, unknown, progress
        See :class:`unseen.named.LabelJob`; ``given`` is by paths.
    encoder : str, path or Encoder, default="auto"
        A name of ``unseen.naming.encoders("image")``, a checkpoint of CLIP, a folder
        with a pair of ONNX graphs, an encoder, or a ``.npz`` or ``.npy`` file of
        features; ``"auto"`` is CLIP if its weights were fetched, else ``"lite0"``. A
        saved model has its own.
    text : str, path or Encoder, optional
        What turns the names into vectors: an encoder, its name (one of
        ``unseen.naming.encoders("text")``), or a ``.npy`` file of class vectors in the
        space of the features. By default the image encoder's own, or ``"wordllama"``.
    cache : path, optional
        Folder for features; by default the user's cache folder.
    """

    items = "photos"

    def __init__(
        self,
        folder: str | os.PathLike[str],
        classes: Any = None,
        *,
        encoder: Any = None,
        text: Any = None,
        given: Mapping[str, str] | None = None,
        cache: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        paths = {os.path.normpath(path): label for path, label in (given or {}).items()}
        super().__init__(NamedPhotos, classes, given=paths, **options)
        self.named: Any = read_classes(classes) if self.adapts else None
        stored = is_features(encoder)
        self.asked = encoder if stored else "", text
        if not (self.adapts or stored):
            encoder = find_encoder(encoder or self.fitted.image_encoder, "image")
            self.fitted.image_encoder = encoder
        elif not stored:
            asked, encoder = encoder, find_encoder(encoder or "auto", "image")
            if asked in (None, "auto") and encoder.name == "lite0":
                self.advice = advice()
            if self.unknown and isinstance(encoder, ImageTower):
                raise ValueError(
                    f"--unknown is not offered for {encoder.name}: no threshold suits "
                    "all photos. Add a class for foreign ones, or name lite0."
                )
            # A name that cannot be read is said before hours of encoding.
            self.fitted = fit_names(self.named, encoder, text)
        self.photos = see_folder(folder, encoder, cache=cache, progress=self.progress)
        if not self.adapts:
            known = self.fitted.encoder_version_
            check_same(self.photos.encoder, known, "the model was taught")
        elif stored:
            self.fitted = fit_names(self.named, self.photos.encoder, text)
        self.skipped = list(self.photos.skipped)

    def parts(self) -> Iterator[pd.DataFrame]:
        """Adapt to the photos, and yield the table of their labels."""
        photos, model = self.photos, self.fitted
        lost = set(self.given) - set(photos.paths)
        refuse_lost(lost, f"{photos.folder} has no photo of that path")
        if self.adapts:
            given = [self.given.get(path, "") for path in photos.paths]
            model.adapt(photos.features(), given=given if self.given else None)
            found = model.answer()
            answer = "adapted" if model.adapted_ else "names only"
            self.weak_names = model.weak_names_
            readings = zip(model.classes_, model.trust_, model.read_as_, strict=True)
            self.readings = list(readings)
        else:
            found = self.answer(photos.features())
            answer = "saved model"
        if self.unknown:
            # Of the photos of the classes (cats and dogs, as it was measured) a share
            # of 0.02 is set apart, too: the fewer there are apart, the likelier it is
            # that one is there by mistake.
            apart = set_apart(found, FOREIGN)
            mistaken = 0.02 * len(found) / max(int(apart.sum()), 1)
            found.loc[apart, "reliability"] = max(1 - mistaken, 0.0)
        self.n_items = len(found)
        yield self.table(found, photos.paths, answer=[answer] * len(found))


def see_folder(
    folder: str | os.PathLike[str], encoder: Any, **options: Any
) -> EncodedFolder:
    """Return the photos of a folder with their features; complain if there is none."""
    if is_features(encoder):
        photos = match_features(folder, encoder)
    else:
        photos = encode_folder(folder, encoder=encoder, **options)
    if not len(photos):
        why = "there is no file in this folder."
        if photos.skipped:
            path, reason = photos.skipped[0]
            n = len(photos.skipped)
            why = f"there is no photo among its {n} files or folders; {path}: {reason}."
        raise ValueError(f"{photos.folder}: {why}")
    return photos


def fit_names(named: Any, encoder: Any, text: Any) -> NamedPhotos:
    """Turn class names into prototypes for the features of an image encoder."""
    name = encoder.name
    if not hasattr(encoder, "encode") and name in encoders("image"):
        made, encoder = encoder, find_encoder(name, "image")
        check_same(made, identity(encoder), "names are read")
    descriptions: dict[str, str] | None = named.descriptions or None
    if is_features(text):
        vectors = read_vectors(text)
        text, descriptions = PrecomputedTexts(named.names, vectors, space=name), None
    return NamedPhotos(encoder, text).fit(named.names, descriptions=descriptions)
