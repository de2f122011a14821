"""One Pinocchio workspace a model while it is being looked at.

A ``pin.Data`` takes memory with the cube of the degrees of freedom, so the steps of
loading share one instead of making their own.
"""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

import pinocchio as pin

_local = threading.local()


def workspace(model: pin.Model) -> pin.Data:
    """Return this thread's workspace of a model; its content is anybody's."""
    if not hasattr(_local, "known"):
        _local.known = WeakKeyDictionary()
    known: WeakKeyDictionary[pin.Model, pin.Data] = _local.known
    data = known.get(model)
    if data is not None and len(data.oMf) != model.nframes:
        del known[model]
        data = None  # freed before the next is made
    if data is None:
        data = known[model] = model.createData()
    return data
