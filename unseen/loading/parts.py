"""What a reader finds in a file before anyone has judged it, and the readers.

A reader says what is there and where; :meth:`RawData.build` makes a
:class:`~unseen.data.ZeroShotData` of it or raises the first fault,
:func:`unseen.loading.faults.find_faults` names them all. A new kind of file is one file
in this folder: write ``read``, put :func:`reader` above it, and import the module in
``unseen/loading/__init__.py``.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen.data import Fault, ZeroShotData, split_faults
from unseen.limits import check_plain_file, limits, read_small, unpacked_allowance


@dataclass(eq=False)
class RawData:
    """The parts of a data set as a file holds them, neither checked nor chosen.

    Parameters
    ----------
    name : str
        What the set is called.
    where : str
        The file or folder, for messages.
    X : ndarray of shape (n_samples, n_features)
        Or a function that reads it, which is called when it is first asked for.
    y : ndarray of shape (n_samples,)
        Class names, or row numbers of ``class_names`` counted from 0, which become
        names. An empty name or -1 is an unlabelled row.
    class_names : ndarray of str
        By default those of the first table, or else the labels that there are.
    tables : dict of str to DataFrame
        Class tables by name; their rows follow ``class_names``. May be empty.
    unseen : ndarray or None
        Names or row numbers of the unseen classes; None if nothing is said.
    seen_test : ndarray of bool or None
        Rows of seen classes that are set aside for scoring.
    fused : bool
        Whether all tables together are the default, not the first alone.
    first : int
        The number of the first class in the file: 1 in MATLAB's files.
    feature_names : ndarray of str or None
        The columns of ``X``, if the file names them.
    ids : ndarray of str or None
        What the rows are called, if a column of the file says so.
    origin : dict
        What ``X``, ``y``, ``classes`` and ``unseen`` are called in the file.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from unseen.loading.parts import RawData
    >>> names = np.array(["zebra", "okapi"])
    >>> looks = pd.DataFrame({"stripes": [1.0, 0.5]}, index=names)
    >>> RawData("zoo", "zoo.npz", np.eye(2), np.array([0, 1]), names, {"looks": looks},
    ...       unseen=np.array([1])).build()
    ZeroShotData 'zoo': 2 rows x 2 features (float64)
      1 seen class, 1 row: zebra
      1 unseen class, 1 row: okapi
      class embeddings: 1 dimensions (looks)
    """

    name: str
    where: str
    X: Any
    y: np.ndarray
    class_names: Any = None
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    unseen: np.ndarray | None = None
    seen_test: np.ndarray | None = None
    fused: bool = False
    first: int = 0
    feature_names: np.ndarray | None = None
    ids: np.ndarray | None = None
    origin: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make names of row numbers; a number that is not a row is named by itself."""
        if callable(self.X):
            self._read_features = self.__dict__.pop("X")
        if self.class_names is None and self.tables:
            self.class_names = np.array(next(iter(self.tables.values())).index, str)
        elif self.class_names is None:
            self.class_names = np.unique(self.y[self.y != ""])
        rows = dict(enumerate(self.class_names.tolist()))
        for part, names in {"y": {**rows, -1: ""}, "unseen": rows}.items():
            labels = getattr(self, part)
            if labels is not None and np.asarray(labels).dtype.kind in "iu":
                numbers, place = np.unique(labels, return_inverse=True)
                known = [names.get(n, f"number {n + self.first}") for n in numbers]
                setattr(self, part, np.array(known, dtype=str)[place])

    def __getattr__(self, name: str) -> Any:
        """Read the features now that they are asked for."""
        if name != "X":
            raise AttributeError(name)
        self.X = self._read_features()
        return self.X

    def called(self, part: str) -> str:
        """Return what a part is called in the file."""
        return self.origin.get(part, part)

    def split_faults(self) -> Iterator[Fault]:
        """Yield what is wrong with class names, the split and the labels."""
        y, n_rows = self.y, len(self.X)
        if len(y) != n_rows:
            fault = f"has {len(y)} labels for {n_rows} rows"
            yield Fault(self.called("y"), "", fault)
        aside = self.seen_test
        aside = None if aside is None or aside.shape != y.shape else aside.astype(bool)
        names = self.class_names.astype(str)
        yield from split_faults(names, y, self.unseen, aside, self.called)

    def build(self, classes: Any = None, unseen: Any = None) -> ZeroShotData:
        """Make the data set as ``load_data`` does, or raise the first of its faults."""
        from unseen.loading.tables import choose_table

        with self._named():
            made = self.choose(classes, unseen)
            if classes is None:
                made.tables = {"": choose_table(self, None)}
            (table,) = made.tables.values()
            made.class_names = np.array([str(name) for name in table.index])
            if made.unseen is None:  # the classes without rows
                made.unseen = made.class_names[~np.isin(made.class_names, made.y)]
            for fault in made.split_faults():
                raise ValueError(f"{fault}.")
            X = as_float(self.X, self.called("X"))
            names = (self.feature_names, self.ids)
            return ZeroShotData(
                self.name, X, made.y, table, made.unseen, made.seen_test, *names
            )

    def choose(self, classes: Any = None, unseen: Any = None) -> RawData:
        """Return the same with another class table or split, still unjudged."""
        from unseen.loading.tables import choose_table, choose_unseen

        made = replace(self)
        with self._named():
            if classes is not None:
                table = choose_table(self, classes)
                several = table.columns.nlevels == 2
                names = table.columns.unique(0) if several else [table.columns.name]
                made.tables = {", ".join(str(name or "") for name in names): table}
                made.fused = False
                made.class_names = np.array([str(name) for name in table.index])
            if unseen is not None:
                made.unseen = choose_unseen(unseen, made.class_names.tolist())
                made.seen_test = None
        return made

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Let every refusal name the set."""
        try:
            yield
        except (ValueError, TypeError) as error:
            text = str(error).removeprefix(f"{self.name}: ")
            if text.startswith(self.where):
                raise
            raise type(error)(f"{self.where}: {text}") from error


# ---- the readers ---------------------------------------------------------------------


class Reader(NamedTuple):
    """A kind of file: its name, a test of the content, the function that reads it."""

    kind: str
    recognises: Callable[[Path], bool]
    read: Callable[..., RawData]
    general: bool
    by_column: bool

    def raw(self, path: Path, column: str | None, id: str | None) -> RawData:
        """Read a file; its labels and ids are in columns, if they are named."""
        if (column or id) and not self.by_column:
            what = f"column={column!r}" if column else f"id={id!r}"
            raise ValueError(
                f"{path}: {what} names a column, which only CSV, parquet and Excel "
                f"files have. This is: {self.kind}."
            )
        return self.read(path, column, id) if self.by_column else self.read(path)


readers: list[Reader] = []


def reader(
    kind: str,
    recognises: Callable[[Path], bool],
    *,
    general: bool = False,
    by_column: bool = False,
) -> Callable:
    """Register the decorated ``read(path)`` for files that are recognised.

    Parameters
    ----------
    kind : str
        What the file is called in messages, such as ``"NumPy archive (.npz)"``.
    recognises : callable
        ``recognises(path)`` looks at the content and never raises.
    general : bool, default=False
        Ask this reader after all that are not: any text with commas is CSV.
    by_column : bool, default=False
        Whether it is ``read(path, column, id)``, with the names of the columns of
        labels and of ids, or None.

    Examples
    --------
    >>> from unseen.loading.parts import reader, readers
    >>> @reader("always empty", recognises=lambda path: False)
    ... def read(path):
    ...     raise ValueError(f"{path}: there is nothing to read")
    >>> readers.pop().kind
    'always empty'
    """

    def register(read: Callable[..., RawData]) -> Callable:
        readers.append(Reader(kind, recognises, read, general, by_column))
        return read

    return register


def find_reader(path: Path) -> Reader:
    """Return the reader that recognises a file or folder."""
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file {str(path)!r}. Give a path, or the name of a bundled "
            "set: photos, photos-200."
        )
    if not path.is_dir():
        check_plain_file(path)
    for known in sorted(readers, key=lambda known: known.general):
        if known.recognises(path):
            return known
    raise ValueError(
        f"{str(path)!r} is none of the kinds that can be read: "
        f"{'; '.join(known.kind for known in readers)}. CSV needs a line of column "
        "names, and commas, semicolons, tabs or | between the columns."
    )


# ---- text and numbers of files -------------------------------------------------------


@contextmanager
def damaged_file(path: Path | str, what: str = "the file") -> Iterator[None]:
    """Turn whatever a parser makes of damaged bytes into one clear ``ValueError``."""
    try:
        yield
    except Exception as error:  # damaged bytes raise anything
        code = error.errno if isinstance(error, OSError) else None
        of_system = code not in (None, errno.EINVAL)  # not of what the file says
        own = isinstance(error, ImportError) or str(error).startswith(str(path))
        if of_system or own:
            raise
        reason = " ".join(str(error).split())[:300]
        raise ValueError(
            f"{path}: {what} is damaged ({type(error).__name__}: {reason}). "
            "Fetch or save the file again."
        ) from error


def read_lines(path: Path) -> list[str]:
    """Return the lines of a small file that hold something."""
    with damaged_file(path):
        text = read_small(path).decode("utf-8-sig")
    return [line.strip() for line in text.split("\n") if line.strip()]


def first_bytes(path: Path, count: int) -> bytes:
    """Return the first bytes of a file; none if there is no file."""
    if not path.is_file():
        return b""
    with open(path, "rb") as file:
        return file.read(count)


def check_count(where: Any, found: int, wanted: int, what: str) -> None:
    """Refuse a part of a file that does not have one entry for each of something."""
    if found != wanted:
        raise ValueError(
            f"{where} is for {found} {what}, but there are {wanted}. Give one for each."
        )


def as_float(values: np.ndarray, where: str = "X") -> np.ndarray:
    """Return features in float32 or float64; a map in native order stays a map.

    Half precision becomes float32, whole numbers float64.
    """
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{where} is {values.dtype}. Give real numbers.")
    wide = values.dtype.kind != "f" or values.dtype.itemsize > 4
    dtype = np.dtype(np.float64 if wide else np.float32)
    if values.dtype == dtype:
        return values
    with np.errstate(invalid="ignore", over="ignore"):  # NaN stays NaN
        return values.astype(dtype)


def as_names(values: Any, where: str) -> np.ndarray:
    """Return one dimension of text; bytes are read as UTF-8."""
    names = np.asarray(values)
    if names.dtype.kind in "SO":
        decoded = [n.decode() if isinstance(n, bytes) else n for n in names.tolist()]
        if names.ndim == 1 and all(isinstance(name, str) for name in decoded):
            names = as_texts(decoded, where)
    if names.dtype.kind != "U" or names.ndim != 1 or names.size == 0:
        raise ValueError(
            f"{where} is {names.dtype} of shape {names.shape}. "
            "Give one dimension of text, one name per class."
        )
    return names


def as_texts(texts: Sequence[str], where: str) -> np.ndarray:
    """Return texts as an array, unless they are too long for names.

    NumPy gives every text the room of the longest: one long name among many short
    ones would fill the memory.
    """
    longest, most = max(map(len, texts), default=0), limits().name_letters
    allowed = unpacked_allowance(4 * sum(map(len, texts)))
    if longest > most or 4 * longest * len(texts) > allowed:
        raise ValueError(
            f"{where} holds {len(texts)} names, one of them of {longest} letters. "
            f"Give at most {most}, and names that fit in memory side by side."
        )
    return np.array(texts, dtype=str)
