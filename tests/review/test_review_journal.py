"""The journal: nothing that was called saved is lost, nothing damaged is believed."""

import json
import os
from contextlib import closing

import pytest

from unseen.review.journal import Journal, read_journal

HEAD = {"table": "3f0a"}


def answer(i):
    return {"op": "label", "ids": [f"{i}.jpg"], "label": "cat"}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "answers.jsonl"
    with closing(Journal(path, HEAD)) as journal:
        for i in range(5):
            journal.append([answer(i)])
    return path


def test_entries_are_numbered_and_come_back(path):
    entries = read_journal(path)[1]
    assert [entry["seq"] for entry in entries] == [1, 2, 3, 4, 5]
    assert entries[2]["ids"] == ["2.jpg"]
    with closing(Journal(path, {"table": "another"})) as journal:
        journal.append([answer(5), answer(6)])
    head, entries, torn = read_journal(path)
    assert [entry["seq"] for entry in entries] == list(range(1, 8))
    assert head == HEAD and not torn


def test_a_journal_cut_at_any_byte_keeps_every_whole_line(path):
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        n = sum(end <= cut for end in ends[1:])  # the first line is not an answer
        assert len(read_journal(path)[1]) == n
        if cut % 7 == 0:
            with closing(Journal(path, HEAD)) as journal:
                assert bool(journal.torn) == (cut > 0 and cut not in ends)
                journal.append([answer(9)])
            again = read_journal(path)[1]
            assert len(again) == n + 1 and again[-1]["ids"] == ["9.jpg"]


@pytest.mark.parametrize("line", [b'{"op":"label"}\n', b"nonsense\n", b'{"seq":6,"o'])
def test_a_bad_last_line_is_set_aside(path, line):
    whole = path.read_bytes()
    for _ in range(2):
        path.write_bytes(whole + line)
        with closing(Journal(path, HEAD)) as journal:
            assert journal.torn and len(journal.entries) == 5
    assert path.read_bytes() == whole
    assert path.with_suffix(".torn").read_bytes() == 2 * line


FORGED = [
    {"op": "teach", "file": "/any/table.csv"},
    {"op": "teach", "file": "taught-1.csv/../../labels.csv"},
    {"op": "teach", "file": ["taught-1.csv"]},
    {"op": "teach"},
    {"op": "label", "ids": "a.jpg", "label": "cat"},
    {"op": "label", "ids": [1], "label": "cat"},
    {"op": "label", "ids": ["a"], "label": {}},
    {"op": "label", "ids": ["a"], "label": "\ud800"},
    {"op": "label", "ids": ["a"], "label": "x" * 201},
    {"op": "rename", "old": "cat", "new": ""},
    {"op": "undo", "of": 9},
    {"op": "undo", "of": "1"},
    {"op": "undo", "of": [1]},
    {"op": "label", "ids": ["a"], "label": "cat", "uid": ["x"]},
    {"op": "label", "ids": ["a"], "label": "cat", "tab": {}},
    {"op": ["label"]},
    {},
    [1],
    7,
]


@pytest.mark.parametrize("forged", FORGED, ids=json.dumps)
def test_a_forged_line_is_no_answer(path, forged):
    lines = path.read_bytes().splitlines(keepends=True)
    numbered = {"seq": 2} | forged if isinstance(forged, dict) else forged
    lines[2] = json.dumps(numbered).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(ValueError, match="line 3 is not an answer"):
        Journal(path, HEAD)


def test_a_lost_line_is_noticed(path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    with pytest.raises(ValueError, match="line 3"):
        Journal(path, HEAD)


def test_an_answer_that_does_not_fit_on_the_disk_leaves_whole_lines(path, monkeypatch):
    real = os.fsync

    def full(number):
        raise OSError(28, "No space left on device")

    with closing(Journal(path, HEAD)) as journal:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            journal.append([answer(5)])
        monkeypatch.setattr(os, "fsync", real)
        journal.append([answer(6)])
        assert len(journal.entries) == 6
    assert [entry["ids"][0] for entry in read_journal(path)[1]][-1] == "6.jpg"
