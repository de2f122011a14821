"""GIF films: one palette for all pictures, and only what changes in each."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import GifImagePlugin, Image

from equipoise.errors import EquipoiseError

# Viewers slow down pictures shown for less than two hundredths of a second.
GREATEST_FPS = 50.0

# The last entry of the palette means: as before.
COLORS, UNCHANGED = 255, 255

# Bits a channel by which the nearest entry of the palette is looked up.
BITS = 6

# Pictures and pixels of each that the palette is chosen from.
PALETTE_PICTURES, PALETTE_PIXELS = 48, 20_000

# Dots of two colours stand for one between them, always at the same pixels: a pattern
# that does not flicker, at most this strong [of 255].
DITHER = 3.0


def encode_gif(frames: Iterable[NDArray[np.uint8]], fps: float) -> bytes:
    """Return a GIF file of pictures (height, width, 3), repeated for ever."""
    # pictures are needed twice, and are many: they wait in compressed form
    packed: list[bytes] = []
    shape: tuple[int, ...] = ()
    for frame in frames:
        shape = frame.shape
        packed.append(zlib.compress(np.ascontiguousarray(frame).tobytes(), 1))

    def picture(at: int) -> NDArray[np.uint8]:
        return np.frombuffer(zlib.decompress(packed[at]), np.uint8).reshape(shape)

    height, width = shape[:2]
    if max(height, width) > 0xFFFF:
        raise EquipoiseError(f"a GIF is at most 65535 px wide and high, not {shape}")
    chosen = np.unique(
        np.linspace(0, len(packed) - 1, PALETTE_PICTURES).round().astype(int)
    )
    palette = _palette([picture(int(at)) for at in chosen])
    nearest, pattern = _nearest(palette), _pattern(height, width)
    parts = [
        b"GIF89a",
        # a global palette of 256 entries
        struct.pack("<HHBBB", width, height, 0xF7, 0, 0),
        palette.tobytes(),
        b"!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00",
    ]
    before: NDArray[np.uint8] | None = None
    for at in range(len(packed)):
        shown = _in_palette(picture(at), nearest, pattern)
        # ends, not lengths, are rounded: errors do not add up
        hundredths = round(100.0 * (at + 1) / fps) - round(100.0 * at / fps)
        parts.extend(_frame(shown, before, hundredths))
        before = shown
    return b"".join([*parts, b";"])


def _palette(pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Return 255 colours chosen from pixels of all pictures, and one unused."""
    pixels = []
    for picture in pictures:
        rows = picture.reshape(-1, 3)
        pixels.append(rows[:: max(1, len(rows) // PALETTE_PIXELS)])
        # small things of strong colours, such as markers, are to keep theirs
        strong = np.ptp(rows, axis=1) > 60
        pixels.append(rows[strong][:: max(1, int(strong.sum()) // PALETTE_PIXELS)])
    sample = Image.fromarray(np.concatenate(pixels)[None])
    quantized = sample.quantize(COLORS, method=Image.Quantize.MEDIANCUT, kmeans=1)
    found = np.array(quantized.getpalette(), dtype=np.uint8).reshape(-1, 3)[:COLORS]
    palette = np.zeros((256, 3), dtype=np.uint8)
    palette[: len(found)] = found
    palette[len(found) :] = found[-1]
    return palette


def _nearest(palette: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the entry of the palette for each colour of ``BITS`` bits a channel."""
    from scipy.spatial import cKDTree

    step = 256 >> BITS
    levels = np.arange(1 << BITS) * step + 0.5 * (step - 1)
    colors = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1)
    _, entry = cKDTree(palette[:COLORS]).query(colors.reshape(-1, 3))
    entries: NDArray[np.uint8] = entry.astype(np.uint8)
    return entries


def _pattern(height: int, width: int) -> NDArray[np.int16]:
    """Return offsets for ordered dithering, 8 by 8 repeated, (height, width, 1)."""
    bayer = np.zeros((1, 1))
    for _ in range(3):
        bayer = np.block([[4 * bayer, 4 * bayer + 2], [4 * bayer + 3, 4 * bayer + 1]])
    offsets = np.round((bayer / 63.0 - 0.5) * 2.0 * DITHER).astype(np.int16)
    return np.tile(offsets, (height // 8 + 1, width // 8 + 1))[:height, :width, None]


def _in_palette(
    picture: NDArray[np.uint8], nearest: NDArray[np.uint8], pattern: NDArray[np.int16]
) -> NDArray[np.uint8]:
    levels = np.clip(picture + pattern, 0, 255).astype(np.int32) >> (8 - BITS)
    place = (levels[..., 0] << 2 * BITS) | (levels[..., 1] << BITS) | levels[..., 2]
    entries: NDArray[np.uint8] = nearest[place]
    return entries


def _frame(
    shown: NDArray[np.uint8], before: NDArray[np.uint8] | None, hundredths: int
) -> list[bytes]:
    """Return the blocks of one picture: the box that changed, the rest left out."""
    top, left = 0, 0
    if before is not None:
        changed = shown != before
        rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
        top, bottom = (rows[0], rows[-1]) if len(rows) else (0, 0)
        left, right = (columns[0], columns[-1]) if len(columns) else (0, 0)
        box = np.s_[top : bottom + 1, left : right + 1]
        shown = np.where(changed[box], shown[box], np.uint8(UNCHANGED))
    image = Image.fromarray(np.ascontiguousarray(shown))
    # what is not drawn stays (disposal 1)
    return GifImagePlugin.getdata(
        image,
        (int(left), int(top)),
        duration=10 * hundredths,
        disposal=1,
        transparency=UNCHANGED,
    )
