"""Humanoids drawn at random walk in both engines, or are refused by a reason.

``python -m benchmarks.random_humanoids`` tries hundreds of them; the seeds here are one
of each kind.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from benchmarks.humanoid_generator import RandomHumanoid, random_humanoid
from benchmarks.humanoid_legs import GOOD_LIMITS, NEEDED
from benchmarks.random_humanoids import attempt
from equipoise.kinematics.stance import sole_pose

FIRST = range(48)
GOOD = [seed for seed in FIRST if random_humanoid(seed).limits in GOOD_LIMITS]
# Six good joints a leg: modest, generous, crouched at zero, knees that never straighten
# and knees of a bird; soles as meshes, in visuals alone, missing; and one with toes.
WALKERS = (6, 9, 14, 15, 65, 42)
# Without hip yaw, locked knees, joints that turn round, limits that are not given, and
# one that is taken to stand on its toes.
ODD = (23, 29, 3, 53, 79)
# What a refusal names, if not a joint.
PARTS = re.compile(r"\b(leg|legs|foot|feet|sole|soles|hip|knee|ankle)\b")


def load(humanoid: RandomHumanoid, folder: Path) -> eq.Robot:
    """Load a robot."""
    return eq.load(humanoid.write(folder / f"random_{humanoid.seed}.urdf"))


def names_a_part(humanoid: RandomHumanoid, message: str) -> bool:
    """Whether a message names a joint of the legs, or a part of them."""
    joints = (name for names in humanoid.joint_names.values() for name in names)
    return any(f"'{name}'" in message for name in joints) or bool(PARTS.search(message))


@pytest.mark.parametrize("seed", FIRST)
def test_anatomy_is_read_as_it_was_drawn(seed: int, tmp_path: Path) -> None:
    """Mass and legs, left and right, are found whatever the names and the limits."""
    humanoid = random_humanoid(seed)
    robot = load(humanoid, tmp_path)
    assert robot.mass == pytest.approx(humanoid.mass, rel=0.01)
    for side, names in humanoid.joint_names.items():
        drawn = zip(names, humanoid.leg_joints, strict=True)
        to_the_foot = tuple(name for name, part in drawn if part != "toe_pitch")
        assert robot.legs[side].joints == to_the_foot


@pytest.mark.parametrize("seed", FIRST)
def test_standing_soles_are_on_one_plane(seed: int, tmp_path: Path) -> None:
    """Where both soles are level they are as high, and the CoM is above them."""
    robot = load(random_humanoid(seed), tmp_path)
    left, right = (sole_pose(robot, robot.standing, side) for side in robot.soles)
    if not any("soles are not level" in warning for warning in robot.warnings):
        assert left[2, 3] == pytest.approx(right[2, 3], abs=1e-9)
        assert not any("would fall over" in warning for warning in robot.warnings)


@pytest.mark.parametrize("seed", GOOD)
def test_good_limits_are_what_a_walk_needs(seed: int, tmp_path: Path) -> None:
    """Joints with good limits move from parallel links as far as they need to.

    Seen from the file: about its axes and from its zeros, either side.
    """
    humanoid = random_humanoid(seed)
    robot = load(humanoid, tmp_path)
    for side, names in humanoid.joint_names.items():
        for name, part in zip(names, humanoid.leg_joints, strict=True):
            joint = robot.description.joint_by_name[name]
            axis = int(np.abs(joint.axis).argmax())
            # the turn about this axis that the joint's frame has at zero
            rotation = joint.transform_joint_to_parent[:3, :3]
            one, other = (axis + 1) % 3, (axis + 2) % 3
            zero = np.arctan2(rotation[other, one], rotation[one, one])
            reached = np.sort(
                zero + joint.axis[axis] * np.array([joint.lower, joint.upper])
            )
            low, high = NEEDED[part]
            if part.endswith("pitch") and humanoid.knee == "bird":
                low, high = -high, -low
            if not part.endswith("pitch") and side == "right":
                low, high = -high, -low
            least = 0.2 if part == "knee_pitch" else 0.0  # of knees that stay bent
            assert reached[0] <= low + least + 1e-5
            assert reached[1] >= high - least - 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("seed", WALKERS)
def test_six_good_joints_walk(seed: int) -> None:
    """All steps are made in both engines, as planned."""
    trial = attempt(seed)
    assert trial.outcome == "walked", trial.why


@pytest.mark.slow
@pytest.mark.parametrize("seed", ODD)
def test_odd_robots_walk_or_are_refused_by_name(seed: int) -> None:
    """Nothing crashes and nothing falls: what cannot be is named."""
    trial = attempt(seed)
    assert trial.outcome in ("walked", "refused"), trial.why
    assert trial.outcome == "walked" or names_a_part(trial.humanoid, trial.why)


@pytest.mark.parametrize("seed", [26, 60])
def test_missing_ankle_joint_is_named(seed: int) -> None:
    """A leg without ankle roll or ankle pitch is refused for that."""
    trial = attempt(seed)
    missing = str(trial.humanoid.missing)
    assert missing in ("ankle_pitch", "ankle_roll")
    assert trial.outcome == "refused"
    assert f"no {missing.replace('_', ' ')} joint" in trial.why


@pytest.mark.slow
def test_ideal_torques_of_both_engines_are_alike(tmp_path: Path) -> None:
    """MuJoCo's torques at touchdown are no larger than those of the native engine.

    Its solver used to stop before it had seen the contacts, and torques of single steps
    were hundreds of times as large.
    """
    robot = load(random_humanoid(65), tmp_path)
    motion = eq.solve(robot, eq.fit_walk(robot, 4))
    native, mujoco = (
        np.abs(eq.walk(robot, motion, engine=engine, actuators="ideal").torque).max()
        for engine in ("native", "mujoco")
    )
    assert mujoco < 2.0 * native
