"""Trials on the disk: whole rows, one owner, one purpose."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.simulation.trial_store import (
    TrialStore,
    code_hash,
    content_hash,
    store_beside,
)


def test_rows_come_back(tmp_path: Path) -> None:
    """As they were, in their order, with numbers to the last digit."""
    path, rows = tmp_path / "store", [{"x": 0.1 + 0.2, "y": None}, {"x": 1.0, "y": "é"}]
    for row in rows:
        with TrialStore(path, {"a": (1, 2)}) as store:
            store.append(row)
    with TrialStore(path, {"a": [1, 2]}) as store:
        assert list(store.rows) == rows


@pytest.mark.parametrize("cut", [1, 5, 12, 40])
def test_a_torn_row_is_dropped(tmp_path: Path, cut: int) -> None:
    """However much of the last line is missing; the rest can be gone on with."""
    path = tmp_path / "store"
    with TrialStore(path, {"a": 1}) as store:
        for k in range(3):
            store.append({"row": k, "words": "so many that a line is long"})
    path.write_bytes(path.read_bytes()[:-cut])
    with TrialStore(path, {"a": 1}) as store:
        assert [row["row"] for row in store.rows] == [0, 1]
        store.append({"row": 5})
    with TrialStore(path, {"a": 1}) as store:
        assert [row["row"] for row in store.rows] == [0, 1, 5]


def test_a_torn_head_is_begun_again(tmp_path: Path) -> None:
    """A kill before the first line is whole leaves nothing to go on with."""
    path = tmp_path / "store"
    with TrialStore(path, {"a": 1}) as store:
        store.append({"row": 0})
    head = path.read_bytes().splitlines()[0]
    for cut in (0, 3, len(head)):
        path.write_bytes(head[:cut])
        with TrialStore(path, {"a": 1}) as store:
            assert store.rows == ()
    assert not path.exists()  # as nothing was kept


def test_another_purpose_is_refused(tmp_path: Path) -> None:
    """Which part is another is said, and the file stays as it is."""
    path = tmp_path / "store"
    with TrialStore(path, {"robot": "a", "impulse_step": 0.1, "seeds": 1}) as store:
        store.append({"row": 0})
    before = path.read_bytes()
    with pytest.raises(EquipoiseError, match="another impulse step, robot; ask") as e:
        TrialStore(path, {"robot": "b", "impulse_step": 0.2, "seeds": 1})
    assert str(path) in str(e.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"hello\n", b"hello", b"[1]\n", b'{"a": 1}\n{\n'])
def test_other_files_are_left_alone(tmp_path: Path, content: bytes) -> None:
    """What Equipoise did not write is not written to."""
    path = tmp_path / "store"
    path.write_bytes(content)
    with pytest.raises(EquipoiseError, match="is not a file of trials"):
        TrialStore(path, {})
    assert path.read_bytes() == content


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """A second one is told."""
    path = tmp_path / "store"
    with (
        TrialStore(path, {}),
        pytest.raises(EquipoiseError, match="another process is doing these trials"),
    ):
        TrialStore(path, {})


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
