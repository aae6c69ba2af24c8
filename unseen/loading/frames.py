"""Tables with one row per sample or per class: frames, CSV, Excel, parquet, a folder.

Frames are those of pandas, polars, pyarrow, and whatever else narwhals reads. The
labels are in a column called ``label``, ``class``, ``class_name``, ``y`` or ``target``,
or in the only column of text. An empty label, or no such column at all, means
unlabelled. The features are in a column of lists (``features``, ``embedding`` or the
only one), or in all columns of numbers but those called ``id``, ``row``, ``index`` or
``Unnamed: 0``, which number the rows. A column of whole numbers that runs like an
index, or is called like ``image_id``, raises: ``id=`` says whether it names the rows. A
column ``split`` may say ``test`` for rows of seen classes that are set aside for
scoring, and ``unseen`` for rows of unseen classes. Other columns of text are left
alone. A class table beside a file, ``birds.classes.csv`` for ``birds.csv``, is taken
along.

CSV is separated by comma, semicolon, tab or ``|``; unless by comma, numbers may have a
decimal comma. It is UTF-8, or UTF-16 with a byte-order mark; other bytes are read as
Windows-1252, with a warning. Of an Excel workbook (.xlsx) the first sheet is read, of
formulas the value that was saved; links to other files are not followed.

A folder is the simplest way to bring data along. Its files::

    features.npy    (n_samples, n_features), opened as a memory map
    labels.csv      a class name per row, empty for unlabelled rows; a second column
                    "split" may say "test" for rows of seen classes that are set aside
                    for scoring
    classes.csv     one row per class: its name, "split" (seen or unseen), its numbers
"""

from __future__ import annotations

import csv
import glob
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen._command import optional
from unseen._encodings import decoded, open_text
from unseen._words import listed, shown
from unseen.data import as_pandas
from unseen.limits import check_unpacked, limits
from unseen.loading.arrays import open_npy
from unseen.loading.parts import RawData, as_texts, damaged_file, first_bytes, reader

LABELS = ("label", "class", "class_name", "y", "target")  # of rows, in this order
CLASSES = ("label", "class", "class_name", "name")
SPLITS = ("split", "unseen")
# Columns of these names number the rows: they are not features.
ROW_NUMBERS = ("id", "row", "index", "unnamed: 0", "__index_level_0__")
SEPARATORS = ",;\t|"


# ---- files ---------------------------------------------------------------------------


def is_table(path: Path) -> bool:
    """Tell a CSV, Excel or parquet file."""
    return is_parquet(path) or is_excel(path) or is_csv(path)


def is_csv(path: Path) -> bool:
    """Tell text whose first lines have at least two fields."""
    start = first_bytes(path, 4096)
    lines = decoded(start).split("\n")[:2]
    if len(lines) == 1 and len(start) < 4096:  # a line may be longer than this look
        return False
    return all(
        any(sign in line for sign in SEPARATORS)
        and all(letter >= " " or letter in "\t\r" for letter in line)
        for line in lines
    )


def is_excel(path: Path) -> bool:
    """Tell a zip archive that holds a workbook."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "xl/workbook.xml" in archive.namelist()


@reader(
    "CSV, Excel (.xlsx) or parquet with a column of labels",
    recognises=is_table,
    general=True,
    by_column=True,
)
def read_rows(path: Path, column: str | None = None, id: str | None = None) -> RawData:
    r"""Read a file with one row per sample, and the class table beside it."""
    frame = read_table(path, column, id)
    raw = read_frame(frame, path.stem, str(path), label=column, id=id)
    others = sorted(path.parent.glob(f"{glob.escape(path.stem)}.classes.*"))
    places = [beside(path), *others]  # birds.classes.csv will do for birds.tsv
    return with_class_table(raw, next(filter(is_table, places), places[0]))


def beside(path: Path) -> Path:
    """Return where the class table of a file with rows is."""
    return path.with_name(f"{path.stem}.classes{path.suffix}")


def is_folder(path: Path) -> bool:
    """Tell a folder with features.npy and labels.csv."""
    return all((path / name).is_file() for name in ("features.npy", "labels.csv"))


@reader("folder with features.npy, labels.csv, classes.csv", is_folder)
def read_folder(path: Path) -> RawData:
    """Read a folder of plain files, see the head of :mod:`unseen.loading.frames`."""
    X, labels = open_npy(path / "features.npy"), path / "labels.csv"
    blank: Any = {"keep_default_na": False, "skip_blank_lines": False}
    with damaged_file(labels):
        rows = pd.read_csv(
            labels, header=None, dtype=str, encoding="utf-8-sig", **blank
        ).fillna("")
    if rows.shape[1] > 2:
        raise ValueError(
            f"{labels} has {rows.shape[1]} columns. Give labels, at most a split."
        )
    if rows.iloc[0, 0].strip().lower() in (*LABELS, "labels", "name"):
        rows = rows[1:]
    if not rows[len(X) :].to_numpy().any():  # empty lines at the end
        rows = rows[: len(X)]
    y, aside = _as_labels(rows[0], "0", str(labels)), rows.iloc[:, -1] == "test"
    raw = RawData(
        name=path.resolve().name,
        where=str(path),
        X=X,
        y=y,
        seen_test=aside.to_numpy() if 1 in rows and aside.any() else None,
        origin={"X": "features.npy", "y": "labels.csv", "unseen": "classes.csv"},
    )
    return with_class_table(raw, path / "classes.csv")


def with_class_table(raw: RawData, path: Path) -> RawData:
    """Let a file beside the rows, if it is there, describe the classes."""
    raw.origin["classes"] = path.name
    if path.is_file():
        table, unseen = read_table_of_classes(path)
        raw.class_names = table.index.to_numpy().astype(str)
        raw.unseen = raw.unseen if unseen is None else unseen
        if table.shape[1]:
            raw.tables[""] = table
    return raw


def read_table(path: Path, *texts: Any, of_classes: bool = False) -> pd.DataFrame:
    """Read a CSV, Excel or parquet file whole.

    The column of names stays text, so that class ``007`` is not class ``7``. ``texts``
    are the columns of labels and of ids; without the first it has a usual name.
    """
    if is_parquet(path):
        with open_parquet(path) as (schema, batches):
            return pyarrow(path)[0].Table.from_batches(batches, schema).to_pandas()
    with damaged_file(path):
        if is_excel(path):
            frame, commas = read_excel(path), False
            named = _names_in(frame.columns.tolist(), path, of_classes, *texts)
        else:
            with open_text(path) as file:
                header = file.readline(limits().line_bytes)
                separator = max(SEPARATORS, key=header.count)
                heads = next(csv.reader([header], delimiter=separator), [])
                named = _names_in(heads, path, of_classes, *texts)
                file.seek(0)
                frame, commas = _read_csv(file, separator, named), separator != ","
    columns = {
        head: values if head in named else _numbers_if_all(values, commas)
        for head, values in frame.items()
    }
    return pd.DataFrame(columns)  # at once: one by one is slow for wide frames


def _names_in(
    heads: list[str], path: Path, of_classes: bool, column: Any = None, id: Any = None
) -> list[str]:
    """Return which columns hold names; refuse too many columns."""
    if len(heads) > limits().columns:
        raise ValueError(
            f"{path} has {len(heads)} columns. Give at most {limits().columns}; "
            "features.npy takes any number."
        )
    if of_classes:
        return _head(heads, CLASSES) or heads[:1]
    names = [column] if column else _head(heads, LABELS)
    return [*names, *_head(heads, ["name"]), *([id] if id else [])]


def _head(heads: Iterable[str], usual: Sequence[str]) -> list[str]:
    """Return the head with the first of the usual names that is there, or nothing."""
    return [head for want in usual for head in heads if head.lower() == want][:1]


def _read_csv(file: Any, separator: str, texts: list[str]) -> pd.DataFrame:
    # pandas 3 reads numbers exactly and deprecates saying so.
    old = int(pd.__version__.split(".")[0]) < 3
    exact: dict[str, Any] = {"float_precision": "round_trip"} if old else {}
    with warnings.catch_warnings():  # of lines with too many fields
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            file,
            sep=separator,
            keep_default_na=False,
            na_values=[""],
            index_col=False,
            dtype=dict.fromkeys(texts, str),
            **exact,
        )


def read_excel(path: Path) -> pd.DataFrame:
    """Return the first sheet; its first row names the columns."""
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    check_unpacked(size, path.stat().st_size, path)
    optional("openpyxl", "files", str(path))
    options: Any = {"dtype": object, "keep_default_na": False, "na_values": [""]}
    cells = pd.read_excel(path, engine="openpyxl", **options)
    return cells.rename(columns=str).infer_objects()


def _numbers_if_all(column: pd.Series, commas: bool) -> pd.Series:
    """Read 'nan', 'inf' and decimal commas where everything is a number."""
    if column.dtype.kind in "fiub":
        return column
    words = column[column.notna()].astype(str).str.strip()
    words = words[~words.str.lower().isin(["nan", "na", "null"])]
    if commas and not words.str.contains(".", regex=False).any():
        words = words.str.replace(",", ".")
    numbers = pd.to_numeric(words, errors="coerce")
    whole = len(words) and numbers.notna().all()
    return numbers.reindex(column.index) if whole else column


# ---- parquet -------------------------------------------------------------------------


def is_parquet(path: Path) -> bool:
    """Tell a parquet file by its first bytes."""
    return first_bytes(path, 4) == b"PAR1"


def pyarrow(what: Path | str) -> tuple[Any, Any]:
    """Return pyarrow and its module for parquet, or say what to install."""
    parquet = optional("pyarrow.parquet", "files", str(what))
    return optional("pyarrow", "files", str(what)), parquet


@contextmanager
def open_parquet(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Yield the schema of a parquet file and its rows in batches of Arrow.

    Texts are numbers of a dictionary. How many values the file claims to hold is
    compared with its size before it is read.
    """
    pa, pq = pyarrow(path)
    with damaged_file(path):
        claims = pq.read_metadata(path)
        n_columns = claims.num_columns
        if n_columns > limits().columns:
            raise ValueError(f"{path} has {n_columns} columns. Give a column of lists.")
        groups = [claims.row_group(i) for i in range(claims.num_row_groups)]
        n = sum(g.column(i).num_values for g in groups for i in range(n_columns))
        check_unpacked(4 * n, path.stat().st_size, path)
        fields = claims.schema.to_arrow_schema()
        batch_bytes = 16 << 20  # not a whole column of a row group at once
        with pq.ParquetFile(
            path,
            read_dictionary=[f.name for f in fields if pa.types.is_string(f.type)],
            page_checksum_verification=True,
            pre_buffer=False,
            buffer_size=batch_bytes,
        ) as file:
            step = min(4096, max(1, batch_bytes // (8 * max(1, n_columns))))
            yield file.schema_arrow, file.iter_batches(step, use_threads=False)


def iter_parquet(path: Path, label: str | None = None) -> Iterator[Any]:
    """Go through the rows of a file, or of all files below a folder, by name.

    What their features are is told as in any table; with a ``label``, pairs of them
    and that column are yielded.
    """
    inside = [file.relative_to(path) for file in path.rglob("*.parquet")]
    shown = [f for f in inside if not any(part[0] in "._" for part in f.parts)]
    files = [path / file for file in sorted(shown)] if path.is_dir() else [path]
    if not files or not all(map(is_parquet, files)):
        raise ValueError(f"{path} is neither .npy nor parquet. Give one of the two.")
    for file in files:
        with open_parquet(file) as (_, batches):
            for batch in batches:
                columns = dict(batch.to_pandas().items())
                if label is not None and label not in columns:
                    raise ValueError(f"{file} has no column {label!r}.")
                y = None if label is None else np.asarray(columns.pop(label))
                X, _ = _features(columns, str(file), ask=False)
                yield X if y is None else (X, y)


# ---- one row per sample --------------------------------------------------------------


def read_frame(
    frame: Any,
    name: str = "frame",
    where: str | None = None,
    label: str | None = None,
    id: str | None = None,
) -> RawData:
    """Return the parts of a frame with one row per sample, without a class table.

    ``label`` and ``id`` name columns; an empty ``id`` says that no column names the
    rows, although one looks like it. ``where`` is what messages call the frame.
    """
    where = name if where is None else where
    frame = as_pandas(frame)
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"{where} is a {type(frame).__name__}. Give a pandas frame.")
    frame = frame.reset_index(drop=True)  # rows are counted, whatever their index says
    columns = {str(key): values for key, values in frame.items()}
    if len(columns) < len(frame.columns):
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"{where} has two columns called {twice!r}. Rename one.")
    for what, asked in {"labels": label, "ids": id}.items():
        if asked and asked not in columns:
            raise ValueError(
                f"{where} has no column {asked!r} for the {what}. The columns are "
                f"{listed(columns, 8)}."
            )
    ids = _as_labels(columns.pop(id), id, where) if id else None
    label = label or _label_column(columns, where)
    y = np.zeros(len(frame), dtype="<U1")
    if label is not None:
        y = _as_labels(columns.pop(label), label, where)
    unseen = seen_test = None
    split = next((c for c in columns if c.lower() == "split"), None)
    if split is not None and _holds(columns[split], str):
        side = columns.pop(split).astype(str).str.strip().str.lower().to_numpy()
        unseen = np.unique(y[(side == "unseen") & (y != "")])
        seen_test = side == "test" if (side == "test").any() else None
    X, feature_names = _features(columns, where, ask=id is None)
    return RawData(
        name=name,
        where=where,
        X=X,
        feature_names=feature_names,
        ids=ids,
        y=y,
        unseen=unseen,
        seen_test=seen_test,
        origin={
            "X": "the features",
            "y": "the labels" if label is None else f"column {label!r}",
            "unseen": "column 'split'",
        },
    )


def _label_column(columns: dict, where: str) -> str | None:
    if named := _head(columns, LABELS):
        return named[0]
    others = ("split", *ROW_NUMBERS)
    texts = [c for c in columns if _holds(columns[c], str) and c.lower() not in others]
    if len(texts) > 1:
        raise ValueError(
            f"{where}: columns {listed(texts, 8)} all hold text. Say which one holds "
            f"the labels: column={texts[0]!r}"
        )
    return texts[0] if texts else None


def _as_labels(column: pd.Series, name: str, where: str) -> np.ndarray:
    """Return a column as texts, empty where there is nothing."""
    known = column.dropna()
    if known.dtype.kind == "f" and (known % 1 == 0).all():
        known = known.astype(np.int64)  # whole numbers that passed through a gap
    texts = known.map(str).reindex(column.index, fill_value="").tolist()
    texts = [text if text.strip() else "" for text in texts]
    return as_texts(texts, f"{where}: column {name!r}")


def _features(
    columns: dict, where: str, ask: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the features and, if each has a column, their names."""
    lists = [c for c in columns if _holds(columns[c], (list, tuple, np.ndarray))]
    named = _head(lists, ("features", "embedding", "x"))
    if named or len(lists) == 1:
        name = (named or lists)[0]
        return _stack(columns[name], name, where), None
    if lists:
        raise ValueError(
            f"{where}: columns {', '.join(lists[:5])} all hold lists. "
            "Name the one with the features 'features'."
        )
    numeric = []
    for name, values in columns.items():
        if _holds(values, str):
            _check_words(values, name, where)
        elif name.lower() not in ROW_NUMBERS and values.dtype.kind in "fiub":
            numeric.append(name)
    if not numeric:
        raise ValueError(
            f"{where} has no column of numbers for features. The columns are "
            f"{listed(columns, 8)}."
        )
    arrays = [np.asarray(columns[name]) for name in numeric]
    if ask:
        for name, values in zip(numeric, arrays, strict=True):
            _ask_about_ids(name, values, where)
    return np.stack(arrays, axis=1), np.array(numeric)


def _ask_about_ids(name: str, values: np.ndarray, where: str) -> None:
    """Ask whether a column that looks like an index is a feature."""
    if len(values) < 10 or not np.isfinite(values).all():  # a run may be an accident
        return
    if (values != np.floor(values)).any() or len(np.unique(values)) < len(values):
        return
    runs = (np.diff(values) > 0).all() or np.ptp(values) == len(values) - 1
    if runs or re.fullmatch(r"(.*[\W_])?ids?", name, re.IGNORECASE):
        raise ValueError(
            f"{where}: column {name!r} holds a whole number of its own for every "
            f"row ({listed(values.astype(int), 3)}). If it names the rows, say "
            f"id={name!r}; if it is a feature, say id=''."
        )


def _check_words(column: pd.Series, name: str, where: str) -> None:
    """Refuse a column of numbers that was read as text: it would be not a feature."""
    words = column[column.notna()].astype(str)
    words = words[words.str.strip() != ""]
    odd = words[pd.to_numeric(words, errors="coerce").isna()]
    numbers = pd.to_numeric(words.str.replace(",", "."), errors="coerce")
    if len(odd) and numbers.notna().mean() > 0.5:
        raise ValueError(
            f"{where}: column {name!r} holds numbers, but {shown(odd.iloc[0])} in row "
            f"{odd.index[0]}. Give numbers with a decimal point, or leave the cell "
            "empty; or remove the column."
        )


def _stack(column: pd.Series, name: str, where: str) -> np.ndarray:
    cells = [np.ravel(cell) for cell in column]
    sizes = sorted({cell.size for cell in cells})
    if len(sizes) > 1:
        raise ValueError(
            f"{where}: the lists in column {name!r} have {sizes[:5]} numbers. "
            "Give all rows the same number."
        )
    return np.stack(cells)


def _holds(column: pd.Series, kind: Any) -> bool:
    """Tell what a column holds by its first value."""
    if column.dtype.kind in "fiub":
        return False
    first = column.first_valid_index()
    return first is not None and isinstance(column[first], kind)


# ---- one row per class ---------------------------------------------------------------


def read_table_of_classes(path: Path) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return (table, who is unseen or None) of a file with one row per class."""
    return frame_to_table(read_table(path, of_classes=True), path)


def frame_to_table(
    frame: pd.DataFrame, where: str | Path
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return (table, who is unseen or None) of a frame with one row per class."""
    frame = frame.rename(columns=str)
    if isinstance(frame.index, pd.RangeIndex):
        if not len(frame.columns):
            raise ValueError(f"{where} has no columns. Name the classes in the first.")
        frame = frame.set_index((_head(frame.columns, CLASSES) or [*frame.columns])[0])
    names = pd.Index(["" if pd.isna(name) else str(name) for name in frame.index])
    frame = frame.set_axis(names, axis=0).rename_axis(None)
    splits = [c for c in frame if str(c).lower() in SPLITS]
    dims = frame.drop(columns=splits)
    odd = [c for c in dims if dims[c].dtype.kind not in "fiub"]
    if odd:
        raise ValueError(
            f"{where}: column {shown(odd[0])} holds more than numbers. "
            "Give numbers, or name the column 'class' if it holds the names."
        )
    unseen = None
    if splits:
        words = frame[splits[0]].map(lambda value: str(value).strip().lower())
        yes = words.isin(["unseen", "true", "1", "1.0", "test"])
        other = words[~yes & ~words.isin(["seen", "false", "0", "0.0", "train"])]
        if len(other):
            raise ValueError(
                f"{where}: column {splits[0]!r} says {shown(other.iloc[0])} for class "
                f"{shown(other.index[0])}. Say 'seen' or 'unseen'."
            )
        unseen = np.array(frame.index[yes], dtype=str)
    return dims.rename_axis(columns=None), unseen
