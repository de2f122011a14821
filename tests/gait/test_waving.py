from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from conftest import REAL

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.gait.arm_motion import check_arm_motion
from equipoise.gait.motion import solve
from equipoise.gait.plan import plan_walk
from equipoise.gait.waving import waving
from equipoise.robot.joint_coordinates import degree_of, joint_positions
from equipoise.robot.parts import Side

SECONDS = 6.0
TIMES = np.linspace(0.0, SECONDS, 601)


@pytest.fixture(params=["mahru-1", "humanoid", *REAL])
def robot(request: pytest.FixtureRequest) -> eq.Robot:
    """Catalogue robots with arms, and real ones."""
    if request.param in REAL:
        return eq.load(request.getfixturevalue(f"{request.param}_urdf"))
    return eq.load(request.param)


@pytest.mark.parametrize("side", ["left", "right"])
def test_any_hand_waves_above_its_shoulder(robot: eq.Robot, side: Side) -> None:
    """Within limits, from rest to rest, up and from side to side."""
    wave = waving(robot, side, SECONDS)
    check_arm_motion(robot, wave, TIMES)
    rows = wave.postures(robot, np.array(robot.standing), TIMES)
    arm = robot.arms[side]
    frame, path = robot.frame_id(arm.end_link), []
    for q in rows:
        pin.forwardKinematics(robot.model, robot.data, q)
        pose = pin.updateFramePlacement(robot.model, robot.data, frame)
        path.append(np.array(pose.translation))
    shoulder = robot.data.oMi[robot.joint_id(wave.joints[0])].translation
    waves = np.array(path)[200:400]
    assert waves[:, 2].min() > shoulder[2]
    assert np.ptp(waves[:, 1]) > 0.15 * arm.length
    turns = np.diff(np.sign(np.diff(waves[:, 1])))
    assert np.count_nonzero(turns) >= 3
    start = joint_positions(robot, np.array(robot.standing))
    rest = [start[degree_of(robot, name)] for name in wave.joints]
    for row in (0, -1):
        np.testing.assert_allclose(wave.at(TIMES)[row], rest, atol=1e-9)


def test_the_plan_of_a_walk_knows_of_the_arm() -> None:
    """Arms move as asked, and CoM and ZMP are where they are planned all the same."""
    robot = eq.load("mahru-1")
    gait = plan_walk(robot, 2)
    wave = waving(robot, "right", gait.duration)
    motion = solve(robot, gait, arms=wave)
    moved = [degree_of(robot, name) for name in wave.joints]
    np.testing.assert_allclose(
        motion.joint_position[:, moved],
        wave.at(np.minimum(motion.time, wave.duration)),
        atol=1e-9,
    )
    assert motion.solution.com_error.max() < 1e-8
    assert np.abs(motion.zmp - motion.zmp_planned).max() < 0.01


def test_no_arm_cannot_wave() -> None:
    """The message names the arm and what arms there are."""
    with pytest.raises(EquipoiseError, match=r"no right arm to wave with.*none"):
        waving(eq.load("itu-biped"), "right", 5.0)
