"""Features that were made elsewhere, in the place of an encoder.

    features.npz   what ``unseen encode`` writes: features, paths, encoder
    features.npy   rows; a ``.txt`` file of that name beside it says whose they are, one
                   path per line, else they follow the photos of the folder in order

Class vectors in the same space may stand in for a text encoder: ``.npy``, one row per
class in the order of the class names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unseen._words import listed
from unseen.files import replace_file
from unseen.limits import check_plain_file, read_small
from unseen.loading.arrays import open_npy, open_npz
from unseen.naming.names import twice
from unseen.photos.folder import EncodedFolder, Skipped, find_photos, look_at

__all__ = [
    "PrecomputedTexts",
    "is_features",
    "match_features",
    "read_features",
    "read_vectors",
    "write_features",
]

NAME = "precomputed"  # of an encoder nobody named


class PrecomputedImageEncoder:
    """Stands for whatever made the features; it cannot encode more.

    Examples
    --------
    >>> from unseen.photos.precomputed import PrecomputedImageEncoder
    >>> PrecomputedImageEncoder("my net").name
    'my net'
    """

    def __init__(self, name: str = NAME) -> None:
        self.name = name


class PrecomputedTexts:
    """A text encoder that knows a vector for each class name and nothing else.

    Parameters
    ----------
    names : sequence of str
    vectors : ndarray of shape (n_names, dimension)
    space : str
        Name of the image encoder whose features they may be compared with.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.photos.precomputed import PrecomputedTexts
    >>> texts = PrecomputedTexts(["zebra", "okapi"], np.eye(2))
    >>> texts.encode(["okapi"])
    array([[0., 1.]], dtype=float32)
    """

    name = NAME

    def __init__(
        self, names: Sequence[str], vectors: np.ndarray, space: str = NAME
    ) -> None:
        vectors = np.asarray(vectors, np.float32)
        if vectors.ndim != 2 or len(vectors) != len(names):
            raise ValueError(
                f"Class vectors have shape {vectors.shape}, but there are {len(names)} "
                "classes. Give one row per class, in their order."
            )
        self.space: str | None = space
        self.dimension = vectors.shape[1]
        self._vectors = dict(zip(names, vectors, strict=True))

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of class names; any other text is a zero row."""
        nothing = np.zeros(self.dimension, np.float32)
        rows = [self._vectors.get(text, nothing) for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), self.dimension)


def is_features(encoder: object) -> bool:
    """Tell whether an encoder is given as a file of features.

    Examples
    --------
    >>> from unseen.photos.precomputed import is_features
    >>> is_features("lite0"), is_features("features.npz")
    (False, True)
    """
    return isinstance(encoder, (str, os.PathLike)) and str(encoder).endswith(
        (".npy", ".npz")
    )


def match_features(
    folder: str | os.PathLike[str], path: str | os.PathLike[str]
) -> EncodedFolder:
    """Match the rows of a feature file with the photos of a folder.

    Parameters
    ----------
    folder : path
    path : path
        ``.npz`` or ``.npy``.

    Returns
    -------
    EncodedFolder
        Photos without a row are among its ``skipped``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from unseen.photos.precomputed import match_features
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in "ab":
    ...         Image.new("RGB", (8, 8)).save(Path(folder) / f"{name}.png")
    ...     np.save(Path(folder) / "features.npy", np.eye(2))
    ...     match_features(folder, Path(folder) / "features.npy").paths
    ['a.png', 'b.png']
    """
    path = Path(path)
    features, paths, made_by = read_features(path)
    found = find_photos(folder)
    skipped, photos = list(found.skipped), []
    for name in found.paths:
        _digest, reason = look_at(found.folder / name)
        if reason:
            skipped.append(Skipped(name, reason))
        else:
            photos.append(name)
    if paths is None:
        if len(features) != len(photos):
            raise ValueError(
                f"{path}: has {len(features)} rows, but {found.folder} has "
                f"{len(photos)} photos. Say whose the rows are in "
                f"{path.with_suffix('.txt').name}, one path per line."
            )
        paths = photos
    place = {name: row for row, name in enumerate(paths)}
    known = [name for name in photos if name in place]
    missing = f"has no row in {path.name}"
    skipped += [Skipped(name, missing) for name in photos if name not in place]
    rows = features[[place[name] for name in known]]
    encoder = PrecomputedImageEncoder(made_by)
    return EncodedFolder(found.folder, known, sorted(skipped), encoder, rows=rows)


def read_vectors(path: str | os.PathLike[str]) -> np.ndarray:
    """Return the class vectors of a ``.npy`` file."""
    check_plain_file(path)
    return np.array(open_npy(path))


def read_features(path: Path) -> tuple[np.ndarray, list[str] | None, str]:
    """Return features, the photos they belong to (None: unsaid), and the encoder."""
    names, encoder = None, NAME
    check_plain_file(path)
    if path.suffix == ".npz":
        with open_npz(path) as file:
            if "features" not in file.shapes:
                raise ValueError(
                    f"{path}: has no array 'features', only {listed(file.shapes)}."
                )
            features = file["features"]
            names = file["paths"].tolist() if "paths" in file.shapes else None
            encoder = str(file["encoder"]) if "encoder" in file.shapes else NAME
    else:
        features = np.array(open_npy(path))
        names = _names_beside(path.with_suffix(".txt"))
    if features.ndim != 2 or features.dtype.kind != "f":
        raise ValueError(
            f"{path}: features are {features.dtype} of shape {features.shape}. Give "
            "one row of floats per photo."
        )
    if names is not None and len(names) != len(features):
        raise ValueError(f"{path}: {len(features)} rows, but {len(names)} paths.")
    if names is not None and (again := twice(names)) is not None:
        raise ValueError(
            f"{path}: the path {again!r} is there twice. Give one row per photo."
        )
    if not np.isfinite(features).all():
        raise ValueError(f"{path}: features hold NaN or infinity.")
    return features, names, encoder


def _names_beside(path: Path) -> list[str] | None:
    """Return the lines of the file that says whose the rows are, if there is one."""
    if not path.is_file():
        return None
    # Names of files are bytes: not all of them are text.
    text = read_small(path).decode("utf-8", "surrogateescape")
    return re.split(r"\r?\n", text)[: -1 if text.endswith("\n") else None]


def write_features(encoded: EncodedFolder, path: str | os.PathLike[str]) -> Path:
    """Write the features of a folder for use elsewhere.

    Parameters
    ----------
    encoded : EncodedFolder
    path : path
        ``.npz`` with ``features``, ``paths``, ``encoder`` and ``version``; or ``.npy``
        with the features alone, then the paths are in a ``.txt`` file beside it, one
        per line.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from unseen.photos import encode_folder, write_features
    >>> with tempfile.TemporaryDirectory() as name:
    ...     Image.new("RGB", (60, 40), "green").save(Path(name) / "meadow.png")
    ...     encoded = encode_folder(name, cache=Path(name) / ".cache")
    ...     path = write_features(encoded, Path(name) / "features.npz")
    ...     with np.load(path) as file:
    ...         file["features"].shape, file["paths"].tolist(), str(file["encoder"])
    ((1, 1280), ['meadow.png'], 'lite0')
    """
    path, features = Path(path), encoded.features()
    if path.suffix == ".npz":
        with replace_file(path) as file:
            np.savez(
                file,
                features=features,
                paths=np.array(encoded.paths, dtype=str),
                encoder=np.array(encoded.encoder.name),
                version=np.array(encoded.encoder.version),
            )
        return path
    if path.suffix != ".npy":
        raise ValueError(f"{path}: features are written as .npz or .npy.")
    if broken := [name for name in encoded.paths if "\n" in name]:
        raise ValueError(
            f"{broken[0]!r} has a line break in its name, and a .npy file has its "
            "paths beside it, one per line. Write .npz."
        )
    names = "".join(f"{name}\n" for name in encoded.paths)
    with replace_file(path.with_suffix(".txt")) as file:
        file.write(names.encode("utf-8", "surrogateescape"))
    with replace_file(path) as file:
        np.save(file, features)
    return path
