"""CDR, the bytes of ROS 2 messages, by their definitions; many messages at once.

Encoding message by message in Python takes seconds for a run; but texts and array
lengths of a topic stay the same, so that one message gives the layout of all, and
numbers are put into or taken out of all of them as columns.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.errors import EquipoiseError

Bytes = NDArray[np.uint8]
Item = TypeVar("Item")
# Texts and lengths are padded by up to as many bytes, of any value.
PADDING = 7
# Little-endian, plain CDR; alignment counts from after it.
ENCAPSULATION = b"\x00\x01\x00\x00"
NUMBERS = {
    "bool": "<u1",
    "byte": "<u1",
    "char": "<u1",
    "float32": "<f4",
    "float64": "<f8",
    **{f"int{bits}": f"<i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"<u{bits // 8}" for bits in (8, 16, 32, 64)},
}
FIELD = re.compile(r"([\w/]+)(?:<=\d+)?(\[[^\]]*\])?\s+(\w+)(?:\s.*)?")


class Column(NamedTuple):
    """Place of numbers in a message."""

    offset: int
    dtype: np.dtype[Any]
    length: int


class Fields(dict[str, Item], Generic[Item]):
    """What a message has by path; what it lacks is the fault of the log."""

    def __missing__(self, path: str) -> Item:
        """Raise an EquipoiseError."""
        raise EquipoiseError(f"a message has no '{path}'")


@dataclass
class Layout:
    """Places of everything in a message.

    Attributes:
        size: Bytes of the message.
        columns: Numbers by path, ``"header.stamp.sec"`` or ``"poses[0].x"``.
        texts: Texts by path.
        shape: Spans of bytes that hold texts and lengths: the same in every message
            of this layout.
    """

    size: int = 0
    columns: Fields[Column] = field(default_factory=Fields)
    texts: Fields[str] = field(default_factory=Fields)
    shape: list[slice] = field(default_factory=list)

    def fits(self, messages: Bytes) -> NDArray[np.bool_]:
        """Return which messages, shape (n, size), have the layout of the first."""
        if len(messages) == 0:
            return np.ones(0, dtype=np.bool_)
        # spans with the padding between them are few, and nearly always the same
        same = _alike(messages, messages[0], _merged(self.shape))
        if not same.all():
            same[~same] = _alike(messages[~same], messages[0], self.shape)
        return same

    def list_texts(self, path: str) -> list[str]:
        """Return the texts of a list, such as ``"name[]"`` or ``"markers[].ns"``."""
        head, _, tail = path.partition("[]")
        found: list[str] = []
        while (item := f"{head}[{len(found)}]{tail}") in self.texts:
            found.append(self.texts[item])
        return found

    def get(self, messages: Bytes, path: str, count: int | None = None) -> NDArray[Any]:
        """Return the numbers at a path and those after it, shape (n, count)."""
        column = self.columns[path]
        width = column.dtype.itemsize * (column.length if count is None else count)
        if column.offset + width > self.size:
            raise EquipoiseError(f"a message is too short for its '{path}'")
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


class Field(NamedTuple):
    """A field of a message; ``array`` is None, a fixed length, or -1 for any."""

    name: str
    type: str
    array: int | None


@dataclass(frozen=True)
class MessageType:
    """A message type, its definition read.

    Attributes:
        name: For example ``"sensor_msgs/JointState"``.
        fields: Fields by type name, of this type and those that it is made of.
    """

    name: str
    fields: Mapping[str, tuple[Field, ...]]

    @classmethod
    def parse(cls, name: str, definition: str) -> MessageType:
        """Read a definition in the format ``ros2msg``.

        Raises:
            EquipoiseError: If it is not such a definition.
        """
        root = _short(name)
        fields: dict[str, list[Field]] = {root: []}
        current = root
        for line in definition.splitlines():
            text = line.split("#")[0].strip()
            if text.startswith("MSG:"):
                current = _short(text.removeprefix("MSG:").strip())
                fields[current] = []
            elif (
                text
                and not text.startswith("===")
                and not re.match(r"\S+\s+\w+\s*=", text)
            ):
                match = FIELD.fullmatch(text)
                if match is None:
                    raise EquipoiseError(f"message type {name}: cannot read '{text}'")
                fields[current].append(_field(match, current))
        return cls(root, {key: tuple(value) for key, value in fields.items()})

    def encode(self, values: Mapping[str, Any]) -> bytes:
        """Return one message; fields that are not given are zero, empty or ``""``."""
        out = bytearray(ENCAPSULATION)
        self._encode(out, self.name, values)
        return bytes(out)

    def _encode(self, out: bytearray, kind: str, value: Any) -> None:
        if kind == "string":
            text = (value or "").encode() + b"\0"
            _put(out, "<u4", len(text))
            out += text
        elif kind in NUMBERS:
            _put(out, NUMBERS[kind], value or 0)
        else:
            for item in self.fields[kind]:
                own = (value or {}).get(item.name)
                if item.array is None:
                    self._encode(out, item.type, own)
                    continue
                entries = [None] * max(item.array, 0) if own is None else list(own)
                if item.array < 0:
                    _put(out, "<u4", len(entries))
                if item.type in NUMBERS and own is not None:
                    _put(out, NUMBERS[item.type], own)
                    continue
                for entry in entries:
                    self._encode(out, item.type, entry)

    def layout(self, message: bytes) -> Layout:
        """Return the places of everything in a message.

        Raises:
            EquipoiseError: If the message is not of this type.
        """
        if message[:2] != ENCAPSULATION[:2]:
            raise EquipoiseError(
                f"a message of type {self.name} is not little-endian CDR"
            )
        found = Layout(size=len(message))
        try:
            self._walk(found, message, 4, self.name, "")
        except (struct.error, IndexError, KeyError, UnicodeDecodeError) as error:
            raise EquipoiseError(
                f"a message of type {self.name} does not fit its definition ({error})"
            ) from error
        return found

    def _walk(self, found: Layout, data: bytes, at: int, kind: str, path: str) -> int:
        for item in self.fields[kind]:
            here = f"{path}.{item.name}" if path else item.name
            if item.array is None:
                at = self._walk_one(found, data, at, item.type, here)
                continue
            count = item.array
            if count < 0:
                at = _aligned(at, 4)
                (count,) = struct.unpack_from("<I", data, at)
                found.shape.append(slice(at, at + 4))
                at += 4
            if item.type in NUMBERS:
                at = _walk_numbers(found, data, at, item.type, here, count)
                continue
            for index in range(count):
                at = self._walk_one(found, data, at, item.type, f"{here}[{index}]")
        return at

    def _walk_one(
        self, found: Layout, data: bytes, at: int, kind: str, path: str
    ) -> int:
        if kind in NUMBERS:
            return _walk_numbers(found, data, at, kind, path, 1)
        if kind != "string":
            return self._walk(found, data, at, kind, path)
        at = _aligned(at, 4)
        length: int = struct.unpack_from("<I", data, at)[0]
        end = at + 4 + length
        if end > len(data):
            raise IndexError(f"'{path}' goes beyond the message")
        found.shape.append(slice(at, end))
        found.texts[path] = data[at + 4 : end].rstrip(b"\0").decode()
        return end


def _walk_numbers(
    found: Layout, data: bytes, at: int, kind: str, path: str, count: int
) -> int:
    dtype = np.dtype(NUMBERS[kind])
    if count:  # nothing to align where there is nothing
        at = _aligned(at, dtype.itemsize)
    end = at + count * int(dtype.itemsize)
    if end > len(data):
        raise IndexError(f"'{path}' goes beyond the message")
    found.columns[path] = Column(at, dtype, count)
    return end


def _field(match: re.Match[str], owner: str) -> Field:
    kind, array, name = match.groups()
    if "/" in kind:
        kind = _short(kind)
    elif kind not in NUMBERS and kind != "string":
        kind = f"{owner.split('/')[0]}/{kind}"
    if array is None:
        return Field(name, kind, None)
    return Field(name, kind, int(array[1:-1]) if array[1:-1].isdigit() else -1)


def _short(name: str) -> str:
    return name.replace("/msg/", "/")


def _aligned(at: int, size: int) -> int:
    return at + (4 - at) % size


def _put(out: bytearray, dtype: str, value: ArrayLike) -> None:
    numbers = np.array(value, dtype=dtype)
    if numbers.size:  # nothing to align where there is nothing
        out += bytes(_aligned(len(out), numbers.itemsize) - len(out))
        out += numbers.tobytes()
