"""Capturing pushes without a step: the polygon, the ZMP's task, and pushes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from whole_body_states import ROBOTS, dynamics_of

import equipoise as eq
from equipoise.balance.whole_body.capture_gains import CaptureGains, gains_in_place
from equipoise.balance.whole_body.capture_tasks import BalanceTasks, CaptureTasks
from equipoise.balance.whole_body.controller import WholeBodyController
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.limits import JointRange
from equipoise.balance.whole_body.support import support_of
from equipoise.balance.whole_body.swing import Swing, degrees_of_limb
from equipoise.balance.whole_body.tasks import FrameTask
from equipoise.balance.whole_body.zmp_task import ZmpTask
from equipoise.gait.standing import standing_reference
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.simulation.feedback import known_joints, whole_body_feedback
from equipoise.simulation.push import push, pushed_stance, theoretical_limit
from equipoise.simulation.simulate import simulate
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import horizontal_push

SQUARE = support_of(np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))


def test_nearest_point_stays_inside() -> None:
    """A point inside is its own nearest; one outside goes to edge or corner."""
    inside = np.array([0.3, 0.8])
    assert SQUARE.nearest(inside) == pytest.approx(inside)
    assert SQUARE.nearest(np.array([1.5, 0.4])) == pytest.approx([1.0, 0.4])
    assert SQUARE.nearest(np.array([2.0, -1.0])) == pytest.approx([1.0, 0.0])


def test_excess_grows_from_the_margin() -> None:
    """The excess is zero deep inside, the margin at the edge, continuous across it."""
    margin = 0.2
    assert SQUARE.excess(np.array([0.5, 0.5]), margin) == pytest.approx([0.0, 0.0])
    for x, excess in ((0.8, 0.0), (0.9, 0.1), (1.0 - 1e-9, 0.2), (1.0 + 1e-6, 0.2)):
        found = SQUARE.excess(np.array([x, 0.5]), margin)
        assert found == pytest.approx([excess, 0.0], abs=1e-5)
    assert SQUARE.excess(np.array([1.3, 0.5]), margin) == pytest.approx([0.5, 0.0])


def test_part_of_the_way_is_one_at_the_edge() -> None:
    """From any start the edge is all of the way, and half of it is a half."""
    start, edge = np.array([0.2, 0.4]), np.array([0.7, 1.0])
    assert SQUARE.part_of_way(start, edge, 0.01) == pytest.approx(1.0)
    assert SQUARE.part_of_way(start, 0.5 * (start + edge), 0.01) == pytest.approx(0.5)
    # who starts at the edge has a short way left, not none
    assert SQUARE.part_of_way(np.array([1.0, 0.5]), np.array([1.1, 0.5]), 0.1) == (
        pytest.approx(1.0)
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_zmp_task_is_the_moment_of_the_ground(name: str) -> None:
    """Its rows are the ground's moment about its point, by inverse dynamics."""
    dynamics = dynamics_of(name, 4)
    task = ZmpTask(1.0)
    task.point = np.array([0.1, -0.2, 0.03])
    jacobian, goal = task.rows(dynamics)
    acceleration = np.random.default_rng(4).normal(size=dynamics.model.nv)
    model = dynamics.robot.model
    model = model.copy()
    model.armature = np.zeros(model.nv)
    force = pin.rnea(model, model.createData(), dynamics.q, dynamics.v, acceleration)
    at_base = pin.Force(np.asarray(force[:6]))
    place = pin.SE3(np.eye(3), task.point).actInv(dynamics.base)
    moment = place.act(at_base).angular[:2]
    weight = dynamics.robot.mass * STANDARD_GRAVITY
    assert jacobian @ acceleration - goal == pytest.approx(moment / weight, abs=1e-9)


def test_pushes_are_captured_and_small_ones_are_not() -> None:
    """A push of 85 % of J* is survived; one of 2 % changes nothing of the law."""
    robot = eq.load("humanoid")
    world = trial_world(robot, None, "torque")
    most = theoretical_limit(world, math.pi)
    feedback = whole_body_feedback(world, robot, steps=False)
    controller = feedback.controller
    assert isinstance(controller, WholeBodyController)
    weights = [controller.com_task.weight, controller.torso_task.weight]
    push(world, 0.02 * most, math.pi, feedback=feedback, seconds=1.6)
    assert controller.capture.alert == 0.0
    assert controller.com_task.weight is weights[0]
    assert controller.torso_task.weight is weights[1]
    run = push(world, 0.85 * most, math.pi, feedback=feedback, seconds=4.0)
    assert run.summary["achieved"], run.summary["sentence"]
    assert controller.relaxed == {"contacts": 0, "limits": 0, "all": 0}


def humanoid_that_swings() -> tuple[eq.Robot, Dynamics, JointRange, Swing]:
    """Return a robot, its dynamics, where its joints may be, and its swing."""
    robot = eq.load("humanoid")
    dynamics = Dynamics(robot, np.zeros(robot.nv - 6))
    torso = FrameTask(robot.limbs["torso"].end_link, 1.0, 1.0, directions=(3, 4, 5))
    motion = known_joints(trial_world(robot, None, "torque")).motion
    return robot, dynamics, motion, Swing(dynamics, torso, motion)


def test_swings_end_before_the_stops_of_the_hips() -> None:
    """A swing is allowed while hips are far from their stops, and none at a stop."""
    robot, dynamics, motion, swing = humanoid_that_swings()
    hip = robot.model.joints[robot.model.getJointId("right_hip_roll")]
    q, v = robot.standing.copy(), np.zeros(robot.nv)
    v[hip.idx_v] = 2.0
    allowed = []
    for room in (0.4, 0.15, 0.0):
        q[hip.idx_q] = motion.upper[hip.idx_v - 6] - room
        dynamics.update(q, v)
        allowed.append(swing.spare(0.1, 2.0, 0.9, 15.0))
        # back from the stop, all of it is allowed
        assert swing.spare(0.1, -2.0, 0.9, 15.0) == 1.0
    assert allowed[0] == 1.0
    assert 0.0 < allowed[1] < 1.0
    assert allowed[2] == 0.0


@pytest.mark.parametrize("name", ["left_knee", "right_ankle_pitch"])
def test_straight_knees_and_ankles_at_stops_do_not_end_a_swing(name: str) -> None:
    """The torso turns on: all of a swing is allowed while they come to their stops."""
    robot, dynamics, motion, swing = humanoid_that_swings()
    joint = robot.model.joints[robot.model.getJointId(name)]
    q, v = robot.standing.copy(), np.zeros(robot.nv)
    q[joint.idx_q], v[joint.idx_v] = motion.lower[joint.idx_v - 6], -4.0
    dynamics.update(q, v)
    assert swing.spare(0.1, 2.0, 0.9, 15.0) == 1.0


def test_excess_along_the_way_ends_on_the_inset_edge() -> None:
    """What is left after taking the excess back is on the polygon less the margin."""
    start, margin = np.array([0.3, 0.6]), 0.1
    for angle in np.linspace(0.0, 2.0 * math.pi, 17):
        way = np.array([math.cos(angle), math.sin(angle)])
        far = start + 2.0 * way
        excess = SQUARE.excess_along(start, far, margin)
        at = far - excess
        assert np.min([*at, *(1.0 - at)]) == pytest.approx(margin)
        assert excess @ way == pytest.approx(np.linalg.norm(excess))
        inside = start + 0.9 * (at - start)
        assert not SQUARE.excess_along(start, inside, margin).any()


def test_room_is_the_distance_to_the_edge_along_a_way() -> None:
    """A point moved by its room is on the edge; outside there is none."""
    point = np.array([0.2, 0.7])
    for angle in np.linspace(0.0, 6.0, 13):
        way = np.array([math.cos(angle), math.sin(angle)])
        at = point + SQUARE.room(point, way) * way
        assert np.min([*at, *(1.0 - at)]) == pytest.approx(0.0, abs=1e-12)
    outside = np.array([1.5, 0.5])
    assert SQUARE.room(outside, np.array([1.0, 0.0])) == 0.0
    assert SQUARE.room(outside, np.array([-1.0, 0.0])) == pytest.approx(1.5)


def test_cut_corners_keep_edges_and_lose_triangles() -> None:
    """A square has four triangles less, and still reaches its edges."""
    cut = SQUARE.with_cut_corners(0.2)
    assert len(cut.corners) == 8
    x, y = cut.corners.T
    area = 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    assert area == pytest.approx(1.0 - 4 * 0.5 * 0.2**2)
    assert cut.nearest(np.array([2.0, 0.5])) == pytest.approx([1.0, 0.5])
    # never more than a third of an edge
    x, y = SQUARE.with_cut_corners(9.0).corners.T
    area = 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    assert area == pytest.approx(7.0 / 9.0)


def test_the_same_controller_twice_gives_the_same_run() -> None:
    """A run that ends with a foot in the air leaves nothing to the next one."""
    robot = eq.load("humanoid")
    world = trial_world(robot, None, "torque")
    q = pushed_stance(world)
    impulse = 0.98 * theoretical_limit(world, 0.5 * math.pi)
    pushed = replace(
        world, pushes=(horizontal_push(robot, impulse, 0.5 * math.pi, 0.5),)
    )
    feedback = whole_body_feedback(world, robot, steps=False)
    runs = [
        simulate(pushed, standing_reference(robot, q), 0.9, start=q, **feedback.blocks)
        for _ in range(2)
    ]
    assert sole_pose(robot, runs[0].q[-1], "right")[2, 3] > 0.02
    assert np.array_equal(runs[0].q, runs[1].q)


def test_the_stops_of_a_light_leg_do_not_end_a_swing() -> None:
    """With a hip at its stop, a swing is allowed only where its leg is free."""
    robot, dynamics, motion, swing = humanoid_that_swings()
    hip = robot.model.joints[robot.model.getJointId("right_hip_roll")]
    q, v = robot.standing.copy(), np.zeros(robot.nv)
    q[hip.idx_q], v[hip.idx_v] = motion.upper[hip.idx_v - 6], 2.0
    dynamics.update(q, v)
    for leg, allowed in ((None, 0.0), (0, 0.0), (1, 1.0)):
        swing.free_leg = leg
        assert swing.spare(0.1, 2.0, 0.9, 15.0) == allowed


@pytest.mark.parametrize("degrees", [0, 90, 180, 225])
def test_arms_are_thrown_about_the_axis_of_the_swing(degrees: float) -> None:
    """What is asked of them turns them that way; nothing is asked without a swing."""
    robot = eq.load("humanoid")
    controller = WholeBodyController(
        robot, 2e-3, known_joints(trial_world(robot, None, "torque"), robot)
    )
    dynamics, posture = controller.dynamics, controller.posture_task
    tasks = BalanceTasks(controller.com_task, controller.torso_task, posture)
    in_place, with_steps = (
        CaptureTasks(dynamics, controller.feet, tasks, [], gains)
        for gains in (gains_in_place(), CaptureGains())
    )
    angle = math.radians(degrees)
    over = 0.05 * np.array([math.cos(angle), math.sin(angle)])
    axis = np.array([-math.sin(angle), math.cos(angle), 0.0])

    def thrown(over: Any, free: float) -> Any:
        posture.acceleration = np.zeros(robot.nv - 6)
        in_place.throw_arms(over, free)
        return posture.acceleration

    assert not thrown(over, 0.0).any()
    assert not thrown(np.zeros(2), 1.0).any()
    asked = thrown(over, 1.0)
    for limb in robot.limbs.values():
        own = degrees_of_limb(robot, limb)
        if limb.kind != "arm":
            assert not asked[own].any()
            continue
        turns = dynamics.jacobian(dynamics.frame(limb.end_link))[3:, 6:]
        assert axis @ turns[:, own] @ asked[own] > 10.0
    # a robot that may step throws none
    posture.acceleration = np.zeros(robot.nv - 6)
    with_steps.throw_arms(over, 1.0)
    assert not posture.acceleration.any()


def test_clipped_polygons_end_at_a_line() -> None:
    """Of a square, a line leaves a part, all, or nothing."""
    way = np.array([0.6, 0.8])
    part = SQUARE.clipped(way, 0.7)
    assert part is not None
    assert max(part.corners @ way) == pytest.approx(0.7)
    generator = np.random.default_rng(0)
    for point in generator.uniform(-0.5, 1.5, size=(200, 2)):
        inside = bool((point >= 0.0).all() and (point <= 1.0).all())
        assert SQUARE.holds(point) == inside
        assert part.holds(point) == (inside and point @ way <= 0.7)
    assert SQUARE.clipped(way, 1.5) is SQUARE
    assert SQUARE.clipped(way, -0.1) is None
    assert SQUARE.clipped(way, 0.0) is None  # a corner alone
