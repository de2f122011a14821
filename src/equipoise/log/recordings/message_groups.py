"""Messages of a topic whose lists differ in length: a few layouts, many messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.log.mcap_format.cdr import MessageType
from equipoise.log.mcap_format.layout import Bytes, Layout


class Group(NamedTuple):
    """Messages of a topic that have the same layout, texts included.

    Attributes:
        places: Which messages of the topic they are, increasing, shape (m,).
        layout: Theirs.
        rows: The messages, shape (m, size).
    """

    places: NDArray[np.int64]
    layout: Layout
    rows: Bytes

    def numbers(self, path: str, count: int | None = None) -> NDArray[Any]:
        """Return the numbers at a path and those after it, shape (m, count)."""
        return self.layout.get(self.rows, path, count)

    def texts(self, path: str) -> list[str]:
        """Return the texts of a list, such as ``"name"``."""
        found: list[str] = []
        while f"{path}[{len(found)}]" in self.layout.texts:
            found.append(self.layout.texts[f"{path}[{len(found)}]"])
        return found


def message_groups(
    name: str, definition: str, messages: Sequence[bytes]
) -> Iterator[Group]:
    """Sort the messages of a topic by layout.

    Args:
        name: Their type, ``"sensor_msgs/JointState"``.
        definition: In the format ``ros2msg``.
        messages: Encoded, in order.

    Raises:
        EquipoiseError: If a message is not of the type.
    """
    kind = MessageType.parse(name, definition)
    by_size: dict[int, list[int]] = defaultdict(list)
    for place, message in enumerate(messages):
        by_size[len(message)].append(place)
    for size, chosen in sorted(by_size.items()):
        places = np.array(chosen, dtype=np.int64)
        joined = b"".join(messages[place] for place in chosen)
        rows = np.frombuffer(joined, dtype=np.uint8).reshape(len(places), size)
        while len(places):
            layout = kind.layout(rows[0].tobytes())
            same = layout.fits(rows)
            yield Group(places[same], layout, rows[same])
            places, rows = places[~same], rows[~same]
