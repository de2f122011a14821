"""Footsteps of walks: forward, backward, sideways, turning, mixed, over stairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.gait.footsteps import Footstep, Footsteps, check_side, other
from equipoise.gait.parameters import check_number
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.terrain import Stairs
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side


class Move(NamedTuple):
    """How one step moves the middle between the feet.

    Attributes:
        length: Distance forward [m].
        sideways: Distance to the left [m].
        turn: Turn to the left [rad]; the middle moves on an arc.
        rise: Distance up [m].
    """

    length: float = 0.0
    sideways: float = 0.0
    turn: float = 0.0
    rise: float = 0.0


class Middle(NamedTuple):
    """The middle between the feet.

    Attributes:
        x: x-coordinate in the world [m].
        y: y-coordinate [m].
        z: z-coordinate [m].
        heading: Mean yaw of the feet, not wrapped [rad].
    """

    x: float
    y: float
    z: float
    heading: float

    def moved(self, move: Move) -> Middle:
        """Return the middle after a move, which is along an arc."""
        half = move.turn / 2.0
        chord = math.sin(half) / half if abs(half) > 1e-12 else 1.0
        c, s = chord * math.cos(half), chord * math.sin(half)
        forward = c * move.length - s * move.sideways
        left = s * move.length + c * move.sideways
        c, s = math.cos(self.heading), math.sin(self.heading)
        return Middle(
            self.x + c * forward - s * left,
            self.y + s * forward + c * left,
            self.z + move.rise,
            self.heading + move.turn,
        )

    def seen(self, foot: Footstep) -> Footstep:
        """Return a footstep in the frame of the middle, level."""
        c, s = math.cos(self.heading), math.sin(self.heading)
        dx, dy = foot.x - self.x, foot.y - self.y
        forward, left = c * dx + s * dy, c * dy - s * dx
        return Footstep(foot.side, forward, left, 0.0, foot.yaw - self.heading)

    def put(self, place: Footstep) -> Footstep:
        """Return a footstep in the world from one in the frame of the middle."""
        c, s = math.cos(self.heading), math.sin(self.heading)
        return Footstep(
            place.side,
            self.x + c * place.x - s * place.y,
            self.y + s * place.x + c * place.y,
            self.z,
            self.heading + place.yaw,
        )


def middle_of(feet: Mapping[Side, Footstep]) -> Middle:
    """Return the middle between both feet."""
    mean = np.mean([feet[side].coordinates for side in ("left", "right")], axis=0)
    return Middle(*(float(value) for value in mean[:4]))


def standing_feet(robot: Robot, width: float | None = None) -> dict[Side, Footstep]:
    """Return where the feet stand in the standing posture, with level soles.

    Args:
        robot: The robot.
        width: Distance of the sole frames to put them at, to either side of the
            middle [m]; as they stand unless given.

    Raises:
        EquipoiseError: If the robot lacks a sole.
    """
    feet: dict[Side, Footstep] = {}
    for side in ("left", "right"):
        pose = sole_pose(robot, robot.standing, side)
        x, y, z = (float(value) for value in pose[:3, 3])
        if width is not None:
            y = math.copysign(width / 2.0, 1.0 if side == "left" else -1.0)
        yaw = math.atan2(pose[1, 0], pose[0, 0])
        feet[side] = Footstep(side, x, y, z, yaw)
    return feet


def route(
    feet: Mapping[Side, Footstep],
    moves: Iterable[Move],
    first: str = "right",
    *,
    close: bool = True,
) -> Footsteps:
    """Return footsteps that move the middle between the feet as given, step by step.

    The feet swing alternately, each to its place beside the moved middle; how they
    stand to each other at the start is how they stand at the end.

    Args:
        feet: Where they stand at the start.
        moves: One for each step.
        first: The foot that swings first.
        close: Whether to end with a step that brings the feet together.

    Raises:
        EquipoiseError: For an unknown foot, no moves, or moves that are not finite.
    """
    side = check_side(first)
    middle = middle_of(feet)
    place = {s: middle.seen(feet[s]) for s in feet}
    steps: list[Footstep] = []
    for number, move in enumerate(moves, start=1):
        for name, value in move._asdict().items():
            check_number(f"step {number}: {name}", value, "m or rad")
        middle = middle.moved(move)
        steps.append(middle.put(place[side]))
        side = other(side)
    if close and steps:
        steps.append(middle.put(place[side]))
    return Footsteps(feet["left"], feet["right"], tuple(steps))


def walk(
    feet: Mapping[Side, Footstep],
    steps: int,
    *,
    length: float = 0.0,
    sideways: float = 0.0,
    turn: float = 0.0,
    rise: float = 0.0,
    first: str = "right",
) -> Footsteps:
    """Return the footsteps of a steady walk from feet together to feet together.

    Args:
        feet: Where they stand at the start.
        steps: How many; the last of two or more brings the feet together, the ones
            before it move on.
        length: Length of a step, from one foot to the other [m]; negative goes
            backward.
        sideways: Lateral step of the leading foot, to the left, which the other one
            follows [m]; negative goes right.
        turn: Turn to the left with each step [rad].
        rise: Height of each step above the one before [m].
        first: The foot that swings first.

    Raises:
        EquipoiseError: For an unknown foot, or a number of steps below 1.
    """
    if not (steps >= 1 and float(steps).is_integer()):
        raise EquipoiseError(
            f"a walk of {steps} steps; a whole number of them is needed, 1 or more"
        )
    leading: Side = "left" if sideways > 0.0 else "right"
    side = check_side(first)
    moves = []
    for _ in range(max(1, int(steps) - 1)):
        out = sideways if side == leading else 0.0
        moves.append(Move(length, out, turn, rise))
        side = other(side)
    return route(feet, moves, first, close=steps > 1)


# Soles stay this fraction of their length away from the edges of a tread, if they can.
EDGE = 0.05


def stairs(
    feet: Mapping[Side, Footstep],
    ground: Stairs,
    *,
    longest: float,
    heel: float,
    toe: float,
    per_tread: int = 1,
    first: str = "right",
    steps: int | None = None,
) -> Footsteps:
    """Return the footsteps up or down stairs that go along +x.

    The walk goes up to the stairs with equal steps. A single step on a tread is in its
    middle; of several the first has its heel and the last its toe near an edge.

    Args:
        feet: Where they stand at the start, heading along +x.
        ground: The stairs.
        longest: Longest step on the way to the stairs [m].
        heel: Where soles begin along x, in their frames [m].
        toe: Where they end [m].
        per_tread: How many steps are made on each tread.
        first: The foot that swings first.
        steps: How many at most; the last brings the feet together.

    Raises:
        EquipoiseError: If feet stand on the stairs at the start, treads are too short
            for a sole, or for bad numbers.
    """
    check_number("longest", longest, "m", above=0.0)
    tread, sole = ground.tread, toe - heel
    if tread < sole:
        raise EquipoiseError(
            f"treads of {tread:g} m are too short for soles of {sole:.3f} m"
        )
    margin = min(EDGE * sole, (tread - sole) / 2.0)
    x = float(np.mean([foot.x for foot in feet.values()]))
    if x + toe > ground.start:
        raise EquipoiseError(
            f"the stairs begin at x = {ground.start:g} m, too near: the toes stand at "
            f"x = {x + toe:.3f} m"
        )
    on_tread = np.array([(tread - heel - toe) / 2.0])
    if per_tread > 1:
        on_tread = np.linspace(margin - heel, tread - margin - toe, per_tread)
    before = max(x, ground.start + float(on_tread[-1]) - tread)
    approach = math.ceil((before - x) / longest - 1e-9)
    places = list(np.linspace(x, before, approach + 1)[1:])
    rises = [0.0] * approach
    for stair in range(ground.count):
        landing = stair == ground.count - 1
        on_this = on_tread[:1] if landing else on_tread
        places += list(ground.start + stair * tread + on_this)
        rises += [ground.rise] + [0.0] * (len(on_this) - 1)
    lengths = np.diff([x, *places])
    moves = [
        Move(length=float(length), rise=rise)
        for length, rise in zip(lengths, rises, strict=True)
    ]
    if steps is not None:
        check_number("steps", steps, "", least=1)
        moves = moves[: max(1, steps - 1)]
    return route(feet, moves, first, close=steps != 1)
