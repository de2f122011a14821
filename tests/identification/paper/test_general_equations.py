from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq
from equipoise.identification.paper.foot_wrenches import coefficients
from equipoise.identification.paper.link_coms import PlanarPoses, planar_from_feet
from equipoise.identification.paper.validation import (
    lean,
    read_paper_robot,
    standing_statics,
)
from equipoise.identification.statics import MeasuredPoses, equations, standing_frames
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.inertias import Inertial

GRAVITY = 9.81
SHINS, THIGHS = ("left_shin", "right_shin"), ("left_thigh", "right_thigh")
bends = st.floats(0.1, 0.8) | st.floats(-0.8, -0.1)


def planar_robot(rng: np.random.Generator) -> eq.Robot:
    """Return muscolo-biped with other shins and thighs, left and right alike."""
    robot = eq.load("muscolo-biped")
    inertials = {}
    for names in (SHINS, THIGHS):
        mass = rng.uniform(0.5, 9.0)
        com = np.array([rng.uniform(-0.1, 0.1), 0.0, rng.uniform(-0.4, 0.0)])
        inertials |= {name: Inertial(mass, com, 0.01 * np.eye(3)) for name in names}
    return robot.with_inertials(inertials)


def bent(robot: eq.Robot, theta: float) -> np.ndarray:
    """Return configuration c: shins upright, all above the knees leaning."""
    q = np.array(robot.standing)
    q[:3] = 0.5 * np.sin(theta), 0.0, 0.5 + 0.5 * np.cos(theta)
    q[3:7] = 0.0, np.sin(0.5 * theta), 0.0, np.cos(0.5 * theta)
    for joint in ("left_knee", "right_knee"):
        q[robot.model.joints[robot.joint_id(joint)].idx_q] = -theta
    return q


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), theta_b=bends, theta_c=bends, theta_d=bends)
def test_closed_form_equals_the_equations_in_three_dimensions(
    seed: int, theta_b: float, theta_c: float, theta_d: float
) -> None:
    """Random planar robots: the paper's way and six equations a pose agree to 1e-9 m.

    Feet push against each other at random; masses, feet and waist are known to both.
    """
    rng = np.random.default_rng(seed)
    robot = planar_robot(rng)
    chain = read_paper_robot(robot).both
    a, c = np.array(robot.standing), bent(robot, theta_c)
    q = np.array([a, lean(robot, a, theta_b, 0.1), c, lean(robot, c, theta_d, 0.1)])
    still = [standing_statics(robot, row, rng.uniform(-20, 20, 12)) for row in q]
    lines = [coefficients(pose.foot_0, pose.foot_1) for pose in still]

    closed = planar_from_feet(chain, theta_b, theta_c, theta_d, PlanarPoses(*lines))

    feet = {"right": "foot_0", "left": "foot_1"}
    wrenches = {
        side: np.array(
            [
                np.concatenate([getattr(pose, foot).force, getattr(pose, foot).torque])
                for pose in still
            ]
        )
        for side, foot in feet.items()
    }
    frames = standing_frames(robot, q)
    system = equations(frames, MeasuredPoses(robot, q, wrenches, 1))
    system.matrix[..., :-12] *= GRAVITY / STANDARD_GRAVITY
    matrix, right = system.matrix.reshape(-1, system.matrix.shape[-1]), system.right
    unknown, known = np.zeros((matrix.shape[1], 4)), np.zeros(matrix.shape[1])
    for number, name in enumerate(frames.link_names):
        inertial = robot.description.link_by_name[name].inertial
        known[4 * number] = inertial.mass
        if name in (*SHINS, *THIGHS):
            column = 0 if name in SHINS else 2
            unknown[4 * number + 1, column] = inertial.mass
            unknown[4 * number + 3, column + 1] = inertial.mass
        else:
            known[4 * number + 1 : 4 * number + 4] = (
                inertial.mass * inertial.com_in_link
            )
    rest = right.ravel() - matrix @ known
    x_b, z_b, x_c, z_c = np.linalg.lstsq(matrix @ unknown, rest, rcond=None)[0]

    # Thighs and waist are one link to the closed form; links' frames are at their tops.
    paper = read_paper_robot(robot)
    thighs = paper.thighs / (paper.thighs + paper.waist)
    both = [x_b, 0.4 + z_b, thighs * x_c, 0.5 + thighs * z_c]
    np.testing.assert_allclose(closed, both, atol=1e-9)
    truth = robot.description.link_by_name["left_shin"].inertial.com_in_link
    np.testing.assert_allclose(closed[:2], [truth[0], 0.4 + truth[2]], atol=1e-9)
