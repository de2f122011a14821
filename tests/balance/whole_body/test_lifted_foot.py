"""Feet that are lifted while a push is captured, and put back."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from whole_body_states import ROBOTS

import equipoise as eq
from equipoise.balance.whole_body.capture_gains import gains_in_place
from equipoise.balance.whole_body.capture_tasks import BalanceTasks, CaptureTasks
from equipoise.balance.whole_body.controller import WholeBodyController
from equipoise.balance.whole_body.dynamics import sole_frame
from equipoise.balance.whole_body.lifted_foot import LiftedFoot, LiftGains, Standing
from equipoise.balance.whole_body.support import Support, support_of
from equipoise.balance.whole_body.swing import degrees_of_limb
from equipoise.balance.whole_body.swing_limits import hip_degrees
from equipoise.balance.whole_body.tasks import FrameTask
from equipoise.kinematics.stance import sole_pose
from equipoise.simulation.feedback import known_joints
from equipoise.simulation.push import push, theoretical_limit
from equipoise.simulation.trials import trial_world


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


@pytest.mark.parametrize("degrees", [45, 135])
def test_diagonal_pushes_lift_a_foot_and_are_captured(degrees: float) -> None:
    """94 % of J* diagonally: survived, and the foot is back at its place."""
    robot = eq.load("humanoid")
    direction = math.radians(degrees)
    most = theoretical_limit(robot, direction)
    run = push(robot, 0.94 * most, direction, law="whole-body", seconds=4.0)
    assert run.summary["achieved"], run.summary["sentence"]
    assert "in the air" in run.summary["sentence"]


class OneFoot:
    """A robot whose right foot may be lifted, and goes where it is told.

    Args:
        gains: Gains of the lifted foot.
        bearable: Part of the left sole that can be borne, from its middle.
        beside: How far the right foot is beside its place [m].
    """

    def __init__(
        self, gains: LiftGains, bearable: float | None = 1.0, beside: float = 0.0
    ) -> None:
        task = FrameTask("sole", 10.0, 100.0)
        task.pose = np.eye(4)
        sole = np.array([[0.1, 0.03], [-0.1, 0.03], [-0.1, -0.03], [0.1, -0.03]])
        contact = SimpleNamespace(points_in_frame=np.column_stack((sole, np.zeros(4))))
        self.here = {0: np.array([0.0, 0.1, 0.0]), 1: np.array([beside, -0.1, 0.0])}
        self.loads = [100.0, 0.0]
        self.stuck = False
        self.feet = [
            SimpleNamespace(
                state=SimpleNamespace(carries=True), task=task, contact=contact
            )
            for _ in range(2)
        ]
        feet = SimpleNamespace(
            feet=self.feet,
            length=1.0,
            rate=3.0,
            period=2e-3,
            weight=100.0,
            gains=SimpleNamespace(swing_weight=10.0),
            felt=lambda known, number: (False, self.loads[number]),
            measured_sole=lambda known, number: (self.here[number], np.eye(3)),
        )
        self.places = [np.eye(4), np.eye(4)]
        for number, y in enumerate((0.1, -0.1)):
            self.places[number][:2, 3] = 0.0, y
        self.corners = [sole + place[:2, 3] for place in self.places]

        def part(number: int, sole: Support) -> Support | None:
            if bearable is None:
                return None
            middle = sole.corners.mean(axis=0)
            most = middle[0] + bearable * (sole.corners[:, 0].max() - middle[0])
            return sole.clipped(np.array([1.0, 0.0]), most)

        self.gains, self.lifted = gains, LiftedFoot(cast("Any", feet), part)

    def update(
        self, eta: list[float], over: list[float], tilt: float = 0.5, ticks: int = 200
    ) -> None:
        """Go on; the foot in the air follows its task as long as it is not stuck."""
        lifted, beyond = self.lifted, np.array(over)
        for _ in range(ticks):
            now = Standing(
                cast("Any", None), self.corners, self.places, np.zeros(2),
                np.array(eta), beyond, tilt,
            )  # fmt: skip
            lifted.update(self.gains, now, may_begin=bool(beyond.any()))
            number = lifted.number
            for foot, state in enumerate(self.feet):
                state.state.carries = foot != number
            if number is not None and not self.stuck:
                wanted = self.feet[number].task.pose[:3, 3]
                self.here[number] = 0.9 * self.here[number] + 0.1 * wanted


def pushed(gains: LiftGains | None = None, bearable: float | None = 1.0) -> OneFoot:
    """Return a robot after a push to the left, its η over the left sole."""
    robot = OneFoot(gains or LiftGains(), bearable)
    robot.update([0.0, 0.15], [0.0, 0.02])
    return robot


def test_a_foot_is_lifted_by_pushes_to_the_side_alone() -> None:
    """η beyond the other sole lifts it; η ahead of both does not."""
    assert pushed().lifted.number == 1
    assert pushed(LiftGains(lateral=1.01)).lifted.number is None


def test_the_leg_that_would_carry_alone_decides() -> None:
    """No foot is lifted where it is too weak; part of its sole may be all it bears."""
    assert pushed(bearable=None).lifted.number is None
    assert pushed(bearable=-0.1).lifted.number is None

    robot = OneFoot(LiftGains(), bearable=0.6)
    robot.update([0.14, 0.12], [0.02, 0.02])
    lifted = robot.lifted
    assert lifted.number == 1
    assert lifted.sole is not None
    assert max(lifted.sole.corners[:, 0]) == pytest.approx(0.06)
    both = support_of(np.concatenate(robot.corners))
    assert lifted.weak
    assert lifted.support(both, robot.corners) is lifted.sole
    # where the edge can be borne, too, it is the whole sole
    strong = OneFoot(LiftGains())
    strong.update([0.14, 0.12], [0.02, 0.02])
    assert strong.lifted.number == 1
    assert strong.lifted.sole is None
    assert not strong.lifted.weak
    assert max(strong.lifted.support(both, robot.corners).corners[:, 0]) == 0.1


def test_a_lifted_foot_waits_for_the_torso() -> None:
    """At its place it is put down when η is inside and the torso nearly upright."""
    robot = pushed()
    robot.update([0.0, 0.11], [0.0, 0.0], tilt=0.5)
    assert robot.lifted.number == 1
    robot.update([0.0, 0.11], [0.0, 0.0], tilt=0.1)
    assert robot.lifted.number is None
    assert not robot.lifted.busy


def test_a_foot_that_is_late_is_put_down_at_once() -> None:
    """Where η has left the sole that carries towards it, nothing keeps it up."""
    robot = pushed()
    robot.update([0.15, 0.02], [0.03, 0.0], tilt=0.8)
    assert robot.lifted.number is None


def test_a_foot_that_comes_no_nearer_is_put_down_where_it_is() -> None:
    """Dry friction may hold it beside its place: it does not stay up for ever."""
    robot = pushed()
    robot.here[1], robot.stuck = np.array([0.03, -0.1, 0.03]), True
    robot.update([0.0, 0.11], [0.0, 0.0], tilt=0.1, ticks=100)
    assert robot.lifted.number == 1
    robot.update([0.0, 0.11], [0.0, 0.0], tilt=0.1, ticks=300)
    assert robot.lifted.number is None


def test_a_foot_beside_its_place_is_put_back_once_the_robot_is_calm() -> None:
    """The weight is shifted first, gradually, and goes back at the end."""
    robot = OneFoot(LiftGains(), beside=0.02)
    lifted, middle = robot.lifted, np.zeros(2)
    robot.update([0.0, 0.05], [0.0, 0.0], tilt=0.1, ticks=5)  # not calm
    assert not lifted.busy

    way, was_up = [0.0], False
    for _ in range(3000):
        eta = lifted.reference(middle, robot.corners)
        robot.update(eta.tolist(), [0.0, 0.0], tilt=0.1, ticks=1)
        way.append(float(lifted.reference(middle, robot.corners)[1]))
        was_up = was_up or lifted.number == 1
        assert lifted.number != 0
        if was_up and not lifted.busy:
            break
    assert was_up
    assert not lifted.busy
    # onto the inner part of the left sole and back, at a bounded speed
    assert max(way) == pytest.approx(0.094)
    assert way[-1] == 0.0
    assert np.abs(np.diff(way)).max() < 1.01 * 0.06 * 3.0 * 2e-3
    assert abs(robot.here[1][0]) < 0.02 * 0.2
    assert lifted.target(cast("Any", "unchanged")) == "unchanged"


@pytest.mark.parametrize(("beside", "bearable"), [(0.005, 1.0), (0.02, None)])
def test_feet_near_their_place_and_weak_legs_stay(
    beside: float, bearable: float | None
) -> None:
    """2.5 % of the sole's length are near; a leg that cannot bear the weight stays."""
    robot = OneFoot(LiftGains(), bearable, beside)
    robot.update([0.0, 0.0], [0.0, 0.0], tilt=0.1)
    assert not robot.lifted.busy


def test_a_foot_that_cannot_be_put_back_is_tried_twice() -> None:
    """Then the robot stands with it where it is."""
    robot = OneFoot(LiftGains(), beside=0.02)
    robot.stuck = True
    lifts = 0
    for _ in range(6000):
        before = robot.lifted.number
        eta = robot.lifted.reference(np.zeros(2), robot.corners)
        robot.update(eta.tolist(), [0.0, 0.0], tilt=0.1, ticks=1)
        lifts += before is None and robot.lifted.number is not None
    assert lifts == 2
    assert not robot.lifted.busy


def test_a_push_ahead_ends_the_shift_of_the_weight() -> None:
    """No foot is lifted, and the DCM is wanted between the feet at once."""
    robot = OneFoot(LiftGains(), beside=0.02)
    robot.update([0.0, 0.0], [0.0, 0.0], tilt=0.1, ticks=50)
    assert robot.lifted.reference(np.zeros(2), robot.corners).any()
    robot.update([0.15, 0.0], [0.05, 0.0], ticks=1)
    assert not robot.lifted.busy
    assert not robot.lifted.reference(np.zeros(2), robot.corners).any()


def test_weight_that_does_not_get_onto_a_sole_goes_back() -> None:
    """A robot whose weight cannot be shifted gives up in the end."""
    robot = OneFoot(LiftGains(), beside=0.02)
    robot.update([0.0, 0.0], [0.0, 0.0], tilt=0.1, ticks=800)
    assert robot.lifted.busy
    assert robot.lifted.number is None
    robot.update([0.0, 0.0], [0.0, 0.0], tilt=0.1, ticks=6000)
    assert robot.lifted.number is None
    assert not robot.lifted.busy


@pytest.mark.parametrize("width", [0.03, 0.1])
def test_feet_with_soles_of_any_width_are_put_back(width: float) -> None:
    """The weight is well over the other sole before a foot is lifted, and stays."""
    robot = OneFoot(LiftGains(), beside=0.02)
    for corners in robot.corners:
        middle = corners.mean(axis=0)
        corners[:, 1] = middle[1] + (corners[:, 1] - middle[1]) * width / 0.06
    eta = np.zeros(2)
    for _ in range(3000):
        wanted = robot.lifted.reference(np.zeros(2), robot.corners)
        eta = eta + 6.0 * 3.0 * 2e-3 * (wanted - eta)  # it lags behind
        robot.update(eta.tolist(), [0.0, 0.0], tilt=0.1, ticks=1)
    assert not robot.lifted.busy
    assert abs(robot.here[1][0]) < 0.02 * 0.2


def test_a_foot_that_cannot_be_put_back_does_not_keep_the_other() -> None:
    """The left one, which is less far off, is put back after the right was tried."""
    robot = OneFoot(LiftGains(), beside=0.02)
    robot.here[0][0], robot.loads = 0.012, [100.0, 100.0]
    lifted: set[int] = set()
    for _ in range(12000):
        robot.stuck = robot.lifted.number == 1
        eta = robot.lifted.reference(np.zeros(2), robot.corners)
        robot.update(eta.tolist(), [0.0, 0.0], tilt=0.1, ticks=1)
        if robot.lifted.number is not None:
            lifted.add(robot.lifted.number)
    assert lifted == {0, 1}
    assert abs(robot.here[0][0]) < 0.02 * 0.2


def test_the_part_of_a_sole_holds_where_the_weight_should_be() -> None:
    """A leg that bears its heel alone lifts no foot; forces stay where it bears."""
    robot = OneFoot(LiftGains(), bearable=-0.2)
    robot.update([-0.12, 0.12], [-0.02, 0.02])
    assert robot.lifted.number is None

    partly = OneFoot(LiftGains(), bearable=0.6, beside=0.02)
    for _ in range(3000):
        eta = partly.lifted.reference(np.zeros(2), partly.corners)
        partly.update(eta.tolist(), [0.0, 0.0], tilt=0.1, ticks=1)
        if partly.lifted.number is not None:
            break
    both = support_of(np.concatenate(partly.corners))
    support = partly.lifted.support(both, partly.corners)
    assert max(support.corners[:, 0]) == pytest.approx(0.06)
    assert not partly.lifted.weak


def test_a_push_ends_what_was_being_put_back() -> None:
    """The other foot is lifted at once where that is what the push needs."""
    robot = OneFoot(LiftGains(), beside=0.02)
    robot.update([0.0, 0.0], [0.0, 0.0], tilt=0.1, ticks=50)
    assert robot.lifted.returning == 1
    robot.loads = [0.0, 100.0]
    robot.update([0.0, -0.15], [0.0, -0.02], ticks=1)
    assert robot.lifted.number == 0
    assert robot.lifted.returning is None


def tasks_of(name: str) -> tuple[eq.Robot, WholeBodyController, CaptureTasks]:
    """Return a robot, its controller, and tasks while a push is captured in place."""
    robot = eq.load(name)
    controller = WholeBodyController(
        robot, 2e-3, known_joints(trial_world(robot, None, "torque"), robot)
    )
    tasks = BalanceTasks(
        controller.com_task, controller.torso_task, controller.posture_task
    )
    dynamics, feet = controller.dynamics, controller.feet
    changed = CaptureTasks(dynamics, feet, tasks, [], gains_in_place())
    controller.posture_task.position = controller.dynamics.joint_positions
    changed.set(1.0, 1.0)
    return robot, controller, changed


@pytest.mark.parametrize("degrees", [0, 45, 300])
def test_a_leg_is_thrown_about_the_axis_of_the_swing(degrees: float) -> None:
    """Only where the other leg cannot bear all of its sole, and by its hip alone."""
    robot, controller, changed = tasks_of("humanoid")
    dynamics, posture = controller.dynamics, controller.posture_task
    angle = math.radians(degrees)
    over = 0.05 * np.array([math.cos(angle), math.sin(angle)])
    axis = np.array([-math.sin(angle), math.cos(angle), 0.0])
    for weak, number, free in ((False, 1, 1.0), (True, None, 1.0), (True, 1, 0.0)):
        posture.acceleration = np.zeros(robot.nv - 6)
        lifted = SimpleNamespace(number=number, weak=weak, joint_weight=0.0)
        changed.move_leg(cast("Any", lifted), over, free)
        assert not posture.acceleration.any()
    lifted = SimpleNamespace(number=1, weak=True, joint_weight=0.0)
    changed.move_leg(cast("Any", lifted), over, 1.0)
    hips = hip_degrees(robot)[1]
    others = np.setdiff1d(np.arange(robot.nv - 6), hips)
    assert not posture.acceleration[others].any()
    turns = dynamics.jacobian(dynamics.frame(robot.legs["right"].end_link))[3:, 6:]
    assert axis @ turns[:, hips] @ posture.acceleration[hips] > 10.0


@pytest.mark.parametrize("name", ROBOTS)
def test_joints_of_a_straight_leg_weigh_more_while_it_comes_back(name: str) -> None:
    """Its own alone, as much as asked for, and no longer; a bent one is left alone."""
    robot, controller, changed = tasks_of(name)
    posture, dynamics = controller.posture_task, controller.dynamics
    leg = degrees_of_limb(robot, robot.legs["right"])
    others = np.setdiff1d(np.arange(robot.nv - 6), leg)
    lifted = SimpleNamespace(number=1, weak=False, joint_weight=0.7)
    hip = dynamics.frame(robot.legs["right"].joints[0])
    sole, q = dynamics.frame(sole_frame("right")), robot.standing.copy()
    knee = knee_of(robot, controller)

    def shortness(angle: float) -> float:
        q[knee] = angle
        dynamics.update(q, np.zeros(robot.nv))
        way = dynamics.pose(sole).translation - dynamics.pose(hip).translation
        return -float(np.linalg.norm(way))

    straight = float(minimize_scalar(shortness, bounds=(-1.0, 1.0), method="bounded").x)
    for bent, part in ((0.0, 1.0), (0.6, 0.0)):
        shortness(straight + bent)
        changed.set(1.0, 1.0)
        usual = [
            np.array(numbers)
            for numbers in (posture.weight, posture.stiffness, posture.damping)
        ]
        changed.move_leg(cast("Any", lifted), np.zeros(2), 0.0)
        now = posture.weight, posture.stiffness, posture.damping
        wanted = np.maximum(usual[0][leg], 0.7 * part)
        assert posture.weight[leg] == pytest.approx(wanted, abs=1e-3)
        for numbers, before in zip(now, usual, strict=True):
            assert (numbers[others] == before[others]).all()
            assert part == 1.0 or (numbers == before).all()


def knee_of(robot: eq.Robot, controller: WholeBodyController) -> int:
    """Return the knee of the right leg, in the order of q: the joint half way down."""
    leg, dynamics = robot.legs["right"], controller.dynamics
    heights = np.array(
        [dynamics.pose(dynamics.frame(name)).translation[2] for name in leg.joints]
    )
    half = 0.5 * (heights.max() + heights.min())
    knee = leg.joints[int(np.argmin(np.abs(heights - half)))]
    return int(robot.model.joints[robot.model.getJointId(knee)].idx_q)


def test_soles_that_slid_are_put_back() -> None:
    """At 80 % of J* at 45° the sole that carries slides by 9 mm and turns by 3°."""
    robot = eq.load("humanoid")
    direction = math.radians(45.0)
    most = theoretical_limit(robot, direction)
    run = push(robot, 0.8 * most, direction, law="whole-body")
    assert run.summary["achieved"], run.summary["sentence"]
    places = {side: sole_pose(robot, run.q, side)[:, :3, 3] for side in robot.soles}
    off = np.linalg.norm(places["left"] - places["left"][0], axis=1)
    assert off.max() > 0.008
    assert off[-1] < 0.006
    # both feet were in the air, one after the other
    for side, place in places.items():
        assert np.ptp(place[:, 2]) > 0.01, side
