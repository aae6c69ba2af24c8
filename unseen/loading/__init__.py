"""Load a data set: a file of any known kind, a frame, or a bundled set by name."""

import os
from pathlib import Path
from typing import Any

from unseen.data import ZeroShotData
from unseen.loading import (  # noqa: F401, each registers what it reads
    arrays,
    benchmarks,
    frames,
    mat_pairs,
)
from unseen.loading.bundled import BUNDLED, read_bundled
from unseen.loading.frames import read_frame
from unseen.loading.parts import RawData, find_reader, reader
from unseen.loading.tables import standard_splits
from unseen.loading.word_vectors import embed_names
from unseen.loading.writing import save_data

__all__ = [
    "RawData",
    "embed_names",
    "load_data",
    "read_raw",
    "reader",
    "save_data",
    "standard_splits",
]


def load_data(
    source: Any,
    classes: Any = None,
    *,
    unseen: Any = None,
    column: str | None = None,
    id: str | None = None,
) -> ZeroShotData:
    """Load a zero-shot data set.

    Parameters
    ----------
    source : path, str or DataFrame
        A file or folder, whose kind is recognised by its content; the name of a bundled
        set, ``"photos"``, ``"photos-200"`` or ``"pets"`` (for a file of that name,
        write ``"./photos"``); or a pandas or polars frame with one row per sample.
    classes : str, path, DataFrame, or list or mapping of these, optional
        Which class table to take: the name of one in the set, or a table from
        elsewhere, as a frame indexed by class name, as a file (CSV, parquet, ``.npy``),
        or as a file of word vectors in which the class names are looked up. A list or
        mapping fuses several into one table with two-level columns. By default the
        set's own choice: in a file the first table.
    unseen : list of str, str or path, optional
        Who is unseen instead of those the set names: class names (in one text, with
        commas between), a text file with a name per line, or a standard split such as
        ``"sun-707"`` (see :func:`standard_splits`); ``"proposed"`` is the proposed one
        of whatever set it is. Without any word on it, the classes
        that have no rows.
    column : str, optional
        The column of labels of a CSV file, parquet file or frame. By default the one
        called ``label``, ``class``, ``class_name``, ``y`` or ``target``, or the only
        column of text.
    id : str, optional
        The column of a CSV, parquet or Excel file or frame that names the rows. It is
        kept as ``ids`` and is not a feature. A column of numbers that looks like such a
        name raises an error that asks; ``id=""`` says that it is a feature.

    Returns
    -------
    ZeroShotData
        Features in float32 or float64, memory-mapped where the file allows it; labels
        by class name; and the split.

    Notes
    -----
    In the bundled set ``"photos"`` the seen classes are the 1,000 of ImageNet, with one
    row each: the row of EfficientNet-Lite0's last layer, which stands for the mean of
    the class. The rows of unseen classes are features, by the same network, of 1,000
    test photos of CIFAR-10. Their ten names are new, the things are not: ImageNet has
    118 kinds of dogs, and ships and frogs. Class table ``words`` has word vectors of
    the names, ``tree`` their places in WordNet; by default both are fused.
    ``"photos-200"`` has every fifth of the seen classes, so that all is quick.

    ``"pets"`` has 555 photos of 37 breeds of cats and dogs from the Oxford-IIIT Pet
    Dataset, as features of the same network, and one class table: 25 attributes that
    we wrote by hand from what breed descriptions say. Every fourth breed is unseen.
    That network was once taught ImageNet, which has about two thirds of the breeds, so
    its features tell breeds apart well; no label of an unseen breed is used here.

    The photos themselves are in :func:`unseen.photos.bundled.load_thumbnails`.

    Examples
    --------
    >>> from unseen.loading import load_data
    >>> load_data("photos")
    ZeroShotData 'photos': 2000 rows x 1280 features (float32)
      1000 seen classes, 1000 rows: tench, goldfish, great white shark, tiger shark, ...
      10 unseen classes, 1000 rows: airplane, automobile, bird, cat, deer, dog, ...
      class embeddings: 2115 dimensions (words + tree)
    """
    return read_raw(source, column, id).build(classes, unseen)


def read_raw(source: Any, column: str | None = None, id: str | None = None) -> RawData:
    """Read what a file holds without judging it.

    Parameters
    ----------
    source : path, str or DataFrame
        As for :func:`load_data`.
    column, id : str, optional
        As for :func:`load_data`.

    Returns
    -------
    RawData
        Features, labels, class tables and split as they were found.

    Examples
    --------
    >>> from unseen.loading import read_raw
    >>> list(read_raw("photos").tables)
    ['words', 'tree']
    """
    if isinstance(source, str) and source in BUNDLED:
        if column or id:
            what = "column" if column else "id"
            raise ValueError(f"{source} is bundled; {what}= is for files of yours.")
        return read_bundled(source)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return find_reader(path).raw(path, column, id)
    if hasattr(source, "columns"):
        return read_frame(source, label=column, id=id)
    raise TypeError(
        f"source is a {type(source).__name__}. Give a path, the name of a bundled set, "
        "or a pandas or polars frame."
    )
