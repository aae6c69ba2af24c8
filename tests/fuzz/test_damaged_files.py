"""Damaged files of every kind: read, or refused in a sentence that names the file.

Never a hang, a crash, much memory or a raw error; and from a store of ours never other
numbers than were written. ``drive.py`` says how to run one case again.
"""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

for package in ("resource", "h5py", "pyarrow", "PIL"):  # memory is measured by POSIX
    pytest.importorskip(package)
drive = pytest.importorskip("drive")
mutations = pytest.importorskip("mutations")


def cases(total: int, first: int) -> list[tuple[int, list[int]]]:
    shares = enumerate(drive.shares(total))
    return [(place, list(range(first, first + n))) for place, n in shares]


def test_damage_is_the_same_for_the_same_seed_and_changes_the_content():
    content = b"label,a,b\n" + b"okapi,1,2\n" * 20
    changed = 0
    for seed in range(300):
        once, again = (mutations.mutate(content, random.Random(seed)) for _ in "ab")
        assert once == again
        changed += once != content
    assert changed > 250


def test_a_bad_refusal_is_told_from_a_good_one(tmp_path):
    good = ValueError(f"{tmp_path}/a.csv: line 3 has 2 fields. Give 3 in every line.")
    assert drive.judge(good, tmp_path) == ""
    bad = [
        KeyError(f"{tmp_path}/a.csv: line 3 has 2 fields"),
        ValueError("line 3 has 2 fields, but the first has 3"),
        ValueError(f"{tmp_path}/a.csv: line 3\nhas 2 fields. Give 3 in every line."),
        ValueError(f"{tmp_path}/a.csv: bad"),
    ]
    assert all(drive.judge(error, tmp_path) for error in bad)
    good.__cause__ = MemoryError()
    assert "memory" in drive.judge(good, tmp_path)


def test_a_few_hundred_damaged_files():
    found = drive.drive(cases(300, first=0), n_workers=1)
    assert not found["faults"], drive.report(found)
    assert sum(found["outcomes"].values()) >= 290


@pytest.mark.fuzz
def test_twenty_thousand_damaged_files():
    found = drive.drive(cases(20_500, first=1000))
    print(drive.report(found))
    assert not found["faults"], drive.report(found)
    assert sum(found["outcomes"].values()) >= 20_000
