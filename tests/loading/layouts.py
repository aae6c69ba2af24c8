"""The real layouts, made by hand: each writes a set and says what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.io

from unseen.data import ZeroShotData
from unseen.loading import save_data


class Made(NamedTuple):
    """Classes with their table, rows with the numbers of their classes."""

    names: list
    A: np.ndarray
    X: np.ndarray
    y: np.ndarray
    unseen: list


NAMES = ["antelope", "grizzly+bear", "killer+whale", "rat"]
A = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.5], [0.0, 0.3, 1.0], [0.5, 0.5, 0.25]])
X = np.arange(24, dtype=np.float64).reshape(8, 3) / 7 + 1
Y = np.array([0, 1, 2, 3, 0, 1, 2, 3])
UNSEEN = ["killer+whale", "rat"]
SMALL = Made(NAMES, A, X, Y, UNSEEN)


def cells(names) -> np.ndarray:
    """Make a cell array of text, as savemat understands it."""
    array = np.empty((len(names), 1), dtype=object)
    array[:, 0] = names
    return array


def lines_of(rows) -> str:
    return "".join(" ".join(repr(float(v)) for v in row) + "\n" for row in rows)


def numbered(names, between=" ") -> str:
    return "".join(f"{i}{between}{name}\n" for i, name in enumerate(names, 1))


def write_xlsa17(folder: Path, made=SMALL, save=scipy.io.savemat, **changed) -> Path:
    """Write the pair; variables may be changed. Of the small set rows 5, 6 are aside.

    Rows are counted from 1.
    """
    rows = np.arange(len(made.y))
    aside = np.isin(rows, [4, 5]) if made is SMALL else rows < 0
    unseen = np.isin(np.array(made.names)[made.y], made.unseen)
    places = {
        "trainval_loc": ~unseen & ~aside,
        "test_seen_loc": aside,
        "test_unseen_loc": unseen,
    }
    splits = {"att": made.A.T, "original_att": 100 * made.A.T}
    splits |= {"allclasses_names": cells(made.names)}
    splits |= {key: rows[mine][:, None] + 1.0 for key, mine in places.items()}
    features = {"features": made.X.T, "labels": made.y[:, None] + 1.0}
    folder.mkdir(parents=True, exist_ok=True)
    for name, parts in {"res101": features, "att_splits": splits}.items():
        new = {key: np.asarray(v) for key, v in changed.items() if key in parts}
        save(folder / f"{name}.mat", parts | new)
    return folder


def write_matlab_73(path: Path, variables: dict) -> None:
    """Write what MATLAB's save -v7.3 writes: HDF5 behind 512 bytes, all transposed."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        cells_group = file.create_group("#refs#")
        for key, value in variables.items():
            if value.dtype != object:
                file.create_dataset(key, data=value.T)
                continue
            references = np.empty(value.T.shape, dtype=h5py.ref_dtype)
            for place, text in np.ndenumerate(value.T):
                codes = np.frombuffer(text.encode("utf-16-le"), "<u2")[:, None]
                name = f"{key}{place[-1]}"
                cell = cells_group.create_dataset(name, data=codes)
                cell.attrs["MATLAB_class"] = np.bytes_("char")
                references[place] = cell.ref
            data = file.create_dataset(key, data=references, dtype=h5py.ref_dtype)
            data.attrs["MATLAB_class"] = np.bytes_("cell")
    header = (
        b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created by: test HDF5 schema 1.00 ."
    )
    with open(path, "r+b") as file:
        file.write(header.ljust(124) + b"\x00\x02IM")


def write_xlsa17_73(folder: Path, **changed) -> Path:
    return write_xlsa17(folder, save=write_matlab_73, **changed)


def write_authors(folder: Path, made=SMALL) -> Path:
    folder.mkdir(parents=True)
    unseen = np.isin(made.names, made.unseen)
    order = np.argsort(made.y, kind="stable")
    train, test = (order[unseen[made.y[order]] == side] for side in (False, True))
    counts = np.bincount(made.y)[:, None].astype(float)
    first = {
        "im_fea": made.X[train].T,
        "semantic_fea": made.A[made.y[train]].T,
        "cla_num": counts[~unseen],
    }
    second = {
        "im_fea": made.X[test].T,
        "semantic_uni": made.A[unseen].T,
        "cla_num": counts[unseen],
        "index": np.cumsum(unseen)[made.y[test]][:, None].astype(float),
    }
    scipy.io.savemat(folder / "Train.mat", first)
    scipy.io.savemat(folder / "Test.mat", second)
    return folder


def write_awa(folder: Path, made=SMALL, **features) -> Path:
    """Write the folder of AwA; each kind of ``features`` as files of text or as npy."""
    folder.mkdir(parents=True)
    (folder / "classes.txt").write_text(numbered(made.names, "\t"))
    (folder / "predicates.txt").write_text(numbered(range(made.A.shape[1]), "\t"))
    for kind, values in {"continuous": made.A, "binary": made.A > 0.4}.items():
        (folder / f"predicate-matrix-{kind}.txt").write_text(lines_of(values))
    seen = [name for name in made.names if name not in made.unseen]
    (folder / "trainclasses.txt").write_text("\n".join(seen) + "\n")
    (folder / "testclasses.txt").write_text("\n".join(made.unseen) + "\n")
    for kind, form in features.items():
        place = folder / "Features" / kind
        place.mkdir(parents=True)
        if form == "images":
            for row, label in enumerate(made.y):
                file = place / made.names[label] / f"{row:04d}.txt"
                file.parent.mkdir(exist_ok=True)
                file.write_text(lines_of(made.X[[row]]))
            continue
        if form == "npy":
            np.save(place / "AwA-features.npy", made.X)
        else:
            (place / "AwA-features.txt").write_text(lines_of(made.X))
        (place / "AwA-labels.txt").write_text("".join(f"{y + 1}\n" for y in made.y))
        (place / "AwA-filenames.txt").write_text("one.jpg\n" * len(made.y))
    return folder


def write_awa1(folder: Path) -> Path:
    return write_awa(folder, decaf="images")


def write_awa2(folder: Path) -> Path:
    return write_awa(folder, ResNet101="text")


def write_cub(folder: Path, made=SMALL) -> Path:
    birds = [f"{i:03d}.{n.replace(' ', '_')}" for i, n in enumerate(made.names, 1)]
    attributes = folder / "attributes" / "class_attribute_labels_continuous.txt"
    attributes.parent.mkdir(parents=True)
    attributes.write_text(lines_of(100 * made.A))
    (folder / "classes.txt").write_text(numbered(birds))
    images = numbered(f"{birds[y]}/{i}.jpg" for i, y in enumerate(made.y))
    (folder / "images.txt").write_text(images)
    (folder / "image_class_labels.txt").write_text(numbered(made.y + 1))
    np.save(folder / "features.npy", made.X)
    if made is SMALL:
        (folder / "testclasses.txt").write_text("\n".join(birds[2:]))
    return folder


PLACES = ["a/abbey", "a/apse/indoor", "z/zoo", "a/apse/outdoor"]


def write_sun(folder: Path, made=SMALL) -> Path:
    folder.mkdir(parents=True)
    places = [f"{name[0]}/{name}" for name in made.names]
    if made is SMALL:
        places = PLACES
        (folder / "testclasses.txt").write_text("zoo\napse_outdoor\n")
        attributes = {"attributes": cells(["open", "dark", "old"])}
        scipy.io.savemat(folder / "attributes.mat", attributes)
    images = [f"{places[y]}/sun_{i}.jpg" for i, y in enumerate(made.y)]
    scipy.io.savemat(folder / "images.mat", {"images": cells(images)})
    values = made.A[made.y]
    if made is SMALL:
        values = values + np.where(np.arange(8) < 4, 0.25, -0.25)[:, None]
    scipy.io.savemat(folder / "attributeLabels_continuous.mat", {"labels_cv": values})
    (folder / "features.txt").write_text(lines_of(made.X))
    return folder


def small_set() -> ZeroShotData:
    names = pd.Index(NAMES)
    tables = {"att": pd.DataFrame(A, index=names), "twice": pd.DataFrame(2 * A, names)}
    return ZeroShotData(
        name="small",
        X=X.astype(np.float32),
        y=np.array(NAMES)[Y],
        class_embeddings=pd.concat(tables, axis=1),
        unseen=np.array(UNSEEN),
        seen_test=np.isin(np.arange(8), [4, 5]),
        feature_names=np.array(["red", "green", "blue"]),
        ids=np.array([f"{i}.jpg" for i in range(8)]),
    )


def write_npz_field(path: Path, y=Y) -> Path:
    path = path.with_suffix(".npz")
    np.savez(path, X=X, y=y, class_names=NAMES, att=A, unseen=[2, 3])
    return path


def write_folder(path: Path) -> Path:
    """Write the plain files; rows 5 and 6 are set aside."""
    path.mkdir()
    np.save(path / "features.npy", X)
    sides = ["test" if row in (4, 5) else "" for row in range(8)]
    rows = "".join(f"{NAMES[y]},{side}\n" for y, side in zip(Y, sides, strict=True))
    (path / "labels.csv").write_text(f"label,split\n{rows}")
    table = pd.DataFrame(A, columns=list("abc"))
    table.insert(0, "split", ["unseen" if n in UNSEEN else "seen" for n in NAMES])
    table.set_axis(NAMES).to_csv(path / "classes.csv", index_label="class")
    return path


def writer(suffix: str):
    return lambda path: save_data(small_set(), path.with_suffix(suffix))


# How each is written, and what it is recognised as.
LAYOUTS = {
    "own npz": (writer(".npz"), "NumPy archive"),
    "npz": (write_npz_field, "NumPy archive"),
    "hdf5": (writer(".h5"), "HDF5"),
    "csv": (writer(".csv"), "CSV"),
    "parquet": (writer(".parquet"), "CSV, Excel (.xlsx) or parquet"),
    "folder": (write_folder, "folder with features.npy"),
    "xlsa17": (write_xlsa17, "xlsa17 pair"),
    "xlsa17 7.3": (write_xlsa17_73, "xlsa17 pair"),
    "authors": (write_authors, "Train.mat and Test.mat"),
    "awa1": (write_awa1, "Animals with Attributes"),
    "awa2": (write_awa2, "Animals with Attributes"),
    "cub": (write_cub, "Caltech-UCSD Birds"),
    "sun": (write_sun, "SUN Attribute"),
}


def write_layout(kind: str, folder: Path) -> Path:
    """Write one layout into an empty folder and return what load_data takes."""
    return LAYOUTS[kind][0](folder / "set")
