"""The journal: nothing that was called saved is lost, nothing damaged is believed."""

import json
import os
import subprocess
import sys

import pytest

from unseen.review.journal import DamagedJournalError, Journal, read_journal


def said(i):
    return {"op": "label", "ids": [f"{i}.jpg"], "label": "cat"}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Journal(path) as journal:
        for i in range(5):
            journal.append([said(i)])
    return path


def test_entries_are_numbered_and_come_back(path):
    entries = read_journal(path)
    assert [entry["seq"] for entry in entries] == [1, 2, 3, 4, 5]
    assert entries[2]["ids"] == ["2.jpg"]
    with Journal(path) as journal:
        journal.append([said(5), said(6)])
    assert [entry["seq"] for entry in read_journal(path)] == list(range(1, 8))


def test_a_journal_cut_at_any_byte_keeps_every_whole_line(path):
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        n = sum(end <= cut for end in ends)
        assert len(read_journal(path)) == n
        if cut % 7 == 0:
            with Journal(path) as journal:
                journal.append([said(9)])
            again = read_journal(path)
            assert len(again) == n + 1 and again[-1]["ids"] == ["9.jpg"]


def test_a_changed_line_is_noticed(path):
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"1.jpg", b"7.jpg"))
    with pytest.raises(DamagedJournalError, match="line 2 is not what was written"):
        read_journal(path)


def test_a_lost_line_is_noticed(path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1] + lines[2:]))
    with pytest.raises(DamagedJournalError, match="line 2"):
        Journal(path)


def test_two_programs_do_not_write_one_journal(path):
    code = f"from unseen.review.journal import Journal; Journal({str(path)!r})"
    with Journal(path):
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True
        )
    assert run.returncode and "another unseen review" in run.stderr


def test_an_answer_that_does_not_fit_on_the_disk_leaves_whole_lines(path, monkeypatch):
    real = os.fsync

    def full(number):
        raise OSError(28, "No space left on device")

    with Journal(path) as journal:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            journal.append([said(5)])
        monkeypatch.setattr(os, "fsync", real)
        journal.append([said(6)])
        assert len(journal.entries) == 6
    assert [entry["ids"][0] for entry in read_journal(path)][-1] == "6.jpg"


def test_names_of_any_bytes_come_back(tmp_path):
    odd = "caf\udce9 \n\u2028.jpg"
    with Journal(tmp_path / "j") as journal:
        journal.append([{"op": "label", "ids": [odd], "label": "<script>"}])
    (entry,) = read_journal(tmp_path / "j")
    assert entry["ids"] == [odd] and entry["label"] == "<script>"
    for line in (tmp_path / "j").read_bytes().splitlines():
        json.loads(line)
