"""Class embeddings from names: every form of file, averaged words, missing ones."""

import gzip
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from tests.checks import close
from unseen.loading import embed_names, load_data

VECTORS = {
    "the": [0.0, 0.5, 1.0],
    "bear": [1.0, 2.0, 3.0],
    "grizzly": [3.0, 0.0, 1.0],
    "killer_whale": [7.0, 7.0, 7.0],
    "Seal": [0.25, 0.5, -1.5],
    "new york": [9.0, 9.0, 9.0],
}


def write_glove(path, header=False):
    lines = [f"{word} {' '.join(map(str, v))}" for word, v in VECTORS.items()]
    if header:
        lines.insert(0, f"{len(VECTORS)} 3")
    path.write_text("\n".join(lines) + "\n")
    return path


def write_vec(path):
    return write_glove(path, header=True)


def write_zipped(path):
    path.write_bytes(gzip.compress(write_glove(path).read_bytes()))
    return path


@pytest.mark.parametrize("write", [write_glove, write_vec, write_zipped])
def test_names_are_looked_up_whole_then_by_word(write, tmp_path):
    names = ["Grizzly+bear", "killer whale", "001.Seal", "polar_bear", "okapi"]
    close(embed_names(["new york"], write(tmp_path / "all")).table, [[9, 9, 9]])
    table, missing = embed_names(names, write(tmp_path / "vectors"))
    assert table.index.tolist() == names[:4]
    close(table.loc["Grizzly+bear"], [2, 1, 2])
    close(table.loc["killer whale"], [7, 7, 7])
    close(table.loc["001.Seal"], [0.25, 0.5, -1.5])
    close(table.loc["polar_bear"], [1, 2, 3])
    assert missing == {"polar_bear": ["polar"], "okapi": ["okapi"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no word vectors"),
        (b"bear 1 2\nseal 1\n", "line 2 has 1 numbers, but there are 2 dimensions"),
        (b"bear 1 2\nseal 1 x\n", "damaged .*could not convert"),
        (b"5 3\nseal \0\0\0\0", "word2vec's binary form is not read"),
    ],
)
def test_what_is_no_file_of_vectors_is_refused(content, message, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        embed_names(["seal"], path)


def test_word_vectors_serve_as_class_table(tmp_path):
    path = write_glove(tmp_path / "glove.txt")
    np.savez(
        tmp_path / "zoo.npz",
        X=np.eye(3),
        y=[0, 1, 2],
        class_names=["grizzly+bear", "Seal", "killer+whale"],
        att=np.eye(3),
        unseen=[2],
    )
    data = load_data(tmp_path / "zoo.npz", classes=["att", str(path)])
    assert data.tables == ("att", "glove")
    close(data.class_embeddings.loc["killer+whale", "glove"], 7)
    rows = pd.DataFrame({"label": ["okapi", "Seal"], "a": [1.0, 2]})
    with pytest.raises(ValueError, match="has no vector for okapi"):
        load_data(rows, classes=path)


def test_a_large_file_is_streamed(tmp_path):
    path = tmp_path / "vectors"
    with open(path, "wb") as file:
        for word in range(2_000):
            file.write(f"word{word}".encode() + b" 0.123456" * 300 + b"\n")
    tracemalloc.start()
    try:
        table, missing = embed_names(["word7 word1999", "no"], path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert table.shape == (1, 300) and list(missing) == ["no"]
    assert most < path.stat().st_size / 2
