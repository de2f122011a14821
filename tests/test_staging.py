"""What is left of a write that was killed, and who removes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.atomic_file import write_files_atomically, write_text_atomically
from equipoise.staging import (
    NEW,
    put_in_place,
    remove_leftovers,
    staging_folder,
)

# Writes a folder or two files again and again, each time in a process that kills itself
# one step later: before the first call of the operating system, the second, and so on.
KILLED_AT_EVERY_STEP = """
import os, signal, sys
from pathlib import Path
from equipoise.atomic_file import write_files_atomically
from equipoise.staging import (
    NEW, put_in_place, remove_leftovers, staging_folder,
)

kind, there = sys.argv[1], sys.argv[2] == "there"
parent = Path.cwd()
names = ("a.txt", "b.txt")


def write(text):
    if kind == "files":
        write_files_atomically({parent / name: text.encode() for name in names})
        return
    with staging_folder(parent, "out") as staging:
        (staging / NEW).mkdir()
        for name in names:
            (staging / NEW / name).write_text(text)
        put_in_place(staging, parent / "out")


def found():
    folder = parent if kind == "files" else parent / "out"
    return [
        (folder / name).read_text() if (folder / name).exists() else None
        for name in names
    ]


def hidden():
    return [name for name in os.listdir(parent) if name.startswith(".")]


kills = dirty = 0
while True:
    for name in names:
        (parent / name).unlink(missing_ok=True)
    if (parent / "out").exists():
        os.rename(parent / "out", parent.parent / f"used-{kills}")
    if there:
        write("old")
    child = os.fork()
    if child == 0:
        steps = 0

        def step(event, arguments):
            global steps
            if event in ("open", "fcntl.flock") or event.startswith(("os.", "shutil.")):
                steps += 1
                if steps == kills + 1:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(step)
        write("new")
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status == 0:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL, status
    kills += 1
    dirty += bool(hidden())
    remove_leftovers(parent)
    assert hidden() == [], (kills, hidden())
    before = "old" if there else None
    if kind == "files":
        assert all(text in (before, "new") for text in found()), (kills, found())
    else:
        assert found() in ([before] * 2, ["new"] * 2), (kills, found())
assert hidden() == []
assert found() == ["new", "new"]
print(kills, dirty)
"""


@pytest.mark.parametrize("kind", ["folder", "files"])
@pytest.mark.parametrize("before", ["there", "absent"])
def test_a_kill_at_any_step_leaves_the_old_or_the_new(
    kind: str, before: str, tmp_path: Path
) -> None:
    """Before whichever call it strikes; what else it left is found and removed."""
    (tmp_path / "work").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_EVERY_STEP, kind, before],
        cwd=tmp_path / "work",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    kills, dirty = map(int, done.stdout.split())
    assert kills > 10
    assert dirty > 5


HOLDS_A_STAGING_FOLDER = """
from pathlib import Path
from equipoise.staging import staging_folder
with staging_folder(Path.cwd(), "out") as folder:
    (folder / "half").write_text("of it")
    print(folder.name, flush=True)
    input()
"""


def test_what_a_living_process_makes_is_left_alone(tmp_path: Path) -> None:
    """Its folder stays as long as it lives, and goes when it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_STAGING_FOLDER],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        folder = tmp_path / process.stdout.readline().strip()
        write_text_atomically(tmp_path / "other.txt", "beside it")
        assert (folder / "half").read_text(encoding="utf-8") == "of it"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert folder.is_dir()
    write_text_atomically(tmp_path / "other.txt", "beside it")
    assert os.listdir(tmp_path) == ["other.txt"]


def test_an_old_folder_that_was_taken_away_is_put_back(tmp_path: Path) -> None:
    """Killed between the two renames, the old folder has its name again."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").write_text("old", encoding="utf-8")
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from equipoise.staging import NEW, put_in_place, staging_folder\n"
        "sys.addaudithook(lambda event, what: event == 'os.rename' and "
        "str(what[0]).endswith('new') and os.kill(os.getpid(), signal.SIGKILL))\n"
        "with staging_folder(Path.cwd(), 'out') as staging:\n"
        "    (staging / NEW).mkdir()\n"
        "    put_in_place(staging, Path.cwd() / 'out')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    remove_leftovers(tmp_path)
    assert os.listdir(tmp_path) == ["out"]
    assert (tmp_path / "out" / "file").read_text(encoding="utf-8") == "old"


def test_an_old_folder_that_cannot_be_put_back_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If renaming fails twice, the old folder is not lost but found by the next."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").write_text("old", encoding="utf-8")
    really = os.rename

    def fail(source: Path, target: Path) -> None:
        if Path(target).name == "out":
            raise OSError(5, "Input/output error")
        really(source, target)

    def write() -> None:
        with staging_folder(tmp_path, "out") as staging:
            (staging / NEW).mkdir()
            put_in_place(staging, tmp_path / "out")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fail)
        with pytest.raises(OSError, match="Input/output"):
            write()
    remove_leftovers(tmp_path)
    assert (tmp_path / "out" / "file").read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_files_of_others_are_not_leftovers(tmp_path: Path) -> None:
    """Only folders of our own making are removed: hidden, with our ending, and ours."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis.tex").write_text("years of work", encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    (work / ".out.0123abcd.part").write_text("an editor's", encoding="utf-8")
    (work / ".out.0123abcd.equipoise.part").symlink_to(elsewhere)
    (work / ".file.0123abcd.equipoise.part").write_text("a file", encoding="utf-8")
    (work / "out.equipoise.part").mkdir()
    before = sorted(os.listdir(work))
    remove_leftovers(work)
    assert sorted(os.listdir(work)) == before
    assert os.listdir(elsewhere) == ["thesis.tex"]


def test_names_of_any_kind_are_staged(tmp_path: Path) -> None:
    """The longest that the file system takes, and bytes that are not UTF-8."""
    for name in ("x" * 255, "µ" * 127, os.fsdecode(b"\xff\xfe.txt"), "two\nlines"):
        write_files_atomically({tmp_path / name: b"content"})
        assert (tmp_path / name).read_bytes() == b"content"
    assert len(os.listdir(tmp_path)) == 4


def test_a_folder_that_is_missing_or_locked_has_no_leftovers(tmp_path: Path) -> None:
    """Looking for leftovers never fails."""
    remove_leftovers(tmp_path / "missing")
    (tmp_path / "file").write_text("", encoding="utf-8")
    remove_leftovers(tmp_path / "file")
