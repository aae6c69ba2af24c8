"""HDF5 and MATLAB 7.3: never other files, never more than is stored."""

import numpy as np
import pytest
from layouts import NAMES, A, X, Y, write_xlsa17_73
from numpy.testing import assert_array_equal

from unseen.loading import load_data

h5py = pytest.importorskip("h5py")


def write_set(path, **changed):
    """Write the small set; a changed array may be a function of file and key."""
    arrays = {"X": X, "y": Y, "class_names": NAMES, "att": A, "unseen": [2, 3]}
    with h5py.File(path, "w") as file:
        for key, value in {**arrays, **changed}.items():
            if callable(value):
                value(file, key)
            else:
                file[key] = value
    return path


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.h5"
    with h5py.File(path, "w") as file:
        file["X"] = X
        file["inner/X"] = X
    (tmp_path / "secret.bin").write_bytes(X.tobytes())
    return path


def external_link(file, key):
    file[key] = h5py.ExternalLink("secret.h5", "/X")


def soft_link_through_an_external_one(file, key):
    file["door"] = h5py.ExternalLink("secret.h5", "/inner")
    file[key] = h5py.SoftLink("/door/X")


def raw_storage(file, key):
    outside = [("secret.bin", 0, X.nbytes)]
    file.create_dataset(key, X.shape, "f8", external=outside)


def virtual(file, key):
    layout = h5py.VirtualLayout(X.shape, "f8")
    layout[:] = h5py.VirtualSource("secret.h5", "X", shape=X.shape)
    file.create_virtual_dataset(key, layout)


@pytest.mark.parametrize(
    "outside", [external_link, soft_link_through_an_external_one, raw_storage, virtual]
)
def test_numbers_in_another_file_are_refused(tmp_path, secret, outside):
    path = write_set(tmp_path / "set.h5", X=outside)
    with pytest.raises(ValueError, match=r"set\.h5:? .*other file"):
        load_data(path)


@pytest.mark.parametrize("outside", [external_link, virtual])
def test_matlab_variables_in_another_file_are_refused(tmp_path, secret, outside):
    folder = write_xlsa17_73(tmp_path / "set")
    (tmp_path / "secret.h5").rename(folder / "secret.h5")
    (tmp_path / "secret.bin").rename(folder / "secret.bin")
    with h5py.File(folder / "res101.mat", "a") as file:
        del file["features"]
        outside(file, "features")
    with pytest.raises(ValueError, match=r"res101\.mat:? .*other file"):
        load_data(folder)


def test_a_class_name_is_never_the_content_of_another_file(tmp_path):
    folder = write_xlsa17_73(tmp_path / "set")
    (tmp_path / "passwords").write_bytes(b"root:x:0:0\n" * 9)
    with h5py.File(folder / "att_splits.mat", "a") as file:
        outside = [(str(tmp_path / "passwords"), 0, 40)]
        cell = file.create_dataset("#refs#/stolen", (20, 1), "u2", external=outside)
        names = file["allclasses_names"][()]
        names[0, 0] = cell.ref
        file["allclasses_names"][...] = names
    with pytest.raises(ValueError, match="lies in other files"):
        load_data(folder)


@pytest.mark.parametrize(
    "shape, kind", [((10**6, 10**6), "f8"), ((1,), "S500000000"), ((3, 10**9), "i1")]
)
def test_a_few_bytes_that_claim_gigabytes_are_refused(tmp_path, shape, kind):
    def claims(file, key):
        file.create_dataset(key, shape, kind, chunks=tuple(min(n, 99) for n in shape))

    with pytest.raises(ValueError, match=r"set\.h5: .*would unpack to"):
        load_data(write_set(tmp_path / "set.h5", X=claims, class_names=claims))


def test_many_names_that_point_to_one_long_text_are_refused(tmp_path):
    def long(file, key):
        file.create_dataset(key, data=["a" * 2_000] * 3, dtype=h5py.string_dtype())

    with pytest.raises(ValueError, match="one of them of 2000 letters"):
        load_data(write_set(tmp_path / "set.h5", class_names=long))


def test_chunks_and_compression_and_what_is_no_number(tmp_path):
    def packed(file, key):
        file.create_dataset(key, data=X, chunks=(1, X.shape[1]), compression=1)

    assert_array_equal(load_data(write_set(tmp_path / "set.h5", X=packed)).X, X)
    fields = np.array([(1, 2.0)], dtype=[("a", int), ("b", float)])
    with pytest.raises(ValueError, match="never unpickled"):
        load_data(write_set(tmp_path / "set.h5", X=fields))
