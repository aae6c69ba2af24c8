"""The real layouts in small, made by hand: each writes a set and says what is in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.io

from unseen.data import ZeroShotData
from unseen.loading import save_data

NAMES = ["antelope", "grizzly+bear", "killer+whale", "rat"]
A = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.5], [0.0, 0.3, 1.0], [0.5, 0.5, 0.25]])
X = np.arange(24, dtype=np.float64).reshape(8, 3) / 7 + 1
Y = np.array([0, 1, 2, 3, 0, 1, 2, 3])
UNSEEN = ["killer+whale", "rat"]


def cells(names) -> np.ndarray:
    """Make a cell array of text, as savemat understands it."""
    array = np.empty((len(names), 1), dtype=object)
    array[:, 0] = names
    return array


def xlsa17_parts() -> tuple[dict, dict]:
    """Rows 5 and 6 (from 1) are set aside: test_seen."""
    features = {"features": X.T, "labels": (Y + 1.0)[:, None]}
    splits = {
        "allclasses_names": cells(NAMES),
        "att": A.T / np.linalg.norm(A, axis=1),
        "original_att": 100 * A.T,
        "trainval_loc": np.array([[1.0], [2]]),
        "train_loc": np.array([[1.0]]),
        "val_loc": np.array([[2.0]]),
        "test_seen_loc": np.array([[5.0], [6]]),
        "test_unseen_loc": np.array([[3.0], [4], [7], [8]]),
    }
    return features, splits


def write_xlsa17(folder: Path, save=scipy.io.savemat, **changed) -> Path:
    """Write the pair; variables of either file may be changed."""
    folder.mkdir(exist_ok=True)
    for name, parts in zip(("res101", "att_splits"), xlsa17_parts(), strict=True):
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
    return write_xlsa17(folder, write_matlab_73, **changed)


def write_authors(folder: Path) -> Path:
    folder.mkdir()
    train = {
        "im_fea": X[[0, 4, 1, 5]].T,
        "semantic_fea": A[[0, 0, 1, 1]].T,
        "cla_num": np.array([[2.0], [2]]),
    }
    test = {
        "im_fea": X[[2, 6, 3, 7]].T,
        "semantic_uni": A[[2, 3]].T,
        "cla_num": np.array([[2.0], [2]]),
        "index": np.array([[1.0], [1], [2], [2]]),
    }
    scipy.io.savemat(folder / "Train.mat", train)
    scipy.io.savemat(folder / "Test.mat", test)
    return folder


def write_awa_base(folder: Path) -> Path:
    folder.mkdir()
    numbered = "".join(f"{i:>3}\t{name}\n" for i, name in enumerate(NAMES, 1))
    (folder / "classes.txt").write_text(numbered)
    (folder / "predicates.txt").write_text("  1\tblack\n  2\twhite\n  3\tswims\n")
    for kind, values in {"continuous": 100 * A, "binary": A > 0.4}.items():
        lines = "".join(" ".join(f"{v:g}" for v in row) + "\n" for row in values * 1.0)
        (folder / f"predicate-matrix-{kind}.txt").write_text(lines)
    seen = [name for name in NAMES if name not in UNSEEN]
    (folder / "trainclasses.txt").write_text("\n".join(seen) + "\n")
    (folder / "testclasses.txt").write_text("\n".join(UNSEEN) + "\n")
    return folder


def lines_of(rows) -> str:
    return "".join(" ".join(repr(float(v)) for v in row) + "\n" for row in rows)


def write_awa2(folder: Path) -> Path:
    write_awa_base(folder)
    place = folder / "Features" / "ResNet101"
    place.mkdir(parents=True)
    (place / "AwA2-features.txt").write_text(lines_of(X))
    (place / "AwA2-labels.txt").write_text("".join(f"{y + 1}\n" for y in Y))
    files = [f"{NAMES[y]}_1000{i}.jpg\n" for i, y in enumerate(Y)]
    (place / "AwA2-filenames.txt").write_text("".join(files))
    return folder


def write_awa1(folder: Path) -> Path:
    write_awa_base(folder)
    for row, label in enumerate(Y):
        place = folder / "Features" / "decaf" / NAMES[label]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{NAMES[label]}_{row:04d}.txt").write_text(lines_of(X[[row]]))
    return folder


def write_cub(folder: Path) -> Path:
    folder.mkdir()
    birds = [f"{i:03d}.{name}" for i, name in enumerate(CUB_NAMES, 1)]
    (folder / "classes.txt").write_text(
        "".join(f"{i} {b}\n" for i, b in enumerate(birds, 1))
    )
    images = "".join(f"{i} {birds[y]}/{i}.jpg\n" for i, y in enumerate(Y, 1))
    (folder / "images.txt").write_text(images)
    labels = "".join(f"{i} {y + 1}\n" for i, y in enumerate(Y, 1))
    (folder / "image_class_labels.txt").write_text(labels)
    (folder / "attributes").mkdir()
    attributes = folder / "attributes" / "class_attribute_labels_continuous.txt"
    attributes.write_text(lines_of(100 * A))
    np.save(folder / "features.npy", X.astype(np.float32))
    (folder / "testclasses.txt").write_text(f"{birds[2]}\n{birds[3]}\n")
    return folder


CUB_NAMES = ["Black_footed_Albatross", "Laysan_Albatross", "Sooty_Albatross", "Auk"]


def write_sun(folder: Path) -> Path:
    folder.mkdir()
    places = ["a/abbey", "a/apse/indoor", "z/zoo", "a/apse/outdoor"]
    images = [f"{places[y]}/sun_{i}.jpg" for i, y in enumerate(Y)]
    scipy.io.savemat(folder / "images.mat", {"images": cells(images)})
    attributes = {"attributes": cells(["open", "dark", "old"])}
    scipy.io.savemat(folder / "attributes.mat", attributes)
    values = A[Y] + np.where(np.arange(8) < 4, 0.25, -0.25)[:, None]
    scipy.io.savemat(folder / "attributeLabels_continuous.mat", {"labels_cv": values})
    np.save(folder / "features.npy", X)
    (folder / "testclasses.txt").write_text("zoo\napse_outdoor\n")
    return folder


def small_set() -> ZeroShotData:
    import pandas as pd

    names = pd.Index(NAMES)
    tables = {"att": pd.DataFrame(A, index=names), "twice": pd.DataFrame(2 * A, names)}
    return ZeroShotData(
        name="small",
        X=X.astype(np.float32),
        y=np.array(NAMES)[Y],
        class_embeddings=pd.concat(tables, axis=1),
        unseen=np.array(UNSEEN),
        seen_test=np.isin(np.arange(8), [4, 5]),
    )


def write_npz_field(path: Path) -> Path:
    path = path.with_suffix(".npz")
    unseen = [NAMES.index(name) for name in UNSEEN]
    np.savez(path, X=X, y=Y, class_names=NAMES, att=A, unseen=unseen)
    return path


def write_folder(path: Path) -> Path:
    """Write the plain files; rows 5 and 6 are set aside."""
    path.mkdir()
    np.save(path / "features.npy", X)
    sides = ["test" if row in (4, 5) else "" for row in range(8)]
    rows = "".join(f"{NAMES[y]},{side}\n" for y, side in zip(Y, sides, strict=True))
    (path / "labels.csv").write_text(f"label,split\n{rows}")
    sides = ["unseen" if name in UNSEEN else "seen" for name in NAMES]
    numbers = lines_of(A).replace(" ", ",").splitlines()
    rows = zip(NAMES, sides, numbers, strict=True)
    lines = ["class,split,a,b,c", *(",".join(row) for row in rows)]
    (path / "classes.csv").write_text("\n".join(lines))
    return path


def writer(suffix: str):
    return lambda path: save_data(small_set(), path.with_suffix(suffix))


LAYOUTS = {
    "own npz": writer(".npz"),
    "npz": write_npz_field,
    "hdf5": writer(".h5"),
    "csv": writer(".csv"),
    "parquet": writer(".parquet"),
    "folder": write_folder,
    "xlsa17": write_xlsa17,
    "xlsa17 7.3": write_xlsa17_73,
    "authors": write_authors,
    "awa1": write_awa1,
    "awa2": write_awa2,
    "cub": write_cub,
    "sun": write_sun,
}


def write_layout(kind: str, folder: Path) -> Path:
    """Write one layout into an empty folder and return what load_data takes."""
    return LAYOUTS[kind](folder / "set")
