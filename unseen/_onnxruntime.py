"""Bring in onnxruntime without its reports to its makers.

From 1.29 on its Linux and macOS wheels look up a host of Microsoft's as soon as they
are loaded, unless this variable is set before. On Windows events go to the system's
tracing, which a call turns off.
"""

from __future__ import annotations

import os
from typing import Any

from unseen._command import needs_extra

__all__ = ["import_onnxruntime"]

SILENCE = "ORT_DISABLE_TELEMETRY"


def import_onnxruntime(what: str) -> Any:
    """Return the module, with telemetry off unless the user set the variable.

    Parameters
    ----------
    what : str
        What needs it, for the error that says which extra to install.

    Examples
    --------
    >>> from unseen._onnxruntime import import_onnxruntime
    >>> import_onnxruntime("This example").get_device()
    'CPU'
    """
    os.environ.setdefault(SILENCE, "1")
    try:
        import onnxruntime
    except ImportError:
        raise needs_extra("onnxruntime", "images", what) from None
    if os.environ[SILENCE] == "1":
        onnxruntime.disable_telemetry_events()
    return onnxruntime
