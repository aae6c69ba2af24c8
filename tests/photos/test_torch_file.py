"""The weight file: only known bytes are read, and only harmless names in them."""

import hashlib
import io
import pickle
from collections import OrderedDict

import pytest

from unseen.photos.torch_file import MAGIC, _Unpickler, read_torch_file


class Evil:
    def __reduce__(self):
        return print, ("this must never run",)


def written(path, *pickles, raw=b""):
    content = b"".join(pickle.dumps(part, protocol=2) for part in pickles) + raw
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def test_a_changed_byte_is_refused_before_anything_is_unpickled(tmp_path, capsys):
    path = tmp_path / "weights.pth"
    digest = written(path, Evil())
    wrong = "0" * 64
    with pytest.raises(ValueError, match=rf"{digest[:8]}\.\.\., not 00000000"):
        read_torch_file(path, wrong)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("place", range(5))
def test_any_other_name_is_refused_wherever_it_stands(tmp_path, capsys, place):
    parts = [MAGIC, 1001, {}, OrderedDict(), []]
    parts[place] = Evil()
    path = tmp_path / "weights.pth"
    digest = written(path, *parts)
    with pytest.raises(pickle.UnpicklingError, match="may not stand"):
        read_torch_file(path, digest)
    assert capsys.readouterr().out == ""


def test_names_reached_through_a_known_module_are_refused():
    for name in ("load", "OrderedDict.__init__", "_rebuild_tensor", "eval"):
        for module in ("torch", "collections", "torch._utils", "builtins"):
            with pytest.raises(pickle.UnpicklingError):
                _Unpickler(io.BytesIO()).find_class(module, name)


def test_another_layout_says_so(tmp_path):
    path = tmp_path / "weights.pth"
    digest = written(path, 1, 1001, {}, OrderedDict(), [])
    with pytest.raises(ValueError, match="not a PyTorch weight file"):
        read_torch_file(path, digest)
