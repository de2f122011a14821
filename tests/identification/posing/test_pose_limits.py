from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

import equipoise as eq
from equipoise.identification.posing.pose_limits import (
    GROUND,
    SelfCollision,
    joint_ranges,
    self_collision,
)
from equipoise.robot.formats.mujoco_state import to_mujoco


def random_postures(robot: eq.Robot, count: int) -> np.ndarray:
    """Return joints anywhere within their ranges, the base lifted off the ground."""
    lower, upper = joint_ranges(robot)
    q = np.random.default_rng(0).uniform(lower, upper, (count, robot.nq))
    q[:, 2] += 3.0
    return q


def checked_pairs(found: SelfCollision) -> list[tuple[str, ...]]:
    """Return the links of each pair of shapes that is checked."""
    objects = found.geometry.geometryObjects
    return [
        tuple(objects[at].name.rpartition(":")[0] for at in (pair.first, pair.second))
        for pair in found.geometry.collisionPairs
    ]


def touching(found: SelfCollision, q: np.ndarray) -> set[frozenset[str]]:
    """Return the links that touch in a configuration, without a clearance."""
    model, data = found.robot.model, pin.GeometryData(found.geometry)
    pin.computeCollisions(model, found.robot.data, found.geometry, data, q, False)
    pairs = zip(checked_pairs(found), data.collisionResults, strict=True)
    return {frozenset(pair) for pair, result in pairs if result.isCollision()}


def test_no_shapes_is_said_once() -> None:
    """Without shapes all poses are free, and a notice says why."""
    robot = eq.load("three-link")
    found = self_collision(robot)
    assert found.free(np.tile(robot.standing, (3, 1))).all()
    assert len(found.notices) == 1
    assert "no shapes" in found.notices[0]


def test_standing_touches_nothing(robot: eq.Robot) -> None:
    """Pairs that touch standing are left out, neighbours too."""
    found = self_collision(robot)
    assert found.free(robot.standing).tolist() == [True]
    assert not touching(found, robot.standing)
    parents = robot.model.parents
    for one, other in checked_pairs(found):
        if GROUND in (one, other):
            continue
        first, second = (
            int(robot.model.frames[robot.model.getBodyId(name)].parentJoint)
            for name in (one, other)
        )
        assert first != second
        assert parents[first] != second
        assert parents[second] != first


def test_mujoco_sees_the_same(tmp_path: Path) -> None:
    """Links that MuJoCo has in contact are those that touch here."""
    robot = eq.load("humanoid")
    found = self_collision(robot, clearance=0.0)
    looked_at = {frozenset(pair) for pair in checked_pairs(found)}
    robot.write_mjcf(tmp_path / "robot.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    model.geom_contype[:] = model.geom_conaffinity[:] = 1
    data = mujoco.MjData(model)
    touched = 0
    for q in random_postures(robot, 60):
        data.qpos[:] = to_mujoco(robot.model, model, q, np.zeros(robot.nv)).qpos
        mujoco.mj_forward(model, data)
        bodies = {
            frozenset(
                model.body(model.geom_bodyid[geom]).name
                for geom in (contact.geom1, contact.geom2)
            )
            for contact in data.contact
            if contact.dist < -1e-4
        }
        expected = {pair for pair in bodies if pair in looked_at}
        ours = touching(found, q)
        assert expected <= ours
        touched += len(expected)
    assert touched > 10


def test_the_ground_counts() -> None:
    """A robot that lies on its side touches the ground with more than its feet."""
    robot = eq.load("humanoid")
    q = robot.standing.copy()
    q[2] = 0.1
    q[3:7] = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    found = self_collision(robot)
    assert not found.free(q).any()
    assert any(GROUND in pair for pair in touching(found, q))
