from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
import zlib
from itertools import pairwise

import numpy as np
import pytest
from runs import joints_only, swaying

from equipoise.log.surroundings import Block, Surroundings
from equipoise.robot.load import load
from equipoise.robot.mesh import Mesh
from equipoise.show.pages.report import report
from equipoise.show.pages.report_replay import (
    MOST_FRAMES,
    frame_rows,
    replay,
    replay_bytes,
    replay_script,
)
from equipoise.show.space.scene import RunScene
from equipoise.show.space.solids import MOST_TRIANGLES

IDENTITY = [0.0, 0.0, 0.0, 1.0]
SLOPE = Mesh(
    np.array([[-9, -9, -0.9], [9, -9, 0.9], [9, 9, 0.9], [-9, 9, -0.9]], np.float32),
    np.array([[0, 1, 2], [0, 2, 3]], np.int32),
)
STEP = Mesh(
    np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0.1], [-1, 1, 0]], np.float32),
    np.array([[0, 1, 2], [0, 2, 3]], np.int32),
)


def unpack(content: bytes) -> dict:
    """Read what report_replay writes, by its description: header, and arrays in it."""
    length = int.from_bytes(content[:4], "little")
    header = json.loads(content[4 : 4 + length])
    for name, (kind, first, count) in header["arrays"].items():
        dtype = np.dtype(kind).newbyteorder("<")
        array = np.frombuffer(content, dtype, count, 4 + length + first)
        if kind in ("int16", "uint16", "uint32"):
            array = np.cumsum(array, dtype=dtype)
        header["arrays"][name] = array
    return header


@pytest.fixture(scope="module")
def scene() -> RunScene:
    """A second of swaying at 100 Hz, beside a wall and a box."""
    block = Block(np.array([2.0, 0.0, 0.5, *IDENTITY]), np.array([0.1, 2.0, 1.0]))
    surroundings = Surroundings(STEP, (block,), (block,))
    return RunScene(swaying(surroundings=surroundings))


@pytest.fixture(scope="module")
def packed(scene) -> dict:
    """It, packed and unpacked."""
    return unpack(replay_bytes(scene))


def points(packed: dict, name: str) -> np.ndarray:
    """Return a track in the world, shape (frames, 3)."""
    frames, arrays = packed["frames"], packed["arrays"]
    whole = arrays[name].reshape(3, frames).T
    return arrays["com"].reshape(3, frames).T + packed["steps"][name] * whole


def test_poses_come_back(scene, packed):
    """Positions within half a step (below 0.1 mm), quaternions within 5e-5."""
    rows = frame_rows(scene.run.time)
    frames = packed["frames"]
    assert len(rows) == frames == 51
    joints = sorted({body.joint for body in scene.bodies})
    numbers = packed["arrays"]["poses"].reshape(len(joints) + 1, 7, frames)
    com = packed["arrays"]["com"].reshape(3, frames).T
    for at, row in enumerate(rows):
        moment = scene.moment(int(row))
        wanted = np.concatenate([moment.joint_poses[joints], moment.boxes[:1]])
        steps = np.array(packed["steps"]["poses"])
        assert steps.max() < 1e-4
        position = com[at] + steps[:, None] * numbers[:, :3, at]
        assert np.abs(position - wanted[:, :3]).max() < 0.5 * steps.max() + 1e-6
        turn = numbers[:, 3:, at] / 32767.0
        error = np.minimum(
            np.abs(turn - wanted[:, 3:]).max(axis=1),
            np.abs(turn + wanted[:, 3:]).max(axis=1),
        )
        assert error.max() < 5e-5


def test_turns_go_the_short_way(packed):
    """Quaternions do not jump to their negative: players blend them as they are."""
    turns = packed["arrays"]["poses"].reshape(-1, 7, packed["frames"])[:, 3:]
    along = np.einsum("kif,kif->kf", turns[..., 1:] / 32767, turns[..., :-1] / 32767)
    assert along.min() > 0.0


def test_points_come_back(scene, packed):
    """CoM, ZMP, support and forces are where they were; ZMP is absent in the air."""
    run, arrays = scene.run, packed["arrays"]
    rows = frame_rows(run.time)
    moments = [scene.moment(int(row)) for row in rows]
    shown = arrays["zmpShown"].astype(bool)
    assert (shown == run.supported[rows]).all()
    assert not shown.all()
    assert np.abs(points(packed, "zmp")[shown] - run.zmp[rows][shown]).max() < 1e-4
    for name, lists in (
        ("support", [m.support for m in moments]),
        ("forces", [np.array(m.forces).reshape(-1, 3) for m in moments]),
    ):
        counts = arrays[f"{name}Counts"]
        assert counts.tolist() == [len(some) for some in lists]
        com = np.repeat(arrays["com"].reshape(3, -1).T, counts, axis=0)
        found = com + packed["steps"][name] * arrays[name].reshape(-1, 3)
        assert np.abs(found - np.concatenate(lists)).max() < 1e-4
    labels = [path["label"] for path in packed["paths"]]
    assert labels == ["CoM, planned", "ZMP", "CoM"]
    assert np.abs(points(packed, "path2") - run.com[rows]).max() < 1e-5


def test_meshes_come_back(scene, packed):
    """Vertices of bodies, box, wall and ground within half a step of their size."""
    solids, arrays = packed["solids"], packed["arrays"]
    assert len(solids) == len(scene.bodies) + 3
    assert packed["hasGround"]
    vertices = arrays["vertices"].reshape(3, -1).T
    ends = np.cumsum([0, *(solid["vertices"] for solid in solids)])
    for body, solid, (first, last) in zip(
        scene.bodies, solids, pairwise(ends), strict=False
    ):
        found = np.array(solid["low"]) + solid["step"] * vertices[first:last]
        assert np.abs(found - body.mesh.vertices).max() < 0.51 * solid["step"] + 1e-7
        assert tuple(solid["colour"]) == body.colour
    wall = np.array(solids[-2]["low"])
    np.testing.assert_allclose(wall, [1.95, -1.0, 0.0], atol=1e-6)
    corners = sum(solid["triangles"] for solid in solids) * 3
    assert len(arrays["triangles"]) == corners


def test_flat_ground_is_a_plane():
    """Level or sloping, it has no end; unknown ground is as high as the feet."""
    sloping = swaying(surroundings=Surroundings(SLOPE))
    packed = unpack(replay_bytes(RunScene(sloping)))
    assert not packed["hasGround"]
    np.testing.assert_allclose(packed["plane"], [0.0, 0.1, 0.0], atol=1e-5)
    unknown = unpack(replay_bytes(RunScene(swaying())))
    assert not unknown["hasGround"]
    assert abs(unknown["plane"][0]) < 0.1


def test_frames_are_few():
    """At most 50 a second, fewer of long runs; first and last are always there."""
    for time in (
        np.arange(1001) / 1000.0,
        np.arange(100_000) / 100.0,
        np.arange(7) / 5.0,
        np.array([3.0]),
        np.array([0.0, 1e-3]),
        np.sort(np.random.default_rng(0).uniform(0.0, 9.0, 5000)),
    ):
        rows = frame_rows(time)
        assert rows[0] == 0
        assert rows[-1] == len(time) - 1
        assert (np.diff(rows) > 0).all()
        assert len(rows) <= min(MOST_FRAMES + 2, 50.0 * (time[-1] - time[0]) + 2)
    assert len(frame_rows(np.arange(1001) / 1000.0)) == 51
    assert len(frame_rows(np.arange(7) / 5.0)) == 7


def test_same_run_same_bytes_and_all_finite():
    """The same run packs to the same bytes, and no number is infinite or none."""
    one, other = (replay_bytes(RunScene(swaying())) for _ in range(2))
    assert one == other
    for name, array in unpack(one)["arrays"].items():
        assert np.isfinite(array).all(), name


def test_every_robot_and_the_shortest_run(robot):
    """A single row is a replay, of robots without soles or meshes, too; it is small."""
    content = replay(swaying(robot, seconds=0.0))
    assert len(content) < 700_000
    data = re.search(r'id="replay-data">([^<]*)<', content)
    packed = unpack(zlib.decompress(base64.b64decode(data.group(1))))
    assert packed["frames"] == 1
    assert packed["height"] > 0.1
    assert sum(solid["triangles"] for solid in packed["solids"]) < (
        1.1 * MOST_TRIANGLES
    )


def test_nothing_to_see_is_a_replay():
    """Without a body, a contact or a wish that lasts, there is still a CoM."""
    wanted = np.full((101, 3), np.nan)
    wanted[50:] = 0.0
    run = swaying(
        contact_names=(),
        contact_position=np.zeros((101, 0, 3)),
        contact_force=np.zeros((101, 0, 3)),
        foot_wrench={},
        supported=np.zeros(101, dtype=bool),
        references={"com": wanted},
    )
    scene = RunScene(run)
    vars(scene)["bodies"] = ()
    packed = unpack(replay_bytes(scene))
    assert packed["solids"] == []
    assert [path["label"] for path in packed["paths"]] == ["CoM, planned", "CoM"]
    assert packed["arrays"]["path0Shown"].tolist() == 25 * [0] + 26 * [1]
    assert not packed["arrays"]["zmpShown"].any()


def test_only_this_script_runs():
    """The page gives browsers its hash, and it is text that stays in its element."""
    source = report(swaying(), "humanoid stands", "equipoise stand")
    script = re.search(r'<script type="module">(.*?)</script>', source, re.DOTALL)
    assert script.group(1) == replay_script()
    digest = base64.b64encode(hashlib.sha256(replay_script().encode()).digest())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', source).group(1)
    assert policy == (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest.decode()}'"
    )
    for word in ("<!--", "</script", "eval(", "import ", "fetch(", "http"):
        assert word not in replay_script()


def test_names_in_the_replay_are_escaped():
    """A robot's name cannot become markup."""
    robot = dataclasses.replace(load("humanoid"), name='"><img src=x>')
    assert "<img" not in replay(swaying(robot, seconds=0.0))


def test_legend_names_what_there_is():
    """A run without forces, plan and ZMP has none of them in its legend."""
    full, words = replay(swaying()), ("ZMP", "support polygon", "ground force")
    assert all(f"</i>{word}" in full for word in (*words, "left footprint"))
    bare = replay(joints_only(seconds=0.1, references={}))
    assert "</i>CoM" in bare
    assert not any(f"</i>{word}" in bare for word in (*words, "planned"))
