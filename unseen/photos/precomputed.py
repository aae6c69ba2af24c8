"""Features that were made elsewhere, in the place of an encoder.

    features.npz   what ``unseen encode`` writes: features, paths, encoder
    features.npy   rows, which follow the photos of the folder in order

Class vectors in the same space may stand in for a text encoder: ``.npy``, one row per
class in the order of the class names.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from unseen._words import listed
from unseen.files import replace_file
from unseen.limits import check_plain_file
from unseen.loading.arrays import open_npy, open_npz
from unseen.naming.classes import twice
from unseen.photos.folder import EncodedFolder, Skipped, find_photos
from unseen.photos.photo import NoPhotoError, open_photo

NAME = "precomputed"  # of an encoder nobody named


class PrecomputedTexts:
    """A text encoder that knows the vectors of some texts and nothing else.

    ``space`` names the image encoder whose features they may be compared with.
    """

    def __init__(
        self,
        texts: Sequence[str],
        vectors: np.ndarray,
        space: str | None = NAME,
        name: str = NAME,
    ) -> None:
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ValueError(
                f"Class vectors have shape {vectors.shape}, but there are {len(texts)} "
                "classes. Give one row per class, in their order."
            )
        self.space, self.name = space, name
        self._vectors = dict(zip(texts, vectors.astype(np.float32), strict=True))

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of texts that are known."""
        lost = [text for text in texts if text not in self._vectors]
        if lost:
            raise ValueError(
                f"There is no word vector of {lost[0]!r} here. For other names, "
                "install unseen[photos] and use its text encoder, wordllama."
            )
        return np.stack([self._vectors[text] for text in texts])


def is_features(encoder: object) -> bool:
    """Tell whether an encoder is given as a file of features."""
    path = isinstance(encoder, str | os.PathLike)
    return path and str(encoder).endswith((".npy", ".npz"))


def match_features(
    folder: str | os.PathLike[str], path: str | os.PathLike[str]
) -> EncodedFolder:
    """Match the rows of a ``.npz`` or ``.npy`` file with the photos of a folder.

    Photos without a row are among those skipped.
    """
    path = Path(path)
    features, paths, made_by, version = read_features(path)
    found = find_photos(folder)
    photos, skipped = [], list(found.skipped)
    for name in found.paths:
        try:
            open_photo(found.folder / name).close()
            photos.append(name)
        except NoPhotoError as reason:
            skipped.append(Skipped(name, str(reason)))
    if paths is None and len(features) != len(photos):
        raise ValueError(
            f"{path} has {len(features)} rows, but {found.folder} has {len(photos)} "
            "photos. Say whose the rows are: give a .npz file with features and paths."
        )
    place = {name: row for row, name in enumerate(photos if paths is None else paths)}
    known = [name for name in photos if name in place]
    missing = f"has no row in {path.name}"
    skipped += [Skipped(name, missing) for name in photos if name not in place]
    rows = features[[place[name] for name in known]]
    encoder = SimpleNamespace(name=made_by, version=version)  # it encodes no more
    return EncodedFolder(found.folder, known, sorted(skipped), encoder, rows=rows)


def read_vectors(path: str | os.PathLike[str]) -> np.ndarray:
    """Return the array of a ``.npy`` file."""
    check_plain_file(path)
    return np.array(open_npy(path))


def read_features(path: Path) -> tuple[np.ndarray, list[str] | None, str, str]:
    """Return features, the photos they are of (None: unsaid), encoder and version."""
    check_plain_file(path)
    packed = path.suffix == ".npz"
    file: Any = open_npz(path) if packed else {"features": read_vectors(path)}
    if "features" not in file:
        raise ValueError(f"{path} has no array 'features', only {listed(file.shapes)}.")
    features = file["features"]
    paths = file["paths"].tolist() if "paths" in file else None
    encoder = str(file["encoder"]) if "encoder" in file else NAME
    version = str(file["version"]) if "version" in file else ""
    floats = features.ndim == 2 and features.dtype.kind == "f"
    if not (floats and np.isfinite(features).all()):
        raise ValueError(
            f"{path}: features are {features.dtype} of shape {features.shape}. Give "
            "one row of floats per photo, without NaN or infinity."
        )
    if paths is not None and len(paths) != len(features):
        raise ValueError(f"{path}: {len(features)} rows, but {len(paths)} paths.")
    if paths is not None and (again := twice(paths)) is not None:
        raise ValueError(
            f"{path}: the path {again!r} is there twice. Give one row per photo."
        )
    return features, paths, encoder, version


def write_features(encoded: EncodedFolder, path: str | os.PathLike[str]) -> Path:
    """Write the features of a folder for use elsewhere.

    Parameters
    ----------
    encoded : EncodedFolder
    path : path
        ``.npz`` with ``features``, ``paths``, ``encoder`` and ``version``.

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
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"{path}: features are written as .npz.")
    with replace_file(path) as file:
        np.savez(
            file,
            features=encoded.features(),
            paths=np.array(encoded.paths, dtype=str),
            encoder=np.array(encoded.encoder.name),
            version=np.array(encoded.encoder.version),
        )
    return path
