"""Mesh files that crash their reader, never end or ask for all of the memory."""

from __future__ import annotations

import multiprocessing
import os
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from equipoise.robot import mesh_worker
from equipoise.robot.mesh import read_mesh

COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="{unit}"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p">
<float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
<technique_common><accessor source="#pa" count="4" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""
TETRAHEDRON = '<node id="n"><instance_geometry url="#g"/></node>'
ITSELF = '<node id="n"><instance_node url="#n"/></node>'
# Each node holds the next one twice: 2³⁰ of them.
DOUBLING = "".join(
    f'<node id="n{at}">{f"""<instance_node url="#n{at + 1}"/>""" * 2}</node>'
    for at in range(30)
) + TETRAHEDRON.replace('"n"', '"n30"')


def collada(path: Path, nodes: str = TETRAHEDRON, unit: str = "1") -> Path:
    """Write a COLLADA file of some nodes."""
    path.write_text(COLLADA.format(nodes=nodes, unit=unit), encoding="utf-8")
    return path


@pytest.mark.parametrize("nodes", [ITSELF, DOUBLING], ids=["itself", "doubling"])
def test_readers_that_crash_or_run_away_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: str
) -> None:
    """Such a file is no mesh, within the time; the next one is read as ever."""
    monkeypatch.setattr(mesh_worker, "SECONDS", 5.0)
    assert read_mesh(collada(tmp_path / "hostile.dae", nodes)) is None
    found = read_mesh(collada(tmp_path / "sound.dae"))
    assert found is not None
    assert found.triangles.shape == (4, 3)


@pytest.mark.parametrize("unit", ["nan", "inf", "-1", "0", "1e999", "word"])
def test_impossible_units_are_metres(tmp_path: Path, unit: str) -> None:
    """A unit that is no length counts as one metre."""
    found = read_mesh(collada(tmp_path / "mesh.dae", unit=unit))
    assert found is not None
    assert np.ptp(found.vertices) == 1.0


def test_meshes_beyond_single_precision_are_none(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """A mesh of 10³⁰⁰ m is not one, and NumPy says nothing."""
    assert read_mesh(collada(tmp_path / "mesh.dae", unit="1e300")) is None
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize("count", [2**32 - 1, 2**31, 10**6])
def test_stl_headers_that_promise_too_much(tmp_path: Path, count: int) -> None:
    """A header of billions of triangles costs no more than the file is long."""
    path = tmp_path / "mesh.stl"
    path.write_bytes(b"\0" * 80 + struct.pack("<I", count) + b"\0" * 100)
    assert read_mesh(path) is None


def read_in_child(path: Path) -> None:
    """Read a mesh, and end the process that did."""
    found = mesh_worker.read_with_coal(path)
    mesh_worker.end_worker()
    sys.exit(0 if found is not None else 1)


def test_forked_processes_ask_a_worker_of_their_own(tmp_path: Path) -> None:
    """A child's questions do not get the answers to its parent's."""
    assert read_mesh(collada(tmp_path / "before.dae")) is not None
    child = multiprocessing.get_context("fork").Process(
        target=read_in_child, args=(collada(tmp_path / "child.dae"),)
    )
    child.start()
    child.join()
    assert child.exitcode == 0
    assert read_mesh(collada(tmp_path / "after.dae")) is not None


def test_pipes_are_no_meshes(tmp_path: Path) -> None:
    """A named pipe is not waited for."""
    for name in ("pipe.stl", "pipe.dae"):
        os.mkfifo(tmp_path / name)
        assert read_mesh(tmp_path / name) is None


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process")
def test_a_worker_left_without_memory_is_replaced(tmp_path: Path) -> None:
    """A sound mesh is not refused for what the worker read before it."""
    import resource

    mesh_worker.end_worker()
    before = _children()
    assert read_mesh(collada(tmp_path / "before.dae")) is not None
    (worker,) = _children() - before
    resource.prlimit(worker, resource.RLIMIT_AS, (1 << 20, 1 << 20))
    assert read_mesh(_large_obj(tmp_path / "large.obj")) is not None
    assert worker not in _children()


def _children() -> set[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


def _large_obj(path: Path) -> Path:
    points = np.random.default_rng(0).random((200_000, 3))
    lines = [f"v {x} {y} {z}" for x, y, z in points]
    lines += [f"f {at} {at + 1} {at + 2}" for at in range(1, len(points) - 1)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
