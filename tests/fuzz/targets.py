"""What is damaged and read: every reader, and every store of ours.

A target writes its files into an empty folder and reads them back. ``compare`` turns
what was read into plain bytes; it is given for stores under a checksum, where other
numbers than those written must never come back.
"""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "loading")]

import layouts  # noqa: E402

from unseen.data import ZeroShotData  # noqa: E402


@dataclass(frozen=True)
class Target:
    """One kind of file: how it is written and read, and how often it is damaged."""

    name: str
    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    compare: Callable[[Any], bytes] | None = None
    weight: int = 10
    spare: str = ""  # of files whose name ends so, nothing is damaged


def read_set(path: Path) -> ZeroShotData:
    from unseen.loading import load_data, read_parts
    from unseen.loading.checks import describe, find_faults

    entry = next(iter(sorted((path / "in").iterdir())))
    files = sorted((path / "in").glob("set*"), key=lambda file: len(file.name))
    entry = files[0] if files else entry
    parts = read_parts(entry)
    find_faults(parts)
    describe(parts)
    data = load_data(entry)
    assert isinstance(data, ZeroShotData)
    assert len(data.X) == len(data.y) and data.X.dtype in (np.float32, np.float64)
    assert set(data.y.tolist()) <= {*data.classes.tolist(), ""}
    repr(data)
    data._repr_html_()
    return data


def write_set(kind: str, path: Path) -> None:
    (path / "in").mkdir()
    layouts.write_layout(kind, path / "in")


def write_tsv(path: Path) -> None:
    (path / "in").mkdir()
    layouts.write_layout("csv", path / "in")
    for file in (path / "in").iterdir():
        file.write_text(file.read_text().replace(",", "\t"))


def write_sets_of_lists(path: Path) -> None:
    (path / "in").mkdir()
    labels = [layouts.NAMES[y] for y in layouts.Y]
    rows = pd.DataFrame({"label": labels, "features": list(layouts.X)})
    rows.to_parquet(path / "in" / "set.parquet")
    table = pd.DataFrame(layouts.A, index=pd.Index(layouts.NAMES, name="class"))
    table.columns = [f"a{i}" for i in range(table.shape[1])]
    table.reset_index().to_parquet(path / "in" / "set.classes.parquet")


def write_hdf5_in_chunks(path: Path) -> None:
    import h5py

    (path / "in").mkdir()
    with h5py.File(path / "in" / "set.h5", "w") as file:
        packed = {"chunks": (3, 2), "compression": "gzip", "shuffle": True}
        file.create_dataset("X", data=layouts.X, **packed, fletcher32=True)
        file.create_dataset("att", data=layouts.A, **packed)
        file["y"], file["unseen"] = layouts.Y, [2, 3]
        file["class_names"] = layouts.NAMES


def set_bytes(data: ZeroShotData) -> bytes:
    table = data.class_embeddings
    numbers = [np.asarray(data.X), table.to_numpy(dtype=float)]
    texts = [data.name, *data.y, *data.classes, *data.unseen, *map(str, table.columns)]
    aside = b"" if data.seen_test is None else data.seen_test.tobytes()
    return b"".join(n.tobytes() for n in numbers) + "|".join(texts).encode() + aside


def write_vectors(kind: str, path: Path) -> None:
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(30)] + ["grizzly", "bear", "seal"]
    vectors = rng.normal(size=(len(words), 6)).astype(np.float32)
    if kind == "binary":
        rows = zip(words, vectors, strict=True)
        body = b"".join(w.encode() + b" " + v.tobytes() + b"\n" for w, v in rows)
        content = f"{len(words)} 6\n".encode() + body
    else:
        rows = zip(words, vectors, strict=True)
        lines = [f"{w} " + " ".join(f"{x:.4f}" for x in v) for w, v in rows]
        head = [f"{len(words)} 6"] if kind == "header" else []
        content = ("\n".join([*head, *lines]) + "\n").encode()
    if kind == "gzip":
        content = gzip.compress(content, mtime=0)
    (path / "vectors").write_bytes(content)


def read_vectors(path: Path) -> Any:
    from unseen.loading import embed_names
    from unseen.loading.word_vectors import is_word_vectors

    is_word_vectors(path / "vectors")
    table, missing = embed_names(["grizzly bear", "seal"], path / "vectors")
    assert set(table.index) | set(missing) == {"grizzly bear", "seal"}
    assert np.isfinite(table.to_numpy()).all()


def write_table(suffix: str, path: Path) -> None:
    frame = pd.DataFrame(layouts.A, columns=["a", "b", "c"])
    frame.insert(0, "class", layouts.NAMES)
    if suffix == ".parquet":
        frame.to_parquet(path / "table.parquet")
    elif suffix == ".npy":
        np.save(path / "table.npy", layouts.A)
    else:
        frame.to_csv(path / "table.csv", index=False)


def read_table(suffix: str, path: Path) -> Any:
    from unseen.loading import load_data

    names = np.array(layouts.NAMES)[layouts.Y]
    rows = pd.DataFrame({"label": names, "a": layouts.X[:, 0]})
    return load_data(rows, path / f"table{suffix}", unseen=layouts.UNSEEN)


def write_split(path: Path) -> None:
    (path / "unseen.txt").write_text("\n".join(layouts.UNSEEN) + "\n")


def read_split(path: Path) -> Any:
    from unseen.loading import load_data

    names = np.array(layouts.NAMES)[layouts.Y]
    rows = pd.DataFrame({"label": names, "a": layouts.X[:, 0]})
    table = pd.DataFrame(layouts.A, index=layouts.NAMES)
    return load_data(rows, table, unseen=path / "unseen.txt")


def write_npy(path: Path) -> None:
    np.save(path / "a.npy", layouts.X)


def read_npy(path: Path) -> Any:
    from unseen.loading import open_npy

    return np.array(open_npy(path / "a.npy"))


def write_archive(kind: str, path: Path) -> None:
    files = {"set/classes.txt": b"1 seal\n" * 30, "set/deep/a.npy": layouts.X.tobytes()}
    if kind == "zip":
        with zipfile.ZipFile(path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        return
    with tarfile.open(path / "a.tar.gz", "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def read_archive(name: str, path: Path) -> Any:
    from unseen.loading.archives import unpack

    folder = unpack(path / name, path / "out" / "unpacked")
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def write_labels(path: Path) -> None:
    from unseen.labels import label_table, write_labels

    names = np.array(layouts.NAMES)[layouts.Y]
    table = label_table(names, reliability=np.linspace(0, 1, 8), second=names[::-1])
    write_labels(table, path / "labels.csv")


def read_labels(path: Path) -> Any:
    from unseen.labels import read_labels

    return read_labels(path / "labels.csv")


def write_plan(path: Path) -> None:
    from importlib.resources import files

    folder = files("unseen.experiments").joinpath("plans")
    (path / "plan.toml").write_bytes(folder.joinpath("digits.toml").read_bytes())


def read_plan(path: Path) -> Any:
    from unseen.experiments.plan import read_plan

    return read_plan(path / "plan.toml")


def write_results(path: Path) -> None:
    from unseen.experiments.results import Finding, ResultsFile, RunKey

    with ResultsFile(path / "results.csv") as results:
        for seed in range(4):
            key = RunKey("accuracy", "digits", "strokes", "eszsl", seed)
            results.append(key, [Finding("final", value=0.5 + seed), Finding("done")])
    for lock in path.glob(".*"):
        lock.unlink()


def read_results(path: Path) -> Any:
    from unseen.experiments.results import ResultsFile, read_results

    frame = read_results(path / "results.csv")
    with ResultsFile(path / "results.csv"):
        return frame


MODELS = sorted((HERE.parent / "models_0_1").glob("*.unseen"))


def write_model(place: int, path: Path) -> None:
    (path / "model.unseen").write_bytes(MODELS[place].read_bytes())


def read_model(path: Path) -> Any:
    import unseen

    return unseen.load_model(path / "model.unseen")


def model_bytes(model: Any) -> bytes:
    found: list[bytes] = [repr(model).encode()]
    _collect(vars(model), found)
    return b"|".join(found)


def _collect(value: Any, found: list[bytes]) -> None:
    if isinstance(value, np.ndarray):
        found.append(value.dtype.str.encode() + str(value.shape).encode())
        found.append(
            repr(value.tolist()).encode() if value.dtype == object else value.tobytes()
        )
    elif isinstance(value, dict):
        for key, inner in value.items():
            found.append(repr(key).encode())
            _collect(inner, found)
    elif isinstance(value, list | tuple):
        for inner in value:
            _collect(inner, found)
    elif hasattr(value, "__dict__"):
        found.append(type(value).__name__.encode())
        _collect(vars(value), found)
    else:
        found.append(repr(value).encode())


class SmallEncoder:
    """Stands for an image encoder: the cache asks for no more."""

    name, version, dimension = "small", "1", 5


DIGESTS = [bytes([i]) * 32 for i in range(6)]
FEATURES = np.arange(30, dtype=np.float32).reshape(6, 5) / 7


def write_cache(path: Path) -> None:
    from unseen.photos.cache import FeatureCache

    for half in (slice(0, 3), slice(3, 6)):
        cache = FeatureCache(SmallEncoder(), path / "cache")
        pictures = [b"jpeg%d" % i * 20 for i in range(6)]
        cache.add(DIGESTS[half], FEATURES[half], pictures[half])
        cache.flush()


def read_cache(path: Path) -> Any:
    """Read what is there; what the cache has lost is made anew, never wrong."""
    import warnings

    from unseen.photos.cache import FeatureCache

    with warnings.catch_warnings(record=True):  # it may tell what it set aside
        warnings.simplefilter("always")
        cache = FeatureCache(SmallEncoder(), path / "cache")
        known = [i for i, digest in enumerate(DIGESTS) if digest in cache]
        rows = cache.features([DIGESTS[i] for i in known]) if known else FEATURES[:0]
        pictures = [cache.thumbnail(DIGESTS[i]) for i in known]
    for i, row, picture in zip(known, rows, pictures, strict=True):
        assert row.tobytes() == FEATURES[i].tobytes(), "other features"
        assert picture == b"jpeg%d" % i * 20, "another thumbnail"
    return b""


def sets() -> list[Target]:
    checked = {"own npz", "npz"}
    spare = {"csv": ".json", "folder": ""}
    found = [
        Target(
            kind,
            partial(write_set, kind),
            read_set,
            set_bytes if kind in checked else None,
            weight=12,
            spare=spare.get(kind, ""),
        )
        for kind in layouts.LAYOUTS
    ]
    more = {
        "tsv": write_tsv,
        "parquet of lists": write_sets_of_lists,
        "hdf5 in chunks": write_hdf5_in_chunks,
    }
    return found + [Target(name, write, read_set) for name, write in more.items()]


TARGETS: list[Target] = [
    *sets(),
    *(
        Target(f"vectors, {kind}", partial(write_vectors, kind), read_vectors, weight=6)
        for kind in ("glove", "header", "binary", "gzip")
    ),
    *(
        Target(f"table{end}", partial(write_table, end), partial(read_table, end))
        for end in (".csv", ".parquet", ".npy")
    ),
    Target("split", write_split, read_split, weight=5),
    Target("npy", write_npy, read_npy, weight=5),
    *(
        Target(name, partial(write_archive, kind), partial(read_archive, name))
        for kind, name in (("zip", "a.zip"), ("tar", "a.tar.gz"))
    ),
    Target("labels", write_labels, read_labels),
    Target("plan", write_plan, read_plan),
    Target("results", write_results, read_results),
    Target("cache", write_cache, read_cache, bytes, weight=15),
    *(
        Target(
            f"model {MODELS[i].stem}",
            partial(write_model, i),
            read_model,
            model_bytes,
            weight=4,
        )
        for i in range(0, len(MODELS), max(1, len(MODELS) // 8))
    ),
]
