from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from equipoise.kernels import runtime

QUIET = "import logging; logging.getLogger('equipoise').setLevel('ERROR')\n"

ONE_BATCH = """
from equipoise.kinematics.com import com
from equipoise.robot.load import load
robot = load("three-link")
assert com(robot, [robot.standing]).shape == (1, 3)
"""

EIGHT_THREADS = """
import threading
import numpy as np
from equipoise.kinematics.com import com_and_jacobian, com_velocity
from equipoise.robot.load import load
robot = load("three-link")
q, v = np.tile(robot.standing, (9, 1)), np.ones((9, robot.nv))
together, results = threading.Barrier(8), []
def first_calls():
    together.wait()
    result = com_and_jacobian(robot, q)
    moved = np.einsum("nij,nj->ni", result.jacobian, v)
    results.append(np.abs(com_velocity(robot, q, v) - moved).max())
threads = [threading.Thread(target=first_calls) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(results) == 8 and max(results) < 1e-12, results
"""


def start(script: str, **environment: object) -> subprocess.Popen[str]:
    """Start Python on a script, with further environment variables."""
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {name: str(value) for name, value in environment.items()},
    )


@pytest.mark.slow
def test_threads_may_start_together(tmp_path):
    """Eight threads make their first calls at once: right, silent, in one cache."""
    for _ in range(3):  # the first compiles
        process = start(QUIET + EIGHT_THREADS, WARP_CACHE_PATH=tmp_path)
        assert process.communicate() == ("", "")
        assert process.returncode == 0
    assert [folder.name for folder in tmp_path.iterdir()] == [wp.config.version]
    assert not (tmp_path / wp.config.version / wp.config.version).exists()


@pytest.mark.slow
def test_processes_may_start_together(tmp_path):
    """Two processes compile into the same empty cache at once.

    Objects carry the CPU's features in their names: machines may share a cache.
    """
    processes = [start(QUIET + ONE_BATCH, WARP_CACHE_PATH=tmp_path) for _ in range(2)]
    for process in processes:
        assert process.communicate() == ("", "")
        assert process.returncode == 0
    (path,) = tmp_path.rglob("*.o")
    target = path.suffixes[-2].removeprefix(".cpu")
    runtime.start()
    flags = runtime.MODULE_OPTIONS["cpu_compiler_flags"]
    assert wp.get_cpu_kernel_cache_key(cpu_compiler_flags=flags).endswith(target)
    assert not wp.get_cpu_kernel_cache_key(cpu_compiler_flags="").endswith(target)


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        {"XDG_CACHE_HOME": "/proc/x", "WARP_CACHE_PATH": None},
        {"WARP_CACHE_PATH": __file__},
    ],
)
def test_without_a_cache_kernels_go_to_a_temporary_folder(
    environment, tmp_path, monkeypatch
):
    """A cache that cannot be written costs a line in the log, and leaves nothing."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name, value in environment.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    process = start(ONE_BATCH)
    printed, logged = process.communicate()
    assert process.returncode == 0
    assert printed == ""
    notice, compiling = logged.splitlines()
    assert "cannot be written" in notice
    assert "set WARP_CACHE_PATH" in notice
    assert compiling.startswith("compiling kernels for cpu")
    assert list(tmp_path.iterdir()) == []


FULL_DISK = """
import os
def full_disk(*_, **__):
    raise OSError("No space left on device")
os.mkdir = full_disk
"""


def test_without_any_folder_the_error_names_the_variable():
    """With no folder at all to compile into, one line says what to set."""
    process = start(FULL_DISK + ONE_BATCH, WARP_CACHE_PATH="/proc/x")
    _, logged = process.communicate()
    assert process.returncode != 0
    last = logged.splitlines()[-1]
    assert re.search(r"EquipoiseError: .*/proc/x.*set WARP_CACHE_PATH", last)


FRAMES = """
import equipoise as eq
robot = eq.load("three-link")
if {compile_another}:
    eq.com(robot, robot.standing[None])
eq.frame_pose(robot, robot.standing[None], robot.model.frames[1].name)
"""


@pytest.mark.slow
def test_place_in_cache_does_not_depend_on_what_was_compiled(tmp_path: Path) -> None:
    """A kernel is found again, whatever else was compiled before it."""
    logs = []
    for another in (True, False):
        process = start(
            FRAMES.format(compile_another=another), WARP_CACHE_PATH=tmp_path
        )
        logs.append(process.communicate()[1])
        assert process.returncode == 0
    assert logs[0].startswith("compiling kernels")
    assert logs[1] == ""


@wp.struct
class Factors:
    """A number and an array."""

    first: wp.float64
    numbers: wp.array[wp.float64]


@wp.kernel(module="unique")
def scaled_sum(
    factors: Factors, rows: wp.array2d[wp.vec3d], total: wp.array[wp.float64]
) -> None:
    """Add products to a total."""
    for row in range(rows.shape[1]):
        total[0] = total[0] + factors.first * factors.numbers[row] * rows[0, row][2]


@pytest.mark.parametrize("known", [runtime.CALLS_KNOWN, "no such version"])
def test_a_recorded_launch_runs_again_and_again(known, monkeypatch):
    """With arguments laid out once or by Warp: each run reads arrays as they are."""
    monkeypatch.setattr(runtime, "CALLS_KNOWN", known)
    device = runtime.device_named("cpu")
    memory, (rows, total) = runtime.adjoining(
        wp.float64, (wp.vec3d, 2), (wp.float64, 1)
    )
    factors = Factors()
    factors.first = 2.0
    factors.numbers = wp.array([3.0, 5.0], dtype=wp.float64, device=device)
    recorded = runtime.record(scaled_sum, 1, [factors, rows, total[0]], device)
    assert (recorded.call == recorded.command.launch) == (known == "no such version")
    memory[2] = 1.0
    recorded.run()
    assert memory[-1] == 6.0
    memory[5] = 10.0
    recorded.run()
    assert memory[-1] == 112.0
    assert np.array_equal(rows.numpy()[0, :, 2], [1.0, 10.0])
