"""Results on the disk: whole batches, one owner, one purpose."""

from __future__ import annotations

import dataclasses
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.study.store import (
    ResultStore,
    code_hash,
    content_hash,
    remove_store,
    store_beside,
)


def test_rows_come_back(tmp_path: Path) -> None:
    """As they were, in the order of their numbers, with numbers to the last digit."""
    path, columns = tmp_path / "store", ("x", "y", "z")
    rows = [(0, (0.1 + 0.2, None, True)), (1, (1.0, "é", 3)), (7, (None, "", False))]
    for row in reversed(rows):
        with ResultStore(path, {"a": (1, 2)}, columns) as store:
            store.write([row])
    with ResultStore(path, {"a": [1, 2]}, columns) as store:
        found = list(store.rows())
        assert found == rows
        assert [type(value) for value in found[1][1]] == [float, str, int]
        assert store.count() == 3
        assert 7 in store
        assert 2 not in store


def test_what_is_not_finite_is_missing(tmp_path: Path) -> None:
    """A table has no NaN; NumPy's numbers become Python's."""
    row = (float("nan"), np.float64(np.inf), np.float32(0.5), np.bool_(True))
    with ResultStore(tmp_path / "store", {}, "abcd") as store:
        store.write([(0, row)])
        assert list(store.rows()) == [(0, (None, None, 0.5, True))]


def test_rows_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    """A number that is there already: the batch is refused, the rest stays."""
    with ResultStore(tmp_path / "store", {}, ["x"]) as store:
        store.write([(0, [0]), (1, [1])])
        with pytest.raises(EquipoiseError, match="cannot be written"):
            store.write([(2, [2]), (1, [5])])
        with pytest.raises(EquipoiseError, match="2 values for 1 columns"):
            store.write([(3, [1, 2])])
        assert list(store.rows()) == [(0, (0,)), (1, (1,))]


KILLED = """
import os, signal, sys
from equipoise.study.store import ResultStore

store = ResultStore(sys.argv[1], {"a": 1}, ["x"])
for number in range(3):
    store.write([(10 * number + k, [k]) for k in range(10)])
print("written", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_written_outlives_a_kill(tmp_path: Path) -> None:
    """Without being closed: all batches are there, and nothing is left in the end."""
    path = tmp_path / "store"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, check=False
    )
    assert done.returncode == -9
    assert done.stdout == b"written\n"
    with ResultStore(path, {"a": 1}, ["x"]) as store:
        assert [number for number, _ in store.rows()] == list(range(30))
    remove_store(path)
    assert list(tmp_path.iterdir()) == []


def test_a_torn_begin_is_begun_again(tmp_path: Path) -> None:
    """An empty file is what a kill leaves before anything was written."""
    path = tmp_path / "store"
    path.touch()
    with ResultStore(path, {"a": 1}, ["x"]) as store:
        assert store.count() == 0
    assert not path.exists()  # as nothing was kept


def test_another_purpose_is_refused(tmp_path: Path) -> None:
    """Which part is another is said, and the file stays as it is."""
    path = tmp_path / "store"
    asked = {"robot": "a", "impulse_step": 0.1, "seeds": 1}
    with ResultStore(path, asked, ["x"]) as store:
        store.write([(0, [1])])
    before = path.read_bytes()
    with pytest.raises(EquipoiseError, match="another impulse step, robot; ask") as e:
        ResultStore(path, {"robot": "b", "impulse_step": 0.2, "seeds": 1}, ["x"])
    assert str(path) in str(e.value)
    with pytest.raises(EquipoiseError, match="another columns; ask"):
        ResultStore(path, asked, ["y"])
    assert path.read_bytes() == before


def foreign_database(path: Path) -> None:
    """Write somebody else's SQLite file."""
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE results (x)")
    base.commit()
    base.close()


@pytest.mark.parametrize("content", [b"hello\n", b"[1]\n" * 1000, None])
def test_other_files_are_left_alone(tmp_path: Path, content: bytes | None) -> None:
    """What Equipoise did not write is not written to."""
    path = tmp_path / "store"
    if content is None:
        foreign_database(path)
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(EquipoiseError, match="is not a store of results"):
        ResultStore(path, {}, ["x"])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """A second one is told, and takes nothing away from the first."""
    path = tmp_path / "store"
    with ResultStore(path, {}, ["x"]) as store:
        with pytest.raises(EquipoiseError, match="another process is at work on it"):
            ResultStore(path, {}, ["x"])
        store.write([(0, [1])])
    with ResultStore(path, {}, ["x"]) as store:
        assert store.count() == 1


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """One line that names the file."""
    with pytest.raises(EquipoiseError, match="store: cannot be written"):
        ResultStore(tmp_path / "no" / "store", {}, ["x"])


def test_folders_have_stores_of_their_own(tmp_path: Path) -> None:
    """Hidden, beside the folder, also where long names begin alike."""
    first, second = (store_beside(tmp_path / f"{'x' * 200}{k}") for k in "ab")
    assert first.parent == tmp_path
    assert first.name.startswith(".")
    assert first != second
    assert len(first.name) < 100


@dataclasses.dataclass
class Thing:
    """Some content."""

    values: np.ndarray
    names: dict[str, float]
    where: Path | None = None


def test_the_same_content_has_the_same_hash() -> None:
    """And any other has another; folders of paths do not count."""
    thing = Thing(np.arange(3.0), {"a": 1.0}, Path("/x/robot.urdf"))
    same = Thing(np.arange(3.0), {"a": 1.0}, Path("/y/robot.urdf"))
    assert content_hash(thing) == content_hash(same)
    for other in (
        dataclasses.replace(thing, values=np.arange(4.0)),
        dataclasses.replace(thing, values=np.arange(3)),
        dataclasses.replace(thing, names={"a": 2.0}),
        dataclasses.replace(thing, names={"b": 1.0}),
        dataclasses.replace(thing, where=None),
    ):
        assert content_hash(other) != content_hash(thing)
    assert content_hash({1, 2}, True) == content_hash({2, 1}, True)
    assert code_hash(("cli",)) == code_hash(("cli",)) != code_hash()
