"""``unseen data``: what is printed, and how it ends."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from tests.checks import invoke
from unseen.loading import load_data


def run(*args):
    return invoke("data", *args)


@pytest.fixture
def broken(tmp_path):
    """Write a folder with ten faults."""
    X = np.ones((7, 3), dtype=np.float32)
    X[2, 1], X[4] = np.nan, 0
    np.save(tmp_path / "features.npy", X)
    labels = "label\nant\nbee\nyak\ncow\nant\ncow\nfox\nfox\n"
    (tmp_path / "labels.csv").write_text(labels)
    (tmp_path / "classes.csv").write_text(
        "class,split,a,b\nant,seen,1,2\nbee,seen,0,0\ncow,unseen,3,\ndog,seen,3,1\n"
        "eel,unseen,1,2\nfox,seen,5,6\nfox,seen,5,7\n,unseen,8,9\n"
    )
    return tmp_path


def test_list_and_info(tmp_path):
    shown = run("list").stdout
    for word in ("photos", "xlsa17", "sun-707", "parquet", "HDF5"):
        assert word in shown
    answer = json.loads(run("list", "--json").stdout)
    assert "photos" in answer["bundled"] and ".npz" in answer["writable"]
    shown = run("info", "photos-200").stdout
    assert "rows                  1,200" in shown
    assert "class table           words: 256 dimensions" in shown


def test_check_names_all_ten_faults_in_one_run(broken):
    ended = run("check", broken)
    assert ended.exit_code == 1
    expected = [
        "features.npy, row 2: holds NaN or infinity",
        "features.npy, row 4: is all zeros",
        "labels.csv: has 8 labels for 7 rows",
        "classes.csv, rows 5, 6: names class 'fox' more than once",
        "classes.csv, row 7: has no name",
        "labels.csv, row 2: names 'yak', which is none of the 8 classes",
        "labels.csv, class 'dog': is seen but has no row",
        "classes.csv, class 'cow': holds NaN",
        "classes.csv, class 'bee': is all zeros",
        "classes.csv, class 'eel': has the embedding of 'ant'",
    ]
    *faults, last = ended.stdout.splitlines()
    assert len(faults) == len(expected) and last == f"{broken}: 10 faults."
    for fault, text in zip(faults, expected, strict=True):
        assert fault.startswith(text)
    answer = json.loads(run("check", broken, "--json").stdout)
    assert len(answer["faults"]) == 10


@pytest.fixture
def csv_and_table(tmp_path):
    rows = "label,f,g\nant,1,2\nant,1,3\nbee,3,1\nyak,0,1\ncow,1,1\n,1,0\n"
    (tmp_path / "rows.csv").write_text(rows)
    (tmp_path / "looks.csv").write_text("class,a,b\nant,1,0\nbee,0,1\ncow,1,1\n")
    (tmp_path / "more.csv").write_text("class,c\nant,1\nbee,2\ncow,3\n")
    return tmp_path / "rows.csv", tmp_path / "looks.csv", tmp_path / "more.csv"


def test_check_knows_the_classes_of_a_table_from_elsewhere(csv_and_table):
    rows, looks, _ = csv_and_table
    ended = run("check", rows, "--classes", looks)
    assert ended.exit_code == 1  # as unseen run will refuse it
    assert "row 3: names 'yak', which is none of the 3 classes" in ended.stdout
    rows.write_text(rows.read_text().replace("yak", "cow"))
    assert run("check", rows, "--classes", looks).stdout == f"{rows}: no faults.\n"
    ended = run("check", rows, "--classes", looks, "--unseen", "moa")
    assert ended.exit_code == 2 and "--unseen 'moa' names no class" in ended.stderr


def test_ids_of_rows_are_no_features_for_any_command(csv_and_table, tmp_path):
    rows, looks, _ = csv_and_table
    frame = pd.read_csv(rows).replace("yak", "cow")
    frame.insert(0, "ring", range(100, 106))
    frame.loc[1, "f"] = np.nan
    frame.to_csv(rows, index=False)
    words = [rows, "--classes", looks, "--id", "ring"]
    ended = invoke("run", *words, "--out", tmp_path / "l")
    _, _, command = ended.stderr.partition("unseen data ")  # it runs as it is printed
    ended = run(*shlex.split(command))
    assert ended.exit_code == 1 and "row 1: holds NaN" in ended.stdout
    assert "features              2" in run("info", *words).stdout


def test_info_counts_by_the_table_and_the_split_asked_for(csv_and_table):
    rows, looks, more = csv_and_table
    rows.write_text(rows.read_text().replace("yak", "cow"))
    options = ["--classes", looks, "--classes", more, "--unseen", "cow", "--json"]
    found = json.loads(run("info", rows, *options).stdout)
    assert (found["classes"], found["seen rows"], found["unseen rows"]) == (3, 3, 2)
    assert found["unlabelled rows"] == 1
    (table,) = found["tables"].values()
    assert table["dimensions"] == 3


def test_convert_chooses_tables_and_split(tmp_path):
    (tmp_path / "unseen.txt").write_text("dog\ntench\n")
    options = ["--classes", "words", "--unseen", tmp_path / "unseen.txt"]
    ended = run("convert", "photos-200", tmp_path / "D.parquet", *options)
    last = ended.stdout.splitlines()[-1]
    assert last.endswith(f"unseen data info {tmp_path / 'D.parquet'}"), ended.stderr
    data = load_data(tmp_path / "D.parquet")
    assert set(data.unseen) == {"dog", "tench"}
    assert data.class_embeddings.shape == (210, 256)


def test_fetch_states_licence_citation_and_trust(tmp_path, monkeypatch):
    from unseen.loading import fetch as module

    found = module.Fetched(tmp_path / "xlsa17", "ab" * 32, "first use")
    monkeypatch.setattr(module, "fetch", lambda *_args, **_options: found)
    ended = run("fetch", "xlsa17", "--out", tmp_path)
    assert ended.exit_code == 0
    assert "no checksum" in ended.stderr and "abab" in ended.stdout
    assert "Xian" in ended.stdout and "licence" in ended.stdout
