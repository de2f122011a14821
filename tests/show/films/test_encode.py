from __future__ import annotations

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from equipoise.errors import EquipoiseError
from equipoise.show.films.encode import film_writer, write_gif, write_mp4, write_png

WRITERS = {"film.gif": write_gif, "film.mp4": write_mp4}


def film(count=12, height=48, width=64):
    """Return pictures of a red square that moves over a soft grey slope."""
    frames = []
    for k in range(count):
        grey = np.linspace(200, 250, width)[None, :, None] * np.ones((height, 1, 3))
        picture = grey.astype(np.uint8)
        picture[10:20, 3 * k : 3 * k + 10] = (220, 40, 40)
        frames.append(picture)
    return frames


def read_gif(path):
    """Return pictures and their durations [s]."""
    pictures, durations = [], []
    with Image.open(path) as image:
        for k in range(image.n_frames):
            image.seek(k)
            durations.append(image.info["duration"] / 1000.0)
            pictures.append(np.asarray(image.convert("RGB")))
        assert image.info["loop"] == 0
    return np.array(pictures), np.array(durations)


def read_mp4(path):
    """Return what ffmpeg says of a film, and its pictures."""
    reader = imageio_ffmpeg.read_frames(str(path))
    said = next(reader)
    width, height = said["size"]
    frames = [
        np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in reader
    ]
    return said, np.array(frames)


@pytest.mark.parametrize("fps", [50.0, 30.0, 24.0, 7.0])
def test_gif_has_the_pictures_and_the_duration(tmp_path, fps):
    """As many pictures as given, close to them, and as long in all."""
    frames = film()
    write_gif(tmp_path / "film.gif", iter(frames), fps)
    pictures, durations = read_gif(tmp_path / "film.gif")
    assert pictures.shape == (12, 48, 64, 3)
    assert np.abs(pictures.astype(int) - np.array(frames)).max() < 16
    assert durations.sum() == pytest.approx(12 / fps, abs=0.0051)
    assert np.abs(durations - 1.0 / fps).max() <= 0.0101


def test_gif_does_not_flicker(tmp_path):
    """Where pictures are the same, the film is the same; a still film stays whole."""
    frames = film()
    write_gif(tmp_path / "film.gif", frames, 20)
    pictures, _ = read_gif(tmp_path / "film.gif")
    assert (pictures[:, 25:] == pictures[0, 25:]).all()
    write_gif(tmp_path / "still.gif", [frames[0]] * 5, 20)
    pictures, durations = read_gif(tmp_path / "still.gif")
    assert durations.sum() == pytest.approx(0.25)
    assert (pictures == pictures[0]).all()


def test_gif_stores_only_what_changes(tmp_path):
    """Many pictures of a small motion are hardly larger than one picture."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (120, 160, 3)).astype(np.uint8)
    frames = [noise.copy() for _ in range(20)]
    for k, frame in enumerate(frames):
        frame[5:10, k : k + 5] = 0
    write_gif(tmp_path / "one.gif", frames[:1], 20)
    write_gif(tmp_path / "all.gif", frames, 20)
    one, many = ((tmp_path / name).stat().st_size for name in ("one.gif", "all.gif"))
    assert many < 1.2 * one


def test_mp4_plays_everywhere(tmp_path, capfd):
    """H.264, yuv420p, index first, even size, right rate; nothing on the console."""
    write_mp4(tmp_path / "film.mp4", iter(film(25, 51, 65)), 25)
    said, pictures = read_mp4(tmp_path / "film.mp4")
    assert said["codec"] == "h264"
    assert said["pix_fmt"].startswith("yuv420p")
    assert said["size"] == (64, 50)
    assert said["fps"] == pytest.approx(25)
    assert said["duration"] == pytest.approx(1.0, abs=0.05)
    assert len(pictures) == 25
    assert np.abs(pictures[0].astype(int) - film()[0][0, 0, 0])[30:].mean() < 30
    content = (tmp_path / "film.mp4").read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", WRITERS)
def test_same_pictures_same_bytes(tmp_path, name):
    """Films can be compared by their files."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        WRITERS[name](tmp_path / folder / name, film(), 25)
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, EquipoiseError, ValueError])
def test_nothing_is_left_of_a_film_that_fails(tmp_path, name, error):
    """If pictures stop coming, an old file stays and no other appears."""
    (tmp_path / name).write_bytes(b"old")

    def frames():
        yield from film()[:3]
        raise error("stop")

    with pytest.raises(error):
        WRITERS[name](tmp_path / name, frames(), 25)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"old"


@pytest.mark.parametrize("name", WRITERS)
def test_impossible_films_are_refused(tmp_path, name):
    """No pictures, pictures of two sizes, no rate, a missing folder."""
    write, path = WRITERS[name], tmp_path / name
    with pytest.raises(EquipoiseError, match="no pictures"):
        write(path, [], 25)
    with pytest.raises(EquipoiseError, match="one size"):
        write(path, [film()[0], film(width=66)[0]], 25)
    with pytest.raises(EquipoiseError, match="bytes"):
        write(path, [np.zeros((4, 4))], 25)
    with pytest.raises(EquipoiseError, match="pictures a second"):
        write(path, film(), 0)
    with pytest.raises(EquipoiseError, match="does not exist"):
        write(tmp_path / "none" / name, film(), 25)
    assert list(tmp_path.iterdir()) == []


def test_format_is_known_by_its_suffix(tmp_path):
    """An unknown suffix names the valid ones; a missing folder is said early."""
    assert film_writer(tmp_path / "a.GIF") is write_gif
    assert film_writer(tmp_path / "a.mp4") is write_mp4
    with pytest.raises(EquipoiseError, match=r"\.gif or \.mp4, .*, not in '\.avi'"):
        film_writer("film.avi")
    with pytest.raises(EquipoiseError, match="does not exist"):
        film_writer(tmp_path / "none" / "a.gif")


@pytest.mark.parametrize("name", WRITERS)
def test_film_without_ffmpeg(tmp_path, monkeypatch, name):
    """The message says what is missing, and that PNG works."""

    def none():
        raise RuntimeError("No ffmpeg exe could be found.")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", none)
    with pytest.raises(EquipoiseError, match="PNG works without"):
        film_writer(tmp_path / name)
    write_png(tmp_path / "a.png", film()[0])


def test_png_is_exact(tmp_path):
    """A picture is read back byte for byte."""
    write_png(tmp_path / "a.png", film()[3])
    with Image.open(tmp_path / "a.png") as image:
        np.testing.assert_array_equal(np.asarray(image), film()[3])
