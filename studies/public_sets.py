"""Build cub_vgg.npz and awa1_shallow.npz, which most numbers of the pages are from.

    python studies/public_sets.py cub --features bird-2011/vgg --words glove.6B.100d.txt
        --tables class_attribute_labels_continuous.txt --sentences sent_splits.mat
    python studies/public_sets.py awa --features code/feat --words words.mat
        --tables Animals_with_Attributes

``docs/paper.md`` says where each file is from. It is not known which word vectors
``glove_100`` were (taken are those of GloVe 6B, averaged over the words of a name), nor
which file had the animals' (taken is any with 1,000 numbers for each class).
"""

from __future__ import annotations

import argparse
import bz2
import pickle
from pathlib import Path

import numpy as np
import scipy.io
from sklearn.decomposition import PCA

from unseen.loading import embed_names, standard_splits

HISTOGRAMS = ("phog", "sift", "surf", "rgsift", "lss")
N_AXES = 768


def build_cub(features: Path, tables: Path, sentences: Path, words: Path) -> dict:
    """Read fc7 of every class's file, and the tables that describe the classes."""
    files = sorted(features.glob("[0-9]*.mat"))  # 001.Black_footed_Albatross.mat
    names = [file.stem.split(".", 1)[1].replace("_", " ") for file in files]
    rows = [scipy.io.loadmat(file)["fc7"] for file in files]
    percent = np.loadtxt(tables, ndmin=2)
    seen, unseen = split_of(names, "cub-ps")
    return {
        "X": np.concatenate(rows).astype(np.float16),
        "y": np.repeat(np.arange(len(rows)), [len(own) for own in rows]),
        "class_names": np.array(names),
        "att_312": of_unit_length(percent).astype(np.float32),
        "att_312_raw": percent.astype(np.float32),
        "sent_1024": scipy.io.loadmat(sentences)["att"].T.astype(np.float32),
        "glove_100": embed_names(names, words).table.to_numpy(np.float32),
        "ps_seen": seen,
        "ps_unseen": unseen,
    }


def build_awa(features: Path, tables: Path, words: Path) -> dict:
    """Read the histograms of every class; square roots, axes of the seen classes."""
    lines = (tables / "classes.txt").read_text().splitlines()
    names = [line.split()[1] for line in lines]
    rows = [histograms(features, name) for name in names]
    y = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    X, (seen, unseen) = np.concatenate(rows), split_of(names, "awa")
    labelled = X[np.isin(y, seen)]
    axes = PCA(min(N_AXES, *labelled.shape), svd_solver="covariance_eigh").fit(labelled)
    binary = np.loadtxt(tables / "predicate-matrix-binary.txt", ndmin=2)
    return {
        "X": axes.transform(X).astype(np.float16),
        "y": y,
        "class_names": np.array(names),
        "att_continuous": np.loadtxt(
            tables / "predicate-matrix-continuous.txt", dtype=np.float32, ndmin=2
        ),
        "att_binary": binary.astype(np.uint8),
        "wordvec_1000": a_row_per_class(words, len(names)).astype(np.float32),
        "seen": seen,
        "unseen": unseen,
    }


def histograms(folder: Path, name: str) -> np.ndarray:
    """Return the histograms of a class side by side, as square roots of shares."""
    kinds = []
    for kind in HISTOGRAMS:
        with bz2.open(folder / f"{name}-{kind}.pic.bz2") as file:
            counts = np.asarray(OnlyArrays(file, encoding="latin1").load(), dtype=float)
        totals = counts.sum(axis=1, keepdims=True)
        kinds.append(np.sqrt(counts / np.where(totals > 0, totals, 1)))
    return np.hstack(kinds)


class OnlyArrays(pickle.Unpickler):
    """The histograms are pickles of strangers: nothing but arrays may come of them."""

    def find_class(self, module: str, name: str):
        """Return what makes an array, and refuse all else."""
        makers = {"_reconstruct", "ndarray", "dtype", "scalar", "encode"}
        if module.split(".")[0] in ("numpy", "_codecs") and name in makers:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"A histogram wants {module}.{name}.")


def a_row_per_class(path: Path, n_classes: int) -> np.ndarray:
    """Return the array of a .mat file that has 1,000 numbers for each class."""
    for array in scipy.io.loadmat(path).values():
        for one in (array, getattr(array, "T", None)):
            if getattr(one, "shape", None) == (n_classes, 1000):
                return one
    raise ValueError(f"{path} has no array of {n_classes} x 1,000.")


def split_of(names: list[str], split: str) -> tuple[np.ndarray, np.ndarray]:
    """Return which classes are seen, and which unseen, by their numbers."""
    unseen = np.isin(names, standard_splits()[split].unseen)
    return np.flatnonzero(~unseen), np.flatnonzero(unseen)


def of_unit_length(table: np.ndarray) -> np.ndarray:
    """Return rows of length 1."""
    return table / np.linalg.norm(table, axis=1, keepdims=True)


def main(words: list[str] | None = None) -> None:
    """Write one of the sets into a folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("set", choices=["cub", "awa"])
    for name in ("features", "tables", "words"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--sentences", type=Path, help="of cub")
    parser.add_argument("--out", type=Path, default=Path("."))
    given = parser.parse_args(words)
    files = {"features": given.features, "tables": given.tables, "words": given.words}
    if given.set == "cub":
        name, arrays = "cub_vgg", build_cub(**files, sentences=given.sentences)
    else:
        name, arrays = "awa1_shallow", build_awa(**files)
    with open(given.out / f"{name}.npz", "xb") as file:  # never over another
        np.savez_compressed(file, **arrays)
    print(f"{name}.npz: {', '.join(f'{k} {v.shape}' for k, v in arrays.items())}")


if __name__ == "__main__":
    main()
