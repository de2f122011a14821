"""How a robot walks up to a box and pushes it: steps, hands, force, and the box itself.

All sizes come from the robot. Hands push at half an arm's length below the shoulders,
or at another height where arms or soles allow more there.
The robot stops so that the box is a little before its hands when the elbows are bent.
The box is one that the wanted force moves: a quarter more than friction holds it with;
and so deep that it slides before it tips over, F z < m g d / 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.balance.whole_body.gains import WholeBodyGains
from equipoise.balance.whole_body.hands import Hand, hands_of
from equipoise.balance.whole_body.push_plan import PushPlan
from equipoise.balance.whole_body.reaching import ReachPath, plan_reach
from equipoise.errors import EquipoiseError
from equipoise.gait.feedforward import standing_torques
from equipoise.gait.fit import fit_walk
from equipoise.gait.motion import Motion, solve
from equipoise.kinematics.com import com
from equipoise.kinematics.frames import frame_jacobian
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.terrain import Flat
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.simulation.contacts import Material
from equipoise.simulation.feedback import known_joints
from equipoise.simulation.push import pushed_stance
from equipoise.simulation.world import Box, World, with_friction

# Fractions of an arm's length: how far below the shoulders hands push, the first that
# will do; how far they are stretched at the end, how far they go at most, and how far
# before the box they begin.
BELOW, STRETCHED, STROKE, GAP = (0.5, 0.35, 0.65, 0.2), 0.88, 0.5, 0.1
# Toes stay this fraction of a leg before the box.
TOES = 0.05
# The wanted force over that at which friction holds the box, and its coefficient of
# friction: cardboard on a smooth floor.
FORCE_OVER_FRICTION, BOX_FRICTION = 1.25, 0.3
# Under its own weight a box sinks in by this fraction of its height; it has that part
# of critical damping.
SINK, DAMPING_RATIO = 1e-3, 0.7
# A box is so much deeper than one that would just tip over, so much higher than where
# it is pushed, and so much wider than the hands are apart.
DEEPER, HIGHER, WIDER = 1.8, 1.25, 1.5
# Parts of the sole's length, of friction under the soles and of the arms' torques that
# a push may take.
SOLES, FRICTION, TORQUE = 0.75, 0.8, 0.9
# Standard deviation of what hands feel, as a fraction of the robot's weight, and the
# least force that is wanted, in these.
FELT, LEAST = 5e-4, 20.0


@dataclass(frozen=True, eq=False)
class BoxPlan:
    """All that is planned.

    Attributes:
        motion: The walk.
        push: What hands and CoM do after it.
        box: The box.
        height: Height at which hands push [m].
        largest_force: The largest force that could be asked for [N].
    """

    motion: Motion
    push: PushPlan
    box: Box
    height: float
    largest_force: float


def plan_box(
    world: World,
    robot: Robot,
    distance: float,
    force: float,
    *,
    mass: float | None = None,
    size: tuple[float, float, float] | None = None,
    friction: float = BOX_FRICTION,
) -> BoxPlan:
    """Return how a robot walks to a box and pushes it.

    Args:
        world: The robot as it is, on flat ground.
        robot: The robot as it is known.
        distance: From the middle between its feet to the box [m].
        force: Wanted force, of both hands together [N].
        mass: Mass of the box [kg]; one that the force moves unless given.
        size: Depth, width and height of the box [m]; a box that does not tip over
            unless given.
        friction: Coefficient of friction at which the box begins to slip.

    Raises:
        EquipoiseError: If the robot has no hands, the box is too near, or the force is
            more than soles, friction or arms can give: says what is possible.
    """
    if not isinstance(world.terrain, Flat):
        raise EquipoiseError("a box is pushed on flat ground: --terrain flat")
    hands = hands_of(robot)
    if not hands:
        raise EquipoiseError(f"{robot.name} has no arms to push a box with")
    shape = _shape(world, robot, hands, force)
    if not (math.isfinite(distance) and distance >= shape.nearest):
        raise EquipoiseError(
            f"a box {distance:g} m ahead is nearer than {robot.name} can stand before "
            f"it with bent elbows: at least {shape.nearest:.2f} m are needed"
        )
    _check_force(shape, force)
    box = _box(shape, distance, force, mass, size, friction)
    motion = _walk(robot, distance - shape.nearest)
    q = motion.q[-1]
    middle = _middle(robot, q)
    ready = shape.reach(q, middle, shape.ready)
    stroke = shape.reach(ready.q[-1], middle, shape.end)
    lever = force * shape.height / (robot.mass * world.gravity)
    lean = shape.sole_middle + 0.5 * lever - float(com(robot, q)[0] - middle[0])
    push = PushPlan(force, motion.duration, ready, stroke, lean)
    return BoxPlan(motion, push, box, shape.height, shape.largest[0])


def _shape(world: World, robot: Robot, hands: dict[Side, Hand], force: float) -> _Shape:
    """Return where hands push: at the first height that will do, or the best."""
    best: _Shape | None = None
    problem: EquipoiseError | None = None
    for below in BELOW:
        try:
            shape = _Shape(world, robot, hands, below)
        except EquipoiseError as error:
            problem = problem or error
            continue
        if best is None or shape.largest[0] > best.largest[0]:
            best = shape
        if best.largest[0] >= force:
            break
    if best is None:
        assert problem is not None
        raise problem
    return best


class _Shape:
    """Where hands push, from the middle between the feet, and how hard they can."""

    def __init__(
        self, world: World, robot: Robot, hands: dict[Side, Hand], below: float
    ) -> None:
        self.world, self.robot, self.hands = world, robot, hands
        self.joints = known_joints(world)
        q = pushed_stance(world)
        model, data = robot.model, robot.model.createData()
        pin.forwardKinematics(model, data, q)
        shoulders = {
            side: np.array(data.oMi[model.getJointId(hand.joints[0])].translation)
            for side, hand in hands.items()
        }
        length = min(hand.length for hand in hands.values())
        self.height = float(np.mean([at[2] for at in shoulders.values()]))
        self.height -= below * length
        middle = _middle(robot, q)
        ahead = float(np.mean([at[0] for at in shoulders.values()])) - middle[0]
        self.sides = {side: float(at[1] - middle[1]) for side, at in shoulders.items()}
        soles = robot.soles.values()
        self.toes = max(float(sole.polygon_in_sole[:, 0].max()) for sole in soles)
        heels = min(float(sole.polygon_in_sole[:, 0].min()) for sole in soles)
        self.sole_middle, self.sole_length = (
            0.5 * (self.toes + heels),
            self.toes - heels,
        )
        leg = max(limb.length for limb in robot.legs.values())
        self.end = ahead + length * math.sqrt(STRETCHED**2 - below**2)
        self.ready = max(self.end - STROKE * length, self.toes + TOES * leg)
        self.gap = GAP * length
        self.nearest = self.ready + self.gap
        if self.end - self.ready < 2.0 * self.gap:
            raise EquipoiseError(
                f"the arms of {robot.name} are too short to push a box before its toes"
            )
        ready = self.reach(q, middle, self.ready)
        stroke = self.reach(ready.q[-1], middle, self.end)
        if max(ready.remaining, stroke.remaining) > 0.5 * self.gap:
            why = (ready if ready.remaining > stroke.remaining else stroke).limited_by
            raise EquipoiseError(
                f"the hands of {robot.name} do not get {self.ready:.2f} to "
                f"{self.end:.2f} m ahead at a height of {self.height:.2f} m: "
                f"{'; '.join(why)}"
            )
        self.largest = min(self._by_soles(), self._by_friction(), self._by_arms(stroke))

    def reach(self, q: Array, middle: Array, ahead: float) -> ReachPath:
        """Return a path of the arms to a distance ahead of the feet."""
        goals = {
            side: np.array([middle[0] + ahead, middle[1] + y, middle[2] + self.height])
            for side, y in self.sides.items()
        }
        moving = [name for hand in self.hands.values() for name in hand.joints]
        return plan_reach(self.robot, q, goals, self.joints, moving=moving)

    @property
    def weight(self) -> float:
        """Weight of the robot [N]."""
        return self.robot.mass * self.world.gravity

    def _by_soles(self) -> tuple[float, str]:
        force = SOLES * self.weight * self.sole_length / self.height
        return force, "the soles are too short for more: F h < m g d"

    def _by_friction(self) -> tuple[float, str]:
        friction = self.world.material.static_friction
        used = min(friction, WholeBodyGains().foot.friction)
        return (
            FRICTION * used * self.weight,
            "the soles would slip with more: F < μ m g",
        )

    def _by_arms(self, stroke: ReachPath) -> tuple[float, str]:
        """Return what the arms can press all along the stroke."""
        least, share, weakest = math.inf, 1.0 / len(self.hands), ""
        names = degree_names(self.robot)
        for q in stroke.q[:: max(len(stroke.q) // 8, 1)]:
            held = np.abs(standing_torques(self.robot, q))
            for hand in self.hands.values():
                jacobian = _point_jacobian(self.robot, q, hand)
                taken = np.abs(share * jacobian[0, 6:])
                left = np.maximum(TORQUE * self.joints.torque - held, 0.0)
                for name in hand.joints:
                    at = names.index(name)
                    most = float(left[at] / max(taken[at], 1e-9))
                    if most < least:
                        least, weakest = most, name
        return least, f"the torque of {weakest} allows no more"


def _point_jacobian(robot: Robot, q: Array, hand: Hand) -> Array:
    """Return the Jacobian of a hand's point in world axes, shape (3, nv)."""
    jacobian = np.asarray(frame_jacobian(robot, q, hand.link))
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    frame = robot.frame_id(hand.link)
    pose = pin.updateFramePlacement(robot.model, data, frame)
    lever = pose.rotation @ hand.point_in_link
    return np.asarray(jacobian[:3] - pin.skew(lever) @ jacobian[3:])


def _middle(robot: Robot, q: Array) -> Array:
    """Return the middle between the feet [m], shape (3,)."""
    soles = [sole_pose(robot, q, side)[:3, 3] for side in robot.soles]
    return np.asarray(np.mean(soles, axis=0))


def _check_force(shape: _Shape, force: float) -> None:
    least = LEAST * FELT * shape.weight
    most, why = shape.largest
    if not least <= force <= most:
        if force > most:
            raise EquipoiseError(
                f"a push of {force:g} N is too much for {shape.robot.name} at a height "
                f"of {shape.height:.2f} m: at most {most:.0f} N; {why}"
            )
        raise EquipoiseError(
            f"a push of {force:g} N is too little for {shape.robot.name} to feel: at "
            f"least {least:.1f} N"
        )


def _box(
    shape: _Shape,
    distance: float,
    force: float,
    mass: float | None,
    size: tuple[float, float, float] | None,
    friction: float,
) -> Box:
    """Return the box, and refuse one that does not slide, or that tips over."""
    g = shape.world.gravity
    heaviest = force / (friction * g) if friction > 0.0 else math.inf
    if mass is None:
        mass = heaviest / FORCE_OVER_FRICTION
        if not math.isfinite(mass):  # without friction any force moves any box
            mass = shape.robot.mass
    if not 0.0 < mass < heaviest:
        raise EquipoiseError(
            f"a box of {mass:g} kg does not slide with {force:g} N: friction holds "
            f"what has {heaviest:.2f} kg or more"
        )
    tips = 2.0 * force * shape.height / (mass * g)
    if size is None:
        width = 2.0 * WIDER * max(abs(y) for y in shape.sides.values())
        size = (max(DEEPER * tips, width), width, HIGHER * shape.height)
    depth, width, height = size
    if height <= shape.height + shape.gap:
        raise EquipoiseError(
            f"a box {height:g} m high is lower than the hands of {shape.robot.name}, "
            f"which push {shape.height:.2f} m above the ground: more than "
            f"{shape.height + shape.gap:.2f} m are needed"
        )
    if width <= 2.0 * max(abs(y) for y in shape.sides.values()):
        raise EquipoiseError(
            f"a box {width:g} m wide is narrower than the hands of {shape.robot.name} "
            "are apart"
        )
    if depth <= tips:
        raise EquipoiseError(
            f"a box {depth:g} m deep tips over before it slides, pushed "
            f"{shape.height:.2f} m above the ground: more than {tips:.2f} m are needed"
        )
    centre = np.array([distance + 0.5 * depth, 0.0, 0.5 * height])
    return Box(
        centre, np.array(size), mass, material=_cardboard(shape, mass, height, friction)
    )


def _cardboard(shape: _Shape, mass: float, height: float, friction: float) -> Material:
    """Return what a box is made of; four corners carry it."""
    usual = with_friction(shape.world, friction).material
    stiffness = 0.25 * mass * shape.world.gravity / (SINK * height)
    damping = 2.0 * DAMPING_RATIO * math.sqrt(stiffness * 0.25 * mass)
    return replace(usual, stiffness=stiffness, damping=damping)


def _walk(robot: Robot, distance: float) -> Motion:
    """Return a walk straight ahead, as long as it is asked for [m]."""
    usual = fit_walk(robot).parameters.length
    assert usual is not None
    moves = max(math.ceil(distance / usual - 1e-9), 1)
    return solve(robot, fit_walk(robot, moves + 1, length=distance / moves))
