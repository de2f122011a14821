"""Pictures to files: PNG, GIF, MP4. They appear whole or not at all."""

from __future__ import annotations

import io
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import GifImagePlugin, Image

from equipoise.atomic_file import write_bytes_atomically
from equipoise.errors import EquipoiseError

Picture = NDArray[np.uint8]
# Constant quality of H.264: less is better and larger; 18 looks like no loss.
QUALITY = "20"
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


def film_writer(path: Path | str) -> Callable[[Path, Iterable[Picture], float], None]:
    """Return the writer for a file's suffix; call it before a long render.

    Raises:
        EquipoiseError: If there is no such format or no such folder.
    """
    writers = {".gif": write_gif, ".mp4": write_mp4}
    file = Path(path)
    writer = writers.get(file.suffix.lower())
    if writer is None:
        raise EquipoiseError(
            f"{path}: films end in {' or '.join(writers)}, pictures in .png, not in "
            f"'{file.suffix}'"
        )
    if not file.parent.is_dir():
        raise EquipoiseError(f"{path}: the folder '{file.parent}' does not exist")
    if writer is write_mp4:
        _ffmpeg(file)
    return writer


def write_png(path: Path | str, picture: Picture) -> None:
    """Write one picture, shape (height, width, 3)."""
    content = io.BytesIO()
    (checked,) = _checked(path, [picture])
    Image.fromarray(checked).save(content, "PNG", optimize=True)
    write_bytes_atomically(path, content.getvalue())


def write_gif(path: Path | str, frames: Iterable[Picture], fps: float) -> None:
    """Write a film that repeats for ever.

    Times in GIF files are hundredths of a second: single pictures are shown a little
    shorter or longer, such that the whole lasts as long as it should.

    Args:
        path: The file; its folder must exist. An old file is replaced.
        frames: Pictures of one size, shape (height, width, 3) each.
        fps: Pictures per second, at most 50; viewers slow down faster ones.

    Raises:
        EquipoiseError: If there are no pictures, or they cannot be written.
    """
    if not 0.0 < fps <= GREATEST_FPS:
        raise EquipoiseError(
            f"{path}: a GIF has up to {GREATEST_FPS:g} pictures a second, not {fps:g}"
        )
    write_bytes_atomically(path, _encode_gif(_checked(path, frames), fps))


def write_mp4(path: Path | str, frames: Iterable[Picture], fps: float) -> None:
    """Write a film as H.264 that every browser and slide show plays.

    Arguments are those of :func:`write_gif`, with up to 1000 pictures per second. Odd
    sizes lose their last row or column, which the format cannot hold.

    Raises:
        EquipoiseError: If there are no pictures, no ffmpeg, or ffmpeg fails.
    """
    if not 0.0 < fps <= 1000.0:
        raise EquipoiseError(f"{path}: {fps:g} pictures a second are impossible")
    ffmpeg = _ffmpeg(path)
    with tempfile.TemporaryDirectory(prefix="equipoise-film-") as folder:
        film = Path(folder, "film.mp4")
        sink = None
        try:
            for picture in _checked(path, frames):
                height, width = (size - size % 2 for size in picture.shape[:2])
                if sink is None:
                    sink = ffmpeg(
                        str(film),
                        (width, height),
                        fps=fps,
                        codec="libx264",
                        quality=None,
                        macro_block_size=1,
                        ffmpeg_log_level="error",
                        output_params=["-crf", QUALITY, "-movflags", "+faststart"],
                    )
                    sink.send(None)
                sink.send(np.ascontiguousarray(picture[:height, :width]))
        except OSError as error:
            reason = str(error).strip().splitlines()[-1:]
            raise EquipoiseError(
                f"{path}: ffmpeg failed ({''.join(reason)})"
            ) from error
        finally:
            if sink is not None:
                sink.close()
        if not film.is_file() or film.stat().st_size == 0:
            raise EquipoiseError(f"{path}: ffmpeg wrote no film")
        content = film.read_bytes()
    write_bytes_atomically(path, content)


def _ffmpeg(path: Path | str) -> Callable[..., Any]:
    """Return what starts ffmpeg and takes frames."""
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError) as error:
        raise EquipoiseError(
            f"{path}: MP4 needs ffmpeg, which is not here (pip install "
            f"imageio-ffmpeg); GIF works without"
        ) from error
    writer: Callable[..., Any] = imageio_ffmpeg.write_frames
    return writer


def _checked(path: Path | str, frames: Iterable[Picture]) -> Iterator[Picture]:
    """Go through pictures; refuse those that are not, that differ in size, or none."""
    shape = None
    for picture in frames:
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise EquipoiseError(
                f"a picture is (height, width, 3) of bytes, not {picture.shape} of "
                f"{picture.dtype}"
            )
        if picture.shape != (shape or picture.shape):
            raise EquipoiseError(
                f"pictures of a film have one size, not {shape} and {picture.shape}"
            )
        shape = picture.shape
        yield picture
    if shape is None:
        raise EquipoiseError(f"{path}: a film of no pictures")


def _encode_gif(frames: Iterable[Picture], fps: float) -> bytes:
    """Return a GIF file of pictures (height, width, 3), repeated for ever."""
    # pictures are needed twice, and are many: they wait in compressed form
    packed: list[bytes] = []
    shape: tuple[int, ...] = ()
    for frame in frames:
        shape = frame.shape
        packed.append(zlib.compress(np.ascontiguousarray(frame).tobytes(), 1))

    def picture(at: int) -> Picture:
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
    before: Picture | None = None
    for at in range(len(packed)):
        shown = _in_palette(picture(at), nearest, pattern)
        # ends, not lengths, are rounded: errors do not add up
        hundredths = round(100.0 * (at + 1) / fps) - round(100.0 * at / fps)
        parts.extend(_frame(shown, before, hundredths))
        before = shown
    return b"".join([*parts, b";"])


def _palette(pictures: Sequence[Picture]) -> Picture:
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


def _nearest(palette: Picture) -> Picture:
    """Return the entry of the palette for each colour of ``BITS`` bits a channel."""
    from scipy.spatial import cKDTree

    step = 256 >> BITS
    levels = np.arange(1 << BITS) * step + 0.5 * (step - 1)
    colors = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1)
    _, entry = cKDTree(palette[:COLORS]).query(colors.reshape(-1, 3))
    entries: Picture = entry.astype(np.uint8)
    return entries


def _pattern(height: int, width: int) -> NDArray[np.int16]:
    """Return offsets for ordered dithering, 8 by 8 repeated, (height, width, 1)."""
    bayer = np.zeros((1, 1))
    for _ in range(3):
        bayer = np.block([[4 * bayer, 4 * bayer + 2], [4 * bayer + 3, 4 * bayer + 1]])
    offsets = np.round((bayer / 63.0 - 0.5) * 2.0 * DITHER).astype(np.int16)
    return np.tile(offsets, (height // 8 + 1, width // 8 + 1))[:height, :width, None]


def _in_palette(
    picture: Picture, nearest: Picture, pattern: NDArray[np.int16]
) -> Picture:
    levels = np.clip(picture + pattern, 0, 255).astype(np.int32) >> (8 - BITS)
    place = (levels[..., 0] << 2 * BITS) | (levels[..., 1] << BITS) | levels[..., 2]
    entries: Picture = nearest[place]
    return entries


def _frame(shown: Picture, before: Picture | None, hundredths: int) -> list[bytes]:
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
