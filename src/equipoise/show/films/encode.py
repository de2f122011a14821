"""Pictures to files: PNG, GIF, MP4. They appear whole or not at all."""

from __future__ import annotations

import io
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from equipoise.atomic_file import write_bytes_atomically
from equipoise.errors import EquipoiseError
from equipoise.staging import staging_folder

Picture = NDArray[np.uint8]
# Constant quality of H.264: less is better and larger; 18 looks like no loss.
H264 = ("-crf", "20", "-movflags", "+faststart")
# Without loss, for pictures that are read again.
LOSSLESS = ("-qp", "0", "-preset", "ultrafast")
# Viewers slow down pictures shown for less than two hundredths of a second.
GREATEST_FPS = 50.0
# More colours hardly look better and make larger files; so does dithering, whose
# pattern would flicker where shades move.
PALETTE = "palettegen=max_colors=160:stats_mode=full"
WITH_PALETTE = "paletteuse=dither=none:diff_mode=rectangle"


def film_writer(path: Path | str) -> Callable[[Path, Iterable[Picture], float], None]:
    """Return the writer for a file's suffix; call it before a long render.

    Raises:
        EquipoiseError: If there is no such format, no such folder, or no ffmpeg.
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
    _ffmpeg(file)
    return writer


def write_png(path: Path | str, picture: Picture) -> None:
    """Write one picture, shape (height, width, 3)."""
    content = io.BytesIO()
    (checked,) = _checked(path, [picture])
    Image.fromarray(checked).save(content, "PNG", optimize=True)
    write_bytes_atomically(path, content.getvalue())


def write_gif(path: Path | str, frames: Iterable[Picture], fps: float) -> None:
    """Write a film that repeats forever, with one palette for all of it.

    Times in GIF files are hundredths of a second: single pictures are shown a little
    shorter or longer, such that the whole lasts as long as it should.

    Args:
        path: The file; its folder must exist. An old file is replaced.
        frames: Pictures of one size, shape (height, width, 3) each.
        fps: Pictures per second, at most 50; viewers slow down faster ones.

    Raises:
        EquipoiseError: If there are no pictures, no ffmpeg, or ffmpeg fails.
    """
    if not 0.0 < fps <= GREATEST_FPS:
        raise EquipoiseError(
            f"{path}: a GIF has up to {GREATEST_FPS:g} pictures a second, not {fps:g}"
        )
    with _temporary_folder(path) as folder:
        film, palette, gif = (
            folder / name for name in ("film.mp4", "palette.png", "film.gif")
        )
        count = _encode(path, frames, fps, film, "libx264rgb", LOSSLESS)
        _convert(path, [film], PALETTE, palette, "-frames:v", "1", "-update", "1")
        # ffmpeg knows when pictures begin, and not when the last one ends
        last = round(100.0 * count / fps) - round(100.0 * (count - 1) / fps)
        end = ("-final_delay", str(last))
        _convert(path, [film, palette], WITH_PALETTE, gif, *end)
        content = gif.read_bytes()
    write_bytes_atomically(path, content)


def write_mp4(path: Path | str, frames: Iterable[Picture], fps: float) -> None:
    """Write a film as H.264 that every browser and slide show plays.

    Arguments are those of :func:`write_gif`, with up to 1000 pictures per second. Odd
    sizes lose their last row or column, which the format cannot hold.

    Raises:
        EquipoiseError: If there are no pictures, no ffmpeg, or ffmpeg fails.
    """
    if not 0.0 < fps <= 1000.0:
        raise EquipoiseError(f"{path}: {fps:g} pictures a second are impossible")
    even = (
        picture[: len(picture) // 2 * 2, : picture.shape[1] // 2 * 2]
        for picture in _checked(path, frames)
    )
    with _temporary_folder(path) as folder:
        film = folder / "film.mp4"
        _encode(path, even, fps, film, "libx264", H264)
        content = film.read_bytes()
    write_bytes_atomically(path, content)


@contextmanager
def _temporary_folder(path: Path | str) -> Iterator[Path]:
    with ExitStack() as stack:
        try:
            parent = Path(tempfile.gettempdir())
            folder = stack.enter_context(staging_folder(parent, "film"))
        except OSError as error:
            raise EquipoiseError(
                f"{path}: there is no folder for temporary files ({error})"
            ) from error
        yield folder


def _encode(
    path: Path | str,
    frames: Iterable[Picture],
    fps: float,
    film: Path,
    codec: str,
    options: Iterable[str],
) -> int:
    """Write pictures to a temporary film with ffmpeg; return how many they are."""
    _ffmpeg(path)
    import imageio_ffmpeg

    sink, count = None, 0
    try:
        for picture in _checked(path, frames):
            if sink is None:
                sink = imageio_ffmpeg.write_frames(
                    str(film),
                    picture.shape[1::-1],
                    fps=fps,
                    codec=codec,
                    pix_fmt_out="rgb24" if codec == "libx264rgb" else "yuv420p",
                    quality=None,
                    macro_block_size=1,
                    ffmpeg_log_level="error",
                    output_params=[*options],
                )
                sink.send(None)
            sink.send(np.ascontiguousarray(picture))
            count += 1
    except OSError as error:
        raise _failed(path, str(error)) from error
    finally:
        if sink is not None:
            sink.close()
    if not film.is_file() or film.stat().st_size == 0:
        raise EquipoiseError(f"{path}: ffmpeg wrote no film")
    return count


def _convert(
    path: Path | str, sources: Iterable[Path], how: str, target: Path, *options: str
) -> None:
    """Run ffmpeg with a filter over one or more files."""
    inputs = [word for source in sources for word in ("-i", str(source))]
    command = [_ffmpeg(path), "-v", "error", *inputs, "-lavfi", how, *options]
    done = subprocess.run(
        [*command, str(target)], stdin=subprocess.DEVNULL, capture_output=True
    )
    if done.returncode:
        raise _failed(path, done.stderr.decode(errors="replace"))


def _failed(path: Path | str, said: str) -> EquipoiseError:
    reason = "".join(said.strip().splitlines()[-1:])
    return EquipoiseError(f"{path}: ffmpeg failed ({reason})")


def _ffmpeg(path: Path | str) -> str:
    """Return where ffmpeg is."""
    try:
        import imageio_ffmpeg

        found: str = imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError) as error:
        raise EquipoiseError(
            f"{path}: films need ffmpeg, which is not here (pip install "
            f"imageio-ffmpeg); PNG works without"
        ) from error
    return found


def _checked(path: Path | str, frames: Iterable[Picture]) -> Iterator[Picture]:
    """Yield pictures; refuse those that are not, that differ in size, or none."""
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
