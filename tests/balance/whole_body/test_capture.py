"""Capturing pushes without a step: the polygon, the ZMP's task, and pushes."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pinocchio as pin
import pytest
from whole_body_states import ROBOTS, dynamics_of

import equipoise as eq
from equipoise.balance.whole_body.capture_gains import CaptureGains, gains_in_place
from equipoise.balance.whole_body.capture_tasks import BalanceTasks, CaptureTasks
from equipoise.balance.whole_body.controller import WholeBodyController
from equipoise.balance.whole_body.dynamics import Dynamics, sole_frame
from equipoise.balance.whole_body.lifted_foot import (
    LiftedFoot,
    LiftGains,
    torques_to_carry,
)
from equipoise.balance.whole_body.limits import JointRange
from equipoise.balance.whole_body.support import support_of
from equipoise.balance.whole_body.swing import Swing, degrees_of_limb
from equipoise.balance.whole_body.tasks import FrameTask
from equipoise.balance.whole_body.zmp_task import ZmpTask
from equipoise.gait.standing import standing_reference
from equipoise.kinematics.leg_freedom import SIDES
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


@pytest.mark.parametrize("direction", [0.5 * math.pi, -0.5 * math.pi])
def test_a_push_to_the_side_lifts_the_light_foot_and_puts_it_back(
    direction: float,
) -> None:
    """98 % of J* to either side: the other foot is lifted, and is where it was."""
    robot = eq.load("humanoid")
    most = theoretical_limit(robot, direction)
    run = push(robot, 0.98 * most, direction, law="whole-body", seconds=4.0)
    assert run.summary["achieved"], run.summary["sentence"]
    light, loaded = ("right", "left") if direction > 0.0 else ("left", "right")
    heights = {side: sole_pose(robot, run.q, side)[:, 2, 3] for side in (light, loaded)}
    assert np.ptp(heights[light]) > 0.02
    assert np.ptp(heights[loaded]) < 0.01
    assert "in the air" in run.summary["sentence"]
    assert run.summary["sole_slip_m"] < 0.05 * robot.soles["left"].size[0]


def test_a_push_ahead_lifts_no_foot() -> None:
    """Both feet carry while a robot is pushed forward."""
    robot = eq.load("humanoid")
    most = theoretical_limit(robot, 0.0)
    run = push(robot, 0.9 * most, 0.0, law="whole-body", seconds=4.0)
    assert run.summary["achieved"], run.summary["sentence"]
    assert run.summary["sole_lift_m"]["max"] < 0.01
    assert "in the air" not in run.summary["sentence"]


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


def lifted_right_foot(
    gains: LiftGains, *, can_carry: bool = True
) -> tuple[LiftedFoot, Any]:
    """Return a lifted right foot at its place, and what updates it: η, excess, tilt."""
    task = FrameTask("sole", 10.0, 100.0)
    task.pose = np.eye(4)
    foot = SimpleNamespace(state=SimpleNamespace(carries=False), task=task)
    place = {0: np.array([0.0, 0.1, 0.0]), 1: np.array([0.0, -0.1, 0.0])}
    feet = SimpleNamespace(
        feet=[foot, foot],
        length=1.0,
        rate=3.0,
        period=2e-3,
        weight=100.0,
        gains=SimpleNamespace(swing_weight=10.0),
        felt=lambda known, number: (False, 0.0 if number else 100.0),
        measured_sole=lambda known, number: (place[number], np.eye(3)),
    )
    sole = np.array([[0.1, 0.03], [-0.1, 0.03], [-0.1, -0.03], [0.1, -0.03]])
    corners = [sole + place[number][:2] for number in (0, 1)]
    places = [np.eye(4), np.eye(4)]
    for number, pose in enumerate(places):
        pose[:3, 3] = place[number]
    lifted = LiftedFoot(cast("Any", feet), lambda number, point: can_carry)

    def update(eta: list[float], over: list[float], tilt: float = 0.5) -> None:
        where, beyond = np.array(eta), np.array(over)
        for _ in range(200):
            lifted.update(
                gains, cast("Any", None), corners, places, where, beyond, tilt,
                may_begin=bool(beyond.any()),
            )  # fmt: skip

    update([0.0, 0.15], [0.0, 0.02])
    return lifted, update


def test_a_foot_is_lifted_by_pushes_to_the_side_alone() -> None:
    """η beyond the other sole lifts it; η ahead of both does not."""
    lifted, _ = lifted_right_foot(LiftGains())
    assert lifted.number == 1
    never, _ = lifted_right_foot(LiftGains(lateral=1.01))
    assert never.number is None


def test_no_foot_is_lifted_where_the_other_leg_is_too_weak() -> None:
    """The leg that would carry alone decides."""
    lifted, _ = lifted_right_foot(LiftGains(), can_carry=False)
    assert lifted.number is None


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("side", SIDES)
def test_torques_to_carry_are_those_of_a_force_on_the_foot(
    name: str, side: str
) -> None:
    """They are what a vertical force on the foot changes in inverse dynamics."""
    dynamics = dynamics_of(name, 7)
    robot, frame = dynamics.robot, dynamics.frame(sole_frame(side))
    place = dynamics.pose(frame).translation
    point = place[:2] + np.array([0.07, -0.02])
    found = torques_to_carry(dynamics, frame, point, 300.0)

    joint = robot.model.joints[robot.model.getJointId(robot.legs[side].joints[-1])].id
    at = pin.SE3(np.eye(3), np.array([*point, place[2]]))
    pushed = at.act(pin.Force(np.array([0.0, 0.0, 300.0]), np.zeros(3)))
    data, still = robot.model.createData(), np.zeros(robot.nv)
    pin.forwardKinematics(robot.model, data, dynamics.q)
    forces = [pin.Force.Zero() for _ in range(robot.model.njoints)]
    without = pin.rnea(robot.model, data, dynamics.q, still, still, forces).copy()
    forces[joint] = data.oMi[joint].actInv(pushed)
    changed = pin.rnea(robot.model, data, dynamics.q, still, still, forces) - without
    assert found == pytest.approx(changed[6:], abs=1e-9)


def test_a_foot_is_not_lifted_onto_an_ankle_that_cannot_bear_its_edge() -> None:
    """Ankles of half the torque that the edge of one sole needs keep both feet down."""
    robot = eq.load("humanoid")
    world = trial_world(robot, None, "torque")
    joints = known_joints(world, robot)
    ankles = [
        robot.model.joints[robot.model.getJointId(f"{side}_ankle_pitch")].idx_v - 6
        for side in SIDES
    ]
    edge = max(robot.soles["left"].polygon_in_sole[:, 0])
    weak = joints.torque.copy()
    weak[ankles] = 0.5 * robot.mass * STANDARD_GRAVITY * edge
    for torque, lifts in ((joints.torque, True), (weak, False)):
        controller = WholeBodyController(robot, 2e-3, replace(joints, torque=torque))
        dynamics = controller.dynamics
        dynamics.update(robot.standing, np.zeros(robot.nv))
        sole = dynamics.pose(dynamics.frame(sole_frame("left")))
        zmp = sole.act(np.array([edge, 0.0, 0.0]))[:2]
        assert controller.capture.can_carry(0, zmp) is lifts


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


@pytest.mark.parametrize("degrees", [45, 135])
def test_diagonal_pushes_lift_a_foot_and_are_captured(degrees: float) -> None:
    """94 % of J* diagonally: survived, and the foot is back at its place."""
    robot = eq.load("humanoid")
    direction = math.radians(degrees)
    most = theoretical_limit(robot, direction)
    run = push(robot, 0.94 * most, direction, law="whole-body", seconds=4.0)
    assert run.summary["achieved"], run.summary["sentence"]
    assert "in the air" in run.summary["sentence"]


def test_a_lifted_foot_waits_for_the_torso() -> None:
    """At its place it is put down when η is inside and the torso nearly upright."""
    lifted, update = lifted_right_foot(LiftGains())
    update([0.0, 0.11], [0.0, 0.0], tilt=0.5)
    assert lifted.number == 1
    update([0.0, 0.11], [0.0, 0.0], tilt=0.1)
    assert lifted.number is None


def test_a_foot_that_is_late_is_put_down_at_once() -> None:
    """Where η has left the sole that carries towards it, nothing keeps it up."""
    lifted, update = lifted_right_foot(LiftGains())
    update([0.15, 0.02], [0.03, 0.0], tilt=0.8)
    assert lifted.number is None
