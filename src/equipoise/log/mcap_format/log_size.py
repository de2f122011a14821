"""How large a log may become: chunks that decompress, messages that are kept.

A few kilobytes can decompress to terabytes, and a header can promise any size. Logs
are read chunk by chunk, and each chunk is decompressed up to the size that it
declares, if that is within the allowance.
"""

from __future__ import annotations

import os
from io import BytesIO, RawIOBase
from typing import BinaryIO

from mcap.exceptions import UnsupportedCompressionError
from mcap.records import Chunk
from mcap.stream_reader import get_chunk_data_stream

from equipoise.errors import EquipoiseError
from equipoise.input_file import MEGABYTE, size_limit, too_large

# A log decompresses to this, or to so many times its size if that is more.
SMALL_LOG_BYTES = 256 * MEGABYTE
MOST_COMPRESSION = 32
# What is kept of it in memory; a message takes some bytes beside its content.
LARGEST_LOG_BYTES = 2000 * MEGABYTE
MESSAGE_BYTES = 64
# Times beyond 146 years before or after 1970 leave no room for differences [ns].
FARTHEST_TIME = 2**62


class LogTooLargeError(EquipoiseError):
    """A log decompresses to more, or holds more, than is allowed."""


class Allowance:
    """What a log may still decompress to, and what may still be kept of it.

    Args:
        file_size: Size of the file on disk [bytes].
    """

    def __init__(self, file_size: int) -> None:
        self._decompressed = self._kept = 0
        usual = max(SMALL_LOG_BYTES, MOST_COMPRESSION * file_size)
        self._most_decompressed = size_limit(usual)
        self._most_kept = size_limit(LARGEST_LOG_BYTES)

    def decompress(self, size: int) -> None:
        """Take decompressed bytes off the allowance.

        Raises:
            LogTooLargeError: If that is more than is left.
        """
        self._decompressed += size
        if self._decompressed > self._most_decompressed:
            words = too_large(self._decompressed, self._most_decompressed)
            raise LogTooLargeError(f"decompressed, {words}")

    def keep(self, messages: int, size: int) -> None:
        """Take messages and their content [bytes] off the allowance.

        Raises:
            LogTooLargeError: If that is more than is left.
        """
        self._kept += size + MESSAGE_BYTES * messages
        if self._kept > self._most_kept:
            words = too_large(self._kept, self._most_kept)
            raise LogTooLargeError(f"what is to be kept in memory, {words}")


def chunk_content(chunk: Chunk, allowance: Allowance) -> bytes:
    """Return the records of a chunk, its checksum checked.

    Raises:
        LogTooLargeError: If it declares more than the allowance leaves.
        ValueError: If it does not have the size that it declares.
        Exception: An exception of any other kind, if it is damaged.
    """
    declared = int(chunk.uncompressed_size)
    content: bytes = chunk.data
    if chunk.compression:
        allowance.decompress(declared)
        content = _decompressed(chunk.compression, chunk.data, declared + 1)
        if len(content) != declared:
            raise ValueError("a chunk does not have the size that it declares")
    plain = Chunk(
        compression="",
        data=content,
        message_end_time=chunk.message_end_time,
        message_start_time=chunk.message_start_time,
        uncompressed_crc=chunk.uncompressed_crc,
        uncompressed_size=len(content),
    )
    get_chunk_data_stream(plain, validate_crc=True)
    return content


def _decompressed(compression: str, data: bytes, most: int) -> bytes:
    """Return decompressed data, at most so many bytes of it."""
    if compression == "zstd":
        import zstandard

        with zstandard.ZstdDecompressor().stream_reader(BytesIO(data)) as stream:
            return bytes(stream.read(most))
    if compression == "lz4":
        import lz4.frame

        return bytes(lz4.frame.LZ4FrameDecompressor().decompress(data, most))
    raise UnsupportedCompressionError(compression)


class BoundedFile(RawIOBase):
    """A file whose reader cannot ask for more memory than the file has bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._size = os.fstat(stream.fileno()).st_size

    def seekable(self) -> bool:
        """Return True: it is a regular file."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place, as other files do."""
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._stream.tell()

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, or those that are left."""
        left = max(self._size - self._stream.tell(), 0)
        return self._stream.read(left if size < 0 else min(size, left))


def check_time(time: int) -> int:
    """Return a time of a log [ns].

    Raises:
        ValueError: If it is out of range.
    """
    if not -FARTHEST_TIME < time < FARTHEST_TIME:
        raise ValueError(f"a message has the time {time} ns, which no clock shows")
    return time
