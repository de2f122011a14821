"""Where numbers and texts lie in a ROS 2 message, and many such messages at once.

Encoding message by message in Python takes seconds for a run; but texts and array
lengths of a topic stay the same, so that one message gives the layout of all, and
numbers are put into or taken out of all of them as columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bytes = NDArray[np.uint8]
# Texts and lengths are padded by up to as many bytes, of any value.
PADDING = 7


class Column(NamedTuple):
    """Where numbers lie in a message."""

    offset: int
    dtype: np.dtype[Any]
    length: int


@dataclass
class Layout:
    """Where everything lies in a message.

    Attributes:
        size: Bytes of the message.
        columns: Numbers by path, ``"header.stamp.sec"`` or ``"poses[0].x"``.
        texts: Texts by path.
        shape: Spans of bytes that hold texts and lengths: the same in every message
            of this layout.
    """

    size: int = 0
    columns: dict[str, Column] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    shape: list[slice] = field(default_factory=list)

    def fits(self, messages: Bytes) -> NDArray[np.bool_]:
        """Return which messages, shape (n, size), have the layout of the first."""
        if len(messages) == 0:
            return np.ones(0, dtype=np.bool_)
        # spans with the padding between them are few: nearly always all is said then
        same = _alike(messages, messages[0], _merged(self.shape))
        if not same.all():
            same[~same] = _alike(messages[~same], messages[0], self.shape)
        return same

    def get(self, messages: Bytes, path: str, count: int | None = None) -> NDArray[Any]:
        """Return the numbers at a path and those after it, shape (n, count)."""
        column = self.columns[path]
        width = column.dtype.itemsize * (column.length if count is None else count)
        part = messages[:, column.offset : column.offset + width]
        return np.ascontiguousarray(part).view(column.dtype)

    def put(self, messages: Bytes, path: str, values: ArrayLike) -> None:
        """Write numbers, shape (n,) or (n, count), at a path and after it."""
        column = self.columns[path]
        numbers = np.ascontiguousarray(values, dtype=column.dtype)
        flat = numbers.reshape(len(messages), -1).view(np.uint8)
        messages[:, column.offset : column.offset + flat.shape[1]] = flat


def _alike(messages: Bytes, first: Bytes, spans: list[slice]) -> NDArray[np.bool_]:
    """Return which messages are the same in some spans as the first."""
    same = np.ones(len(messages), dtype=np.bool_)
    for span in spans:
        same &= (messages[:, span] == first[span]).all(axis=1)
    return same


def _merged(spans: list[slice]) -> list[slice]:
    """Return spans in which those are one that only padding lies between."""
    merged: list[slice] = []
    for span in spans:
        if merged and 0 <= span.start - merged[-1].stop <= PADDING:
            merged[-1] = slice(merged[-1].start, span.stop)
        else:
            merged.append(span)
    return merged
