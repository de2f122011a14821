"""Rows of a chunk: records of the same channels and lengths, one row after another.

A run writes the same topics in the same order at each of its times. Where that is so,
the messages of many rows are taken out of a chunk at once.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from mcap.opcode import Opcode

from equipoise.log.mcap_format.layout import Bytes

# Opcode, length, channel: the same in every row; then sequence, log and publish time.
HEAD = struct.Struct("<BQH")
MESSAGE_BYTES = 22
RECORD_BYTES = 9
# Where in a record the log time and the message itself begin.
LOG_TIME, CONTENT = 15, RECORD_BYTES + MESSAGE_BYTES
# Fewer rows are read faster one by one; more are looked at in several goes.
LEAST_ROWS, MOST_ROWS = 8, 4096


class Rows(NamedTuple):
    """Messages that follow each other in a chunk.

    Attributes:
        channels: Of the messages of a row, in order.
        edges: Where the records of a row begin, and where the last ends.
        table: The rows, shape (n, bytes of a row); n is 0 where too few are alike.
    """

    channels: list[int]
    edges: list[int]
    table: Bytes

    def times(self, at: int) -> list[int]:
        """Return the log times of a channel's messages [ns]."""
        begin = self.edges[at] + LOG_TIME
        column = np.ascontiguousarray(self.table[:, begin : begin + 8])
        times: list[int] = column.view("<u8").ravel().tolist()
        return times

    def contents(self, at: int) -> bytes:
        """Return a channel's messages after each other."""
        return self.table[:, self.edges[at] + CONTENT : self.edges[at + 1]].tobytes()


def rows_at(data: bytes, at: int) -> Rows:
    """Return the messages at a place in a chunk, up to the first that begins anew.

    Args:
        data: The chunk's content.
        at: Where a record begins.
    """
    channels: list[int] = []
    edges = [0]
    first = None
    while at + edges[-1] + HEAD.size <= len(data):
        opcode, length, channel = HEAD.unpack_from(data, at + edges[-1])
        end = edges[-1] + RECORD_BYTES + length
        whole = length >= MESSAGE_BYTES and at + end <= len(data)
        if opcode != Opcode.MESSAGE or not whole or (length, channel) == first:
            break
        first = first or (length, channel)
        channels.append(channel)
        edges.append(end)
    return Rows(channels, edges, _table(data, at, channels, edges))


def _table(data: bytes, at: int, channels: list[int], edges: list[int]) -> Bytes:
    size = edges[-1]
    none = np.zeros((0, size), dtype=np.uint8)
    if not channels or len(set(channels)) < len(channels):
        return none
    count = min((len(data) - at) // size, MOST_ROWS)
    far = at + (LEAST_ROWS - 1) * size
    if count < LEAST_ROWS or any(
        data[at + edge : at + edge + HEAD.size]
        != data[far + edge : far + edge + HEAD.size]
        for edge in edges[:-1]
    ):
        return none
    table = np.frombuffer(data, np.uint8, count * size, at).reshape(count, size)
    places = np.add.outer(edges[:-1], np.arange(HEAD.size)).ravel()
    heads = table[:, places]
    # records are where they were in the row before as long as all lengths are equal
    alike = (heads == heads[0]).all(axis=1)
    count = count if alike.all() else int(np.argmin(alike))
    return table[:count] if count >= LEAST_ROWS else none
