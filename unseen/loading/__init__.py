"""Load a data set: a file of any known kind, or a bundled set by name."""

import os
from pathlib import Path

from unseen.data import ZeroShotData
from unseen.loading import digits, npz  # noqa: F401, each registers what it reads
from unseen.loading.digits import load_digits_attributes
from unseen.loading.npz import save_data
from unseen.loading.registry import Classes, bundled, reader, readers

__all__ = ["load_data", "load_digits_attributes", "reader", "save_data"]


def load_data(source: str | os.PathLike[str], classes: Classes = None) -> ZeroShotData:
    """Load a zero-shot data set.

    Parameters
    ----------
    source : path or str
        A file, whose kind is told by its content, or the name of a bundled set:
        ``"digits"``. For a file of that name, write ``"./digits"``.
    classes : str or list of str, optional
        Which class table to take if the set has several. A list fuses them into one
        table with two-level columns. By default the set's own choice: in a file the
        first table.

    Returns
    -------
    ZeroShotData
        Features in float32 or float64, labels by class name, and the split.

    Examples
    --------
    >>> from unseen.loading import load_data
    >>> load_data("digits")
    ZeroShotData 'digits': 1797 rows x 64 features (float64)
      7 seen classes, 1264 rows: 0, 1, 3, 4, 6, 7, 9
      3 unseen classes, 533 rows: 2, 5, 8
      class embeddings: 14 dimensions (segments + strokes)
    """
    if isinstance(source, str) and source in bundled:
        return bundled[source](classes)
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file {str(path)!r}. Give a path, or the name of a bundled "
            f"set: {', '.join(bundled)}."
        )
    for known in readers:
        if known.recognises(path):
            return known.read(path, classes)
    raise ValueError(
        f"{str(path)!r} is none of the kinds that can be read: "
        f"{'; '.join(known.kind for known in readers)}."
    )
