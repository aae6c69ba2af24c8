"""What encoders made, in one file: found again, kept apart, never in the way."""

import os
import subprocess
import sys

import numpy as np
import pytest

from unseen.cache import NAME, Cache

KEYS = [i.to_bytes(32, "big") for i in range(1200)]
ROWS = np.arange(3600, dtype=np.float32).reshape(1200, 3) / 7


def filled(folder):
    cache = Cache("small-1", folder)
    cache.add(KEYS, ROWS, [b"jpeg%d" % i for i in range(1200)])
    return cache


def test_rows_come_back_in_any_order_and_with_repeats(tmp_path):
    filled(tmp_path)
    again = Cache("small-1", tmp_path)
    order = np.random.default_rng(0).integers(0, 1200, 2000)
    found = again.vectors([KEYS[i] for i in order])
    np.testing.assert_array_equal(found, ROWS[order])
    assert again.picture(KEYS[7]) == b"jpeg7" and again.picture(b"none") == b""
    assert again.known([*KEYS, b"none"]) == set(KEYS)
    assert again.vectors([]).shape[0] == 0


def test_spaces_do_not_mix(tmp_path):
    filled(tmp_path)
    other = Cache("small-2", tmp_path)
    assert other.known(KEYS) == set()
    other.add(KEYS[:1], [[9.0]])
    first = Cache("small-1", tmp_path).vectors(KEYS[:1])
    np.testing.assert_array_equal(first, ROWS[:1])


def test_what_was_added_outlives_a_killed_run(tmp_path):
    script = (
        "import os, sys; import numpy as np; from unseen.cache import Cache\n"
        "Cache('small-1', sys.argv[1]).add([b'a'], np.ones((1, 3)))\nos._exit(9)"
    )
    here = Cache("small-1", tmp_path)  # another run, at the same time
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)])
    assert ended.returncode == 9 and here.known([b"a"]) == {b"a"}


def test_a_file_that_is_no_cache_is_set_aside(tmp_path):
    (tmp_path / NAME).write_bytes(b"Dear diary, " * 1000)
    with pytest.warns(UserWarning, match="is damaged .*renamed"):
        cache = Cache("small-1", tmp_path)
    cache.add(KEYS[:1], ROWS[:1])
    assert (tmp_path / f"{NAME}.damaged").read_bytes().startswith(b"Dear diary")


def test_damage_inside_ends_in_a_sentence(tmp_path):
    filled(tmp_path)
    path = tmp_path / NAME
    content = bytearray(path.read_bytes())
    content[4096 * 8 :] = os.urandom(len(content) - 4096 * 8)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged .* Delete it"):
        for key in KEYS:
            Cache("small-1", tmp_path).vectors([key])


@pytest.mark.skipif(os.name == "nt", reason="another system of permissions")
def test_only_the_user_may_look_into_the_cache(tmp_path):
    filled(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new" / NAME).stat().st_mode & 0o777 == 0o600


def test_where_nothing_can_be_written_the_run_goes_on(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.warns(UserWarning, match="nothing is kept there"):
        cache = filled(tmp_path / "file")
    np.testing.assert_array_equal(cache.vectors(KEYS[:2]), ROWS[:2])
