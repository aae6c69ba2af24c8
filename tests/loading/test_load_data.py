"""load_data finds the reader; the bundled digits are what they say."""

import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

from unseen.loading import load_data, load_digits_attributes, reader
from unseen.loading.parts import RawData, readers


def test_a_missing_file_is_named_with_the_bundled_sets(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*cub.npz.*digits"):
        load_data(tmp_path / "cub.npz")


@pytest.mark.parametrize("content", [b"", b"P", b"a line\n", b"\x93NUMPY"])
def test_unknown_content_is_refused_with_the_kinds(tmp_path, content):
    with pytest.raises(ValueError, match="none of the kinds"):
        load_data(tmp_path)
    path = tmp_path / "set.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"none of the kinds .*NumPy archive"):
        load_data(path)


def test_a_new_reader_is_one_decorator(tmp_path):
    path = tmp_path / "set.txt"
    path.write_text("digits, please")

    @reader("a polite request", recognises=lambda path: path.suffix == ".txt")
    def read(path):
        return RawData.of(load_digits_attributes())

    try:
        assert load_data(path, classes="strokes").tables == ("strokes",)
    finally:
        readers.pop()


def test_the_name_of_a_bundled_set_wins_over_a_file_but_a_path_does_not(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").write_text("not a data set")
    assert load_data("digits").n_classes == 10
    with pytest.raises(ValueError, match="none of the kinds"):
        load_data("./digits")


def test_digits_are_the_images_of_sklearn():
    data = load_data("digits")
    assert_array_equal(data.X * 16, load_digits().data)
    assert_array_equal(data.y.astype(int), load_digits().target)
