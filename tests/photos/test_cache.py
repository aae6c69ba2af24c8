"""What was encoded once is found again by its content."""

import errno
import os

import numpy as np
import pytest

from unseen import _shards
from unseen._places import cache_folder
from unseen.photos import cache as cache_module
from unseen.photos.cache import FeatureCache


def digests(n, start=0):
    return [i.to_bytes(32, "big") for i in range(start, start + n)]


def rows(n, start=0):
    return np.arange(start, start + n, dtype=np.float32)[:, None] + np.zeros(6)


def pictures(n):
    return [b"x" * (i % 5) for i in range(n)]


def test_rows_come_back_in_any_order_and_with_repeats(colours, tmp_path, monkeypatch):
    monkeypatch.setattr(cache_module, "BLOCK", 7)
    monkeypatch.setattr(cache_module, "SHARD", 16)
    cache = FeatureCache(colours, tmp_path)
    for start in range(0, 60, 4):
        cache.add(digests(4, start), rows(4, start), pictures(4))
    order = np.random.default_rng(0).integers(0, 60, 100)
    again = FeatureCache(colours, tmp_path)
    assert len(again) < len(cache) == 60  # the last few were not flushed yet
    cache.flush()
    again = FeatureCache(colours, tmp_path)
    got = again.features([digests(1, i)[0] for i in order])
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got[:, 0], order)
    assert [again.thumbnail(d) for d in digests(8)] == pictures(4) * 2
    assert [len(block) for block in again.blocks(digests(20))] == [7, 7, 6]
    assert again.features([]).shape == (0, 6)


def test_encoders_and_versions_do_not_mix(colours, tmp_path):
    cache = FeatureCache(colours, tmp_path)
    cache.add(digests(1), rows(1), [b""])
    cache.flush()
    colours.version = "2"
    assert digests(1)[0] not in FeatureCache(colours, tmp_path)


def filled(colours, tmp_path, n=3):
    cache = FeatureCache(colours, tmp_path)
    cache.add(digests(n), rows(n), pictures(n))
    cache.flush()
    (shard,) = cache.folder.glob("*.safetensors")
    return shard


def harmed(content, harm):
    if harm == "cut":
        return content[:-10]
    if harm == "empty":
        return b""
    place = {"header": 20, "digests": len(content) // 2, "numbers": -8}[harm]
    spoiled = bytearray(content)
    spoiled[place] ^= 64
    return bytes(spoiled)


@pytest.mark.parametrize("harm", ["cut", "empty", "header", "digests", "numbers"])
def test_a_shard_that_fails_its_checksum_is_set_aside(colours, tmp_path, harm):
    shard = filled(colours, tmp_path)
    content = harmed(shard.read_bytes(), harm)
    shard.write_bytes(content)
    with pytest.warns(UserWarning, match=r"checksum and is set aside .*encoded again"):
        again = FeatureCache(colours, tmp_path)
        assert not any(digest in again for digest in digests(3))
    assert not shard.exists()
    assert shard.with_name(f"{shard.name}.damaged").read_bytes() == content
    again.add(digests(3), rows(3), pictures(3))
    assert FeatureCache(colours, tmp_path).features([]).shape == (0, 6)
    np.testing.assert_array_equal(again.features(digests(3)), rows(3))


@pytest.mark.filterwarnings("ignore:.*set aside")
def test_every_flipped_bit_of_a_shard_is_noticed(colours, tmp_path):
    shard = filled(colours, tmp_path)
    content = shard.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(8 * len(content), 100, replace=False):
        spoiled = bytearray(content)
        spoiled[place // 8] ^= 1 << place % 8
        shard.write_bytes(spoiled)
        again = FeatureCache(colours, tmp_path)
        assert not any(digest in again for digest in digests(3)), place


@pytest.mark.parametrize("number", [errno.ENOMEM, errno.EMFILE, errno.EIO])
@pytest.mark.parametrize("when", ["taking up", "reading"])
def test_what_cannot_be_read_now_is_left_alone(
    colours, tmp_path, monkeypatch, number, when
):
    shard = filled(colours, tmp_path)
    content = shard.read_bytes()

    def fails(*_):
        raise OSError(number, os.strerror(number))

    where = "read_digests" if when == "taking up" else "read_kept"
    with monkeypatch.context() as patch:
        patch.setattr(_shards, where, fails)
        with pytest.warns(UserWarning, match=rf"left .*{os.strerror(number)}"):
            assert digests(1)[0] not in FeatureCache(colours, tmp_path)
    assert shard.read_bytes() == content
    assert digests(1)[0] in FeatureCache(colours, tmp_path)


def test_features_of_another_size_are_left_alone(colours, tmp_path):
    shard = filled(colours, tmp_path)
    colours.dimension = 7
    with pytest.warns(UserWarning, match=r"needs another version"):
        assert digests(1)[0] not in FeatureCache(colours, tmp_path)
    assert shard.exists()


def test_a_shard_that_changes_while_in_use_is_an_error(colours, tmp_path):
    shard = filled(colours, tmp_path)
    cache = FeatureCache(colours, tmp_path)
    assert digests(1)[0] in cache
    cache._read.cache_clear()
    shard.write_bytes(harmed(shard.read_bytes(), "numbers"))
    with pytest.raises(ValueError, match="SHA-256"):
        cache.features(digests(3))


def test_only_the_user_may_look_into_the_cache(colours, tmp_path, monkeypatch):
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "made" / "cache"))
    folders = [FeatureCache(colours).folder, cache_folder("graphs")]
    folders += [tmp_path / "made", tmp_path / "made" / "cache"]
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}
    folders[0].chmod(0o755)  # as an older run may have left it
    assert FeatureCache(colours).folder.stat().st_mode & 0o777 == 0o700


def test_two_runs_at_once_add_up(colours, tmp_path):
    one, two = FeatureCache(colours, tmp_path), FeatureCache(colours, tmp_path)
    one.add(digests(3), rows(3), pictures(3))
    two.add(digests(3, 2), rows(3, 2), pictures(3))
    one.flush(), two.flush()
    both = FeatureCache(colours, tmp_path)
    np.testing.assert_array_equal(both.features(digests(5))[:, 0], np.arange(5))
