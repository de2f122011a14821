"""Pictures to files: PNG, GIF, MP4. They appear whole or not at all."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from equipoise.atomic_file import write_bytes_atomically
from equipoise.errors import EquipoiseError
from equipoise.show.films.gif import GREATEST_FPS, encode_gif

Picture = NDArray[np.uint8]

# Constant quality of H.264: less is better and larger; 18 is hard to tell from none.
QUALITY = "20"


def film_writer(path: Path | str) -> Callable[[Path, Iterable[Picture], float], None]:
    """Return what writes films of a file's suffix; call it before a long render.

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
    Image.fromarray(_checked(picture, None)).save(content, "PNG", optimize=True)
    write_bytes_atomically(path, content.getvalue())


def write_gif(path: Path | str, frames: Iterable[Picture], fps: float) -> None:
    """Write a film that repeats for ever.

    Times in GIF files are hundredths of a second: single pictures are shown a little
    shorter or longer, such that the whole lasts as long as it should.

    Args:
        path: The file; its folder must exist. An old file is replaced.
        frames: Pictures of one size, shape (height, width, 3) each.
        fps: Pictures a second, at most 50, faster ones are slowed down by viewers.

    Raises:
        EquipoiseError: If there are no pictures, or they cannot be written.
    """
    if not 0.0 < fps <= GREATEST_FPS:
        raise EquipoiseError(
            f"{path}: a GIF has up to {GREATEST_FPS:g} pictures a second, not {fps:g}"
        )
    write_bytes_atomically(path, encode_gif(_all_checked(path, frames), fps))


def write_mp4(path: Path | str, frames: Iterable[Picture], fps: float) -> None:
    """Write a film as H.264 that every browser and slide show plays.

    Args:
        path: The file; its folder must exist. An old file is replaced.
        frames: Pictures of one size, shape (height, width, 3) each. Odd sizes lose
            their last row or column, which the format cannot hold.
        fps: Pictures a second.

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
            for picture in _all_checked(path, frames):
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


def _all_checked(path: Path | str, frames: Iterable[Picture]) -> Iterable[Picture]:
    shape = None
    for picture in frames:
        yield _checked(picture, shape)
        shape = picture.shape
    if shape is None:
        raise EquipoiseError(f"{path}: a film of no pictures")


def _checked(picture: Picture, shape: tuple[int, ...] | None) -> Picture:
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise EquipoiseError(
            f"a picture is (height, width, 3) of bytes, not {picture.shape} of "
            f"{picture.dtype}"
        )
    if shape is not None and picture.shape != shape:
        raise EquipoiseError(
            f"pictures of a film have one size, not {shape} and {picture.shape}"
        )
    return picture
