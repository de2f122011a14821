"""A robot that stands and is pushed, as a task: actions, observations, pushes.

Nothing here knows Gymnasium; :mod:`equipoise.study.environments` wraps it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.control.signals import Command
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.gait.feedforward import standing_torques
from equipoise.kinematics.com import com
from equipoise.kinematics.frames import frame_jacobian
from equipoise.kinematics.support import distance_to_edge, support_polygon
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.simulation.actuation import actuation_of
from equipoise.simulation.fleet import Fleet
from equipoise.simulation.loop import whole_steps
from equipoise.simulation.push import pushed_stance, theoretical_limit
from equipoise.simulation.variation import Variation
from equipoise.simulation.world import (
    PUSH_DURATION,
    World,
    horizontal_push,
    make_world,
)

if TYPE_CHECKING:
    from equipoise.kernels.episodes import Learners

# Robots stand until they are slower than this fraction of √(g h), for at least and at
# most so long, before their start is kept [s].
AT_REST, SETTLING, LONGEST_SETTLING = 1e-3, 1.0, 10.0
# Directions from which that of a push is drawn.
DIRECTIONS = 360
# What the mean square of an action costs, where standing still earns one.
ACTION_COST = 0.05
# Bounds of an observation: angular velocity over √(g / h) of the pendulum; angle [rad]
# (or distance [m]) of a joint; its speed over the actuator's limit; load over weight.
FASTEST_TURN, FARTHEST_JOINT = 10.0, 2.0 * math.pi
FASTEST_JOINT, HIGHEST_LOAD = 3.0, 10.0
# Speed of joints whose actuators know no limit [rad/s].
UNLIMITED_SPEED = 100.0
SIDES: tuple[Side, Side] = ("left", "right")

Actions = Literal["legs", "base"] | Sequence[str]


@dataclass(frozen=True)
class ObservationNoise:
    """Standard deviations of white noise on what is observed.

    Attributes:
        gravity: Direction of gravity, each component.
        gyro: Angular velocity [rad/s].
        position: Positions of joints [rad or m].
        velocity: Velocities of joints [rad/s or m/s].
        load: Load of a foot over the weight.
    """

    gravity: float = 0.01
    gyro: float = 0.02
    position: float = 0.001
    velocity: float = 0.05
    load: float = 0.02


@dataclass(frozen=True)
class Randomisation:
    """How robots differ from the model, each drawn uniformly.

    Attributes:
        mass: Mass of each link, ± this fraction of it.
        com: CoM of each link, ± this fraction of the longest limb along each axis.
        friction: Least and largest friction over that of the world.
        gains: Stiffness and damping of all servos of a robot, ± this fraction.
        delay: Least and largest delay from command to actuator [s].
    """

    mass: float = 0.1
    com: float = 0.005
    friction: tuple[float, float] = (0.6, 1.2)
    gains: float = 0.1
    delay: tuple[float, float] = (0.0, 0.005)

    def draw(
        self, world: World, count: int, generator: np.random.Generator
    ) -> Variation:
        """Return so many robots.

        Args:
            world: The robot and all that it meets.
            count: How many.
            generator: Source of random numbers.
        """
        links = [
            (link.name, link.inertial)
            for link in world.robot.description.links
            if link.inertial is not None and link.inertial.mass > 0.0
        ]

        def about_one(part: float, *shape: int) -> Array:
            return 1.0 + part * generator.uniform(-1.0, 1.0, (count, *shape))

        size = self.com * world.robot.longest_limb
        friction = generator.uniform(*self.friction, count)
        gains = about_one(self.gains, 1)
        return Variation(
            mass={name: own.mass * about_one(self.mass) for name, own in links},
            com={
                name: own.com_in_link + size * generator.uniform(-1.0, 1.0, (count, 3))
                for name, own in links
            },
            static_friction=world.material.static_friction * friction,
            stiffness=gains * world.actuation.stiffness,
            damping=gains * world.actuation.damping,
            delay=generator.uniform(*self.delay, count),
        )


class BalanceTask:
    """Robots of a fleet that stand and are pushed.

    Attributes:
        fleet: The robots; where they have settled is kept as their start.
        learners: Episodes on the device.
        world: The robot and all that it meets.
        stance: Configuration in which robots begin to settle, shape (nq,).
        posture: Positions of joints that an action of zero holds, shape (nv - 6,).
        names: What each number of an observation is.
        low: Lower bounds of an observation, shape (numbers,).
        high: Upper bounds, likewise.
        actions: What each number of an action is.
    """

    fleet: Fleet
    learners: Learners

    def __init__(
        self,
        robot: Robot | World,
        count: int,
        *,
        seconds: float = 4.0,
        control_period: float = 0.02,
        actions: Actions = "legs",
        action_scale: float = 1.0,
        bandwidth: float | None = None,
        impulse: tuple[float, float] = (0.5, 0.8),
        pushes: int = 1,
        randomisation: Randomisation | Variation | None = None,
        noise: ObservationNoise | None = None,
        seed: int = 0,
        dt: float = 1e-3,
        autoreset: int = 0,
        **options: Any,
    ) -> None:
        """Let robots settle on their feet; see ``FleetEnv`` for the arguments."""
        world = _pushed_world(robot, bandwidth, pushes)
        self._check(world, seconds, impulse, pushes)
        self.world = world
        self.stance = pushed_stance(world)
        variation = _variation(world, count, randomisation, pushes, seed)
        self.fleet = Fleet(
            world,
            count,
            dt,
            variation=variation,
            control_period=control_period,
            **options,
        )
        self.actions, offset = _offsets(world, self.stance, actions, action_scale)
        self._on_host = options.get("device", "cpu") == "cpu"
        self._settle(control_period)
        self._lay_out(offset, seconds, impulse, pushes, noise, autoreset)

    def _check(
        self, world: World, seconds: float, impulse: tuple[float, float], pushes: int
    ) -> None:
        if set(world.robot.soles) < set(SIDES):
            raise EquipoiseError(f"{world.robot.name} has no two soles to stand on")
        least, most = impulse
        if not 0.0 <= least <= most < math.inf:
            raise EquipoiseError(
                f"impulse is from {least:g} to {most:g} of J*; fractions of 0 or more "
                "are needed, the larger one last"
            )
        shortest = 2.0 * PUSH_DURATION * max(pushes, 1)
        if not shortest <= seconds < math.inf:
            raise EquipoiseError(
                f"episodes of {seconds:g} s: {shortest:g} s or more are needed"
            )

    def _settle(self, control_period: float) -> None:
        fleet, robot = self.fleet, self.world.robot
        height = float(com(robot, self.stance)[2])
        slow = AT_REST * math.sqrt(self.world.gravity * height)
        self.posture = joint_positions(robot, self.stance)
        torque = standing_torques(robot, self.stance)
        fleet.reset(self.stance)
        fleet.set_command(Command(self.posture, np.zeros_like(torque), torque))
        for period in range(1, math.ceil(LONGEST_SETTLING / control_period) + 1):
            fleet.step()
            speed = np.linalg.norm(fleet.state.com_velocity.numpy(), axis=1)
            rests = (speed < slow) & (fleet.state.status.numpy()[:, 0] == 0)
            if period * control_period >= SETTLING and rests.all():
                fleet.keep_start()
                return
        raise EquipoiseError(
            f"{np.sum(~rests)} of {fleet.count} robots do not stand still before they "
            "are pushed: their servos may be too soft"
        )

    def begin(self, which: NDArray[np.bool_]) -> None:
        """Begin new episodes of some robots.

        Args:
            which: Which of them, shape (n,).
        """
        numbers = np.where(which, np.arange(self.fleet.count), -1)
        self.learners.struct.source.assign(numbers.astype(np.int32))
        self._begin()

    def step(self, actions: Any) -> None:
        """Let actions hold for a control period, and look at what came of it.

        Args:
            actions: ``float32`` of shape (n, actions), on the host or by DLPack.
        """
        position: Any = self.fleet.command.position
        self.learners.act(actions, position)
        self.fleet.step()
        self.learners.assess()

    def begin_anew(self) -> None:
        """Begin new episodes of robots whose turn it is, on the device."""
        if self._on_host and not self.beginning().any():
            return
        self._begin()

    def _begin(self) -> None:
        self.fleet.restart(self.learners.struct.source)
        self.learners.draw_pushes()
        self.learners.observe_anew()

    def beginning(self) -> NDArray[np.bool_]:
        """Return who began a new episode in the last step, shape (n,)."""
        return np.asarray(self.learners.struct.source.numpy() >= 0)

    def observation(self) -> NDArray[np.float32]:
        """Return a copy of what is observed of all robots, shape (n, numbers)."""
        return np.array(self.learners.struct.observation.numpy(), dtype=np.float32)

    def _lay_out(
        self,
        offset: Array,
        seconds: float,
        impulse: tuple[float, float],
        pushes: int,
        noise: ObservationNoise | None,
        autoreset: int,
    ) -> None:
        from equipoise.kernels.episodes import EpisodeArrays, Learners

        world, fleet = self.world, self.fleet
        robot, joints = world.robot, degree_names(world.robot)
        centre = np.asarray(com(robot, self.stance))
        pendulum = math.sqrt(world.gravity / float(centre[2]))
        speed = FASTEST_JOINT * world.actuation.velocity_limit
        speed = np.where(np.isfinite(speed), speed, UNLIMITED_SPEED)
        std = noise or ObservationNoise(0.0, 0.0, 0.0, 0.0, 0.0)
        parts: list[tuple[list[str], Any, float]] = [
            ([f"gravity_{axis}" for axis in "xyz"], 1.0, std.gravity),
            ([f"gyro_{axis}" for axis in "xyz"], FASTEST_TURN * pendulum, std.gyro),
            ([f"{name}.position" for name in joints], FARTHEST_JOINT, std.position),
            ([f"{name}.velocity" for name in joints], speed, std.velocity),
            ([f"{side}_load" for side in SIDES], HIGHEST_LOAD, std.load),
            ([f"last_{name}" for name in self.actions], 1.0, 0.0),
        ]
        self.names = tuple(name for names, *_ in parts for name in names)
        self.high = np.concatenate(
            [np.broadcast_to(bound, len(names)) for names, bound, _ in parts]
        ).astype(np.float32)
        self.low = -self.high
        deviation = np.concatenate([np.full(len(n), std) for n, _, std in parts])
        corners = np.asarray(support_polygon(robot, self.stance, SIDES))
        directions = np.linspace(0.0, 2.0 * math.pi, DIRECTIONS, endpoint=False)
        edge = [distance_to_edge(corners, centre[:2], angle) for angle in directions]
        limits = np.array(
            [
                theoretical_limit(world, angle, PUSH_DURATION, self.stance)
                for angle in directions
            ]
        )
        along = np.stack([np.cos(directions), np.sin(directions)], axis=1)
        bodies = list(robot.model.joints)[2:]
        self.learners = Learners(
            EpisodeArrays(
                q_at=np.array([joint.idx_q for joint in bodies], np.int32),
                endless=np.array([joint.nq == 2 for joint in bodies], np.int32),
                posture=self.posture,
                offset=offset,
                foot=np.array(
                    [
                        -1 if point.side is None else SIDES.index(point.side)
                        for point in world.contacts
                    ],
                    np.int32,
                ),
                weight=robot.mass * world.gravity,
                low=self.low,
                high=self.high,
                deviation=deviation,
                reach=min(edge),
                action_cost=ACTION_COST,
                steps=whole_steps(seconds, fleet.dt, "episode"),
                pushes=pushes,
                limit=limits[:, None] * along,
                fractions=impulse,
                duration=PUSH_DURATION,
                slot=seconds / max(pushes, 1),
                autoreset=autoreset,
            ),
            fleet.state,
            fleet.push_arrays,
        )


def _pushed_world(robot: Robot | World, bandwidth: float | None, pushes: int) -> World:
    """Return a world with pushes that are yet to be drawn."""
    if isinstance(robot, World):
        if bandwidth is not None:
            raise EquipoiseError("a world has its own servos: give the robot alone")
        world = robot
    else:
        actuation = actuation_of(robot, bandwidth=bandwidth)
        world = make_world(robot, actuation=actuation)
    if world.pushes:
        raise EquipoiseError("the world has pushes of its own: pushes are drawn here")
    if pushes < 0:
        raise EquipoiseError(f"{pushes} pushes; 0 or more are needed")
    drawn = (horizontal_push(world.robot, 1.0, 0.0, 0.0),) * pushes
    return replace(world, pushes=drawn)


def _variation(
    world: World,
    count: int,
    randomisation: Randomisation | Variation | None,
    pushes: int,
    seed: int,
) -> Variation:
    """Return how robots differ, with pushes of their own that have no force yet."""
    given = randomisation or Variation()
    if isinstance(given, Randomisation):
        given = given.draw(world, count, np.random.default_rng(seed))
    if pushes == 0:
        return given
    return replace(
        given,
        push_force=np.zeros((count, pushes, 3)),
        push_start=np.zeros((count, pushes)),
        push_duration=np.zeros((count, pushes)),
    )


def _offsets(
    world: World, stance: Array, actions: Actions, scale: float
) -> tuple[tuple[str, ...], Array]:
    """Return names of actions, and what each adds to the joints, (actions, joints).

    An action of one takes a joint as far as its servo's stiffness makes it give its
    largest torque, but not beyond its stops.
    """
    if not (math.isfinite(scale) and scale > 0.0):
        raise EquipoiseError(f"action_scale is {scale:g}; it must be positive")
    robot, actuation = world.robot, world.actuation
    names, position = degree_names(robot), joint_positions(robot, stance)
    stiff = actuation.stiffness > 0.0
    most = np.zeros(len(names))
    most[stiff] = scale * actuation.torque_limit[stiff] / actuation.stiffness[stiff]
    room = np.minimum(position - actuation.lower, actuation.upper - position)
    most = np.clip(most, 0.0, np.maximum(room, 0.0))
    if actions == "base":
        return _base_offsets(robot, stance, most)
    chosen = (
        [name for name in names if name in robot.leg_joints]
        if actions == "legs"
        else list(actions)
    )
    for name in chosen:
        if name not in names:
            raise NameNotFoundError("joint", name, names, robot.name)
    rows = [names.index(name) for name in chosen]
    if not rows or not (most[rows] > 0.0).all():
        weak = [name for name, row in zip(chosen, rows, strict=True) if most[row] <= 0]
        what = f"'{weak[0]}' has no servo that can move it" if weak else "none is given"
        raise EquipoiseError(f"actions move joints by their servos: {what}")
    return tuple(chosen), np.eye(len(names))[rows] * most


def _base_offsets(
    robot: Robot, stance: Array, most: Array
) -> tuple[tuple[str, ...], Array]:
    """Return joints of the legs that move the base while the soles stay in place."""
    names = degree_names(robot)
    move = np.zeros((6, len(names)))
    for side in SIDES:
        jacobian = frame_jacobian(robot, stance, robot.soles[side].link)
        legs = robot.limbs[f"{side}_leg"].joints
        columns = [names.index(name) for name in legs if name in names]
        own = np.asarray(jacobian)[:, 6:][:, columns]
        move[:, columns] = -(np.linalg.pinv(own) @ np.asarray(jacobian)[:, :6]).T
    moved = np.abs(move) > 1e-6 * np.abs(move).max()
    ratio = np.where(moved, most / np.where(moved, np.abs(move), 1.0), np.inf)
    least = ratio.min(axis=1)
    if not np.all((least > 0.0) & np.isfinite(least)):
        raise EquipoiseError(
            f"the legs of {robot.name} cannot move its base in all six directions: use "
            "actions of joints"
        )
    axes = tuple(f"base_{kind}{axis}" for kind in ("", "r") for axis in "xyz")
    return axes, move * least[:, None]
