"""``equipoise film`` as a user meets it: what it writes, refuses and says."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from PIL import Image
from runs import swaying
from said import Say

from equipoise.staging import staging_folder

SMALL = ("--size", "64", "48")


@pytest.fixture
def say(say: Say) -> Say:
    """Run ``equipoise film`` in this process."""
    return lambda *words: say("film", *words)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of half a second of swaying."""
    return swaying(seconds=0.5).save(tmp_path_factory.mktemp("runs") / "one")


def test_a_film_and_a_picture(say: Say, kept: Path, tmp_path: Path) -> None:
    """As many pictures as asked for, of the size asked for; the file is named."""
    out = tmp_path / "film.gif"
    said = say(kept, "--out", out, *SMALL, "--fps", "10")
    assert (said.status, said.err) == (0, "")
    assert said.out == f"written: {out}\n"
    with Image.open(out) as film:
        assert (film.size, film.n_frames) == ((64, 48), 6)
    out = tmp_path / "picture.png"
    for when in ("0", "0.5"):
        assert say(kept, "--out", out, *SMALL, "--at", when, "--force").status == 0
    with Image.open(out) as picture:
        assert picture.size == (64, 48)


@pytest.mark.parametrize(
    ("out", "words", "reason"),
    [
        ("a.gif", ["--fps", "0"], "fps is 0; it must be above zero"),
        ("a.gif", ["--fps", "nan"], "fps is nan"),
        ("a.gif", ["--speed", "0"], "speed is 0"),
        ("a.gif", ["--from", "2", "--to", "1"], "nothing to film from 2 s to 1 s"),
        ("a.gif", ["--at", "0.1"], "--at is for one picture: --out FILE.png"),
        ("a.png", ["--at", "nan"], "no picture at nan s: the run goes from 0 s"),
        ("a.png", ["--at", "9"], "no picture at 9 s"),
        ("a.png", ["--at", "-1"], "no picture at -1 s"),
        ("a.png", ["--size", "0", "0"], "a picture of 0 x 0 px"),
        ("a.jpg", [], "films end in .gif or .mp4, pictures in .png, not in '.jpg'"),
        ("no/a.png", [], "no' does not exist"),
        ("no/a.gif", [], "no' does not exist"),
    ],
)
def test_what_cannot_be_is_told(
    out: str, words: list[str], reason: str, say: Say, kept: Path, tmp_path: Path
) -> None:
    """One line that says why, status 2, and nothing is left behind."""
    said = say(kept, "--out", tmp_path / out, *SMALL, *words)
    assert (said.status, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert reason in said.err
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_only_by_force(say: Say, kept: Path, tmp_path: Path) -> None:
    """What is there stays, unless it is said that it may go."""
    out = tmp_path / "a.png"
    out.write_text("mine", encoding="utf-8")
    assert "exists already; --force replaces it" in say(kept, "--out", out).err
    assert out.read_text(encoding="utf-8") == "mine"
    assert say(kept, "--out", out, *SMALL, "--force").status == 0


def test_a_folder_is_not_replaced_by_force(
    say: Say, kept: Path, tmp_path: Path
) -> None:
    """It is refused at once, with all that is in it as it was."""
    inside = tmp_path / "a.gif" / "notes.txt"
    inside.parent.mkdir()
    inside.write_text("mine", encoding="utf-8")
    said = say(kept, "--out", inside.parent, *SMALL, "--force")
    assert (said.status, said.out, said.err.count("\n")) == (2, "", 1)
    assert "is a folder, cannot be written as a file" in said.err
    assert inside.read_text(encoding="utf-8") == "mine"


def test_temporary_files_of_a_killed_film_are_removed(
    say: Say, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next film removes them from the folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with staging_folder(tmp_path, "film") as folder:
        shutil.copytree(folder, tmp_path / ".film.0123abcd.equipoise.part")
    out = tmp_path / "a.gif"
    words = ["--to", "0.1", "--fps", "10"]
    assert say(kept, "--out", out, *SMALL, *words).status == 0
    assert list(tmp_path.iterdir()) == [out]
