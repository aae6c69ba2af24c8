"""Read the tensors of a PyTorch weight file without PyTorch.

Such a file (the layout before version 1.6) is a row of pickles, then raw numbers:

    magic, protocol, system    three pickles that say what it is
    tensors                    pickle: name → (storage key, offset, shape, strides)
    keys                       pickle: the storages, in the order they follow
    numbers                    for each storage its length (int64), then its numbers

A pickle can run code. So the file must have the SHA-256 that is pinned in this package
before a byte of it is read, and only four harmless names may stand in it.
"""

import hashlib
import io
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
STORAGES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def read_torch_file(path: Path, sha256: str) -> dict[str, np.ndarray]:
    """Read all tensors of a weight file by name; it must have the SHA-256 given."""
    content = Path(path).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{path} is not the file this package knows: its SHA-256 is "
            f"{found[:8]}..., not {sha256[:8]}.... Install it again."
        )
    file = io.BytesIO(content)
    magic, _protocol, _system, tensors, keys = (
        _Unpickler(file).load() for _ in "12345"
    )
    if magic != MAGIC:
        raise ValueError(f"{path} is not a PyTorch weight file of the old layout.")
    kinds = dict(storage for storage, *_ in tensors.values())
    numbers = {key: _read_storage(file, kinds[key]) for key in keys}
    return {name: _view(numbers, *tensor) for name, tensor in tensors.items()}


class _Unpickler(pickle.Unpickler):
    """Knows four names; meets any other with an error."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild
        if module == "torch" and name in STORAGES:
            return STORAGES[name]
        raise pickle.UnpicklingError(f"{module}.{name} may not stand in a weight file")

    def persistent_load(self, pid: Any) -> tuple[str, np.dtype]:
        _kind, dtype, key, *_place = pid
        return key, dtype


def _rebuild(storage, offset, shape, strides, *_gradients) -> tuple:
    return storage, offset, shape, strides


def _read_storage(file: io.BytesIO, dtype: np.dtype) -> np.ndarray:
    length = int.from_bytes(file.read(8), "little")
    return np.frombuffer(file.read(length * dtype.itemsize), dtype, count=length)


def _view(numbers: dict[str, np.ndarray], storage, offset, shape, strides):
    key, dtype = storage
    steps = tuple(step * dtype.itemsize for step in strides)
    return np.ndarray(shape, dtype, numbers[key], offset * dtype.itemsize, steps)
