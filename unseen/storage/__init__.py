"""Models on disk: arrays as safetensors, everything else as JSON in its header.

model_file.py  save_model and load_model: one file, its digest, its versions
values.py      values to JSON and tensors, and back
schema.py      checks a class's state against what is written of it
state.py       what is written: every class a file may hold, with its state
"""

from unseen.storage.model_file import Storable, load_model, save_model

__all__ = ["Storable", "load_model", "save_model"]
