"""What was encoded once is found again by its content."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("harm", ["cut", "empty", "other"])
def test_a_damaged_shard_is_removed_with_a_warning(colours, tmp_path, harm):
    cache = FeatureCache(colours, tmp_path)
    cache.add(digests(3), rows(3), pictures(3))
    cache.flush()
    (shard,) = cache.folder.glob("*.safetensors")
    if harm == "other":
        colours.dimension = 7  # as if the parts were of different sizes
    else:
        shard.write_bytes(shard.read_bytes()[:-10] if harm == "cut" else b"")
    with pytest.warns(UserWarning, match=r"damaged and is removed .* encoded again"):
        assert len(FeatureCache(colours, tmp_path)) == 0
    assert not shard.exists()


def test_two_runs_at_once_add_up(colours, tmp_path):
    one, two = FeatureCache(colours, tmp_path), FeatureCache(colours, tmp_path)
    one.add(digests(3), rows(3), pictures(3))
    two.add(digests(3, 2), rows(3, 2), pictures(3))
    one.flush(), two.flush()
    both = FeatureCache(colours, tmp_path)
    np.testing.assert_array_equal(both.features(digests(5))[:, 0], np.arange(5))
