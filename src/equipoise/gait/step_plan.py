"""A few steps ahead from where a walk is: feet, ZMP and CoM, ending at rest.

Each plan begins exactly at the CoM, velocity and ZMP at which the one before was left,
so that plans can be put one after the other for as long as one likes. What the state
asks for beyond the footsteps is met by the ZMP under the next supporting foot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.gait.feet import check_feet_apart, plan_feet
from equipoise.gait.footsteps import Footstep, Footsteps, other
from equipoise.gait.gait import Gait
from equipoise.gait.lipm import LipmState, ShiftedMotion, at_rest_at_the_end, between
from equipoise.gait.parameters import GaitParameters, Phase, PhaseKind
from equipoise.gait.walks import Middle, Move
from equipoise.gait.zmp import under
from equipoise.robot.anatomy.geometry import signed_distance
from equipoise.robot.parts import Side


@dataclass(frozen=True, eq=False)
class Stance:
    """Where a plan begins: at rest on both feet, or as a foot touches down.

    Attributes:
        feet: Where the feet stand, by side.
        middle: The middle between them once they are together.
        carrying: The foot that carried alone until now; None at rest.
        com: CoM and its velocity.
        zmp: Where the ZMP is meant to be [m], shape (3,).
        shift: How far the pendulum's ZMP is from there [m], shape (3,).
        q: The last configurations, that of now at the end, shape (n, nq).
    """

    feet: Mapping[Side, Footstep]
    middle: Middle
    carrying: Side | None
    com: LipmState
    zmp: Array
    shift: Array
    q: Array


@dataclass(frozen=True, eq=False)
class Walker:
    """What does not change during a walk.

    Attributes:
        robot_name: Whose walk it is.
        parameters: Numbers of the gait.
        polygons: Corners of the soles in their frames [m], shape (k, 2) each.
        zmp_in_sole: Where the ZMP is under a foot that carries alone [m], (2,) each.
        places: Where the feet stand beside the middle when they are together.
        dt: Time between points [s]; phases take whole numbers of it.
    """

    robot_name: str
    parameters: GaitParameters
    polygons: Mapping[Side, Array]
    zmp_in_sole: Mapping[Side, Array]
    places: Mapping[Side, Footstep]
    dt: float


def steps_of(
    walker: Walker, stance: Stance, moves: Sequence[Move], first: Side
) -> tuple[Footsteps, tuple[Middle, ...]]:
    """Return footsteps, and the middle after each, that move the middle step by step.

    Args:
        walker: The robot.
        stance: Where it stands.
        moves: One for each step.
        first: The foot that swings first.
    """
    steps, middles = [], []
    middle, side = stance.middle, first
    for move in moves:
        middle = middle.moved(move)
        steps.append(middle.put(walker.places[side]))
        middles.append(middle)
        side = other(side)
    feet = stance.feet
    return Footsteps(feet["left"], feet["right"], tuple(steps)), tuple(middles)


def phases_of(walker: Walker, count: int, *, at_rest: bool) -> tuple[Phase, ...]:
    """Return the phases of a plan from time 0, each a whole number of points.

    Args:
        walker: The robot.
        count: Number of steps.
        at_rest: Whether it starts at rest, or as a foot touches down.
    """
    numbers, dt = walker.parameters, walker.dt
    whole = max(2, round(numbers.step_time / dt))
    swing = max(1, round((1.0 - numbers.double_support) * whole))
    points = {
        "start": max(2, round(numbers.start_time / dt)),
        "stop": max(2, round(numbers.stop_time / dt)),
        "swing": swing,
        "double": max(1, whole - swing),
    }
    kinds: list[tuple[PhaseKind, int]] = [("start" if at_rest else "double", 0)]
    for number in range(1, count + 1):
        kinds += [("swing", number), ("double" if number < count else "stop", number)]
    phases, now = [], 0
    for kind, step in kinds:
        end = now + points[kind]
        phases.append(Phase(kind, "both", now * dt, end * dt, step))
        now = end
    return tuple(phases)


def plan_steps(
    walker: Walker,
    stance: Stance,
    footsteps: Footsteps,
    shift: tuple[Array, Array] | None = None,
) -> Gait:
    """Return a gait that begins in a stance, makes some steps and ends at rest.

    Args:
        walker: The robot.
        stance: Where and how it begins.
        footsteps: Where to step; the last step brings the feet together.
        shift: Times [s], shape (m,), and shift of the pendulum's ZMP there [m], shape
            (m, 3): the stance's at time 0 and zero at the end.

    Raises:
        EquipoiseError: If a foot of the first two steps would come onto the other one.
    """
    numbers, strides = walker.parameters, footsteps.strides
    at_rest = stance.carrying is None
    phases = tuple(
        phase._replace(support=other(strides[phase.step - 1].end.side))
        if phase.kind == "swing"
        else phase
        for phase in phases_of(walker, len(strides), at_rest=at_rest)
    )
    feet = plan_feet(
        footsteps,
        phases,
        numbers.clearance,
        walker.polygons,
        None,
        numbers.swing_pitch,
        numbers.heel_off,
    )
    few = Footsteps(footsteps.left, footsteps.right, footsteps.steps[:2])
    check_feet_apart(few, feet, walker.polygons)
    times, zmp, shapes = _knots(walker, stance, footsteps, phases)
    if shift is None:
        shift = np.array([0.0, phases[0].end]), np.array([stance.shift, 0.0 * zmp[0]])
    every = np.union1d(times, shift[0])
    moved = between(every, *shift)
    pendulum = at_rest_at_the_end(
        every,
        between(every, times, zmp) + moved,
        between(every, times, shapes.T).T,
        numbers.omega,
        numbers.com_height,
        stance.com,
    )
    motion = ShiftedMotion(pendulum, *shift)
    return Gait(
        walker.robot_name, footsteps, phases, numbers, motion, feet, walker.polygons
    )


def _knots(
    walker: Walker, stance: Stance, footsteps: Footsteps, phases: tuple[Phase, ...]
) -> tuple[Array, Array, Array]:
    """Return times, ZMP there and two shapes by which it may change, (2, m).

    At rest the first shape is a hat over the start. In a walk it is a shift under the
    next supporting foot, from the end of this double support until the next one ends.
    The second is a hat over the stop.
    """
    strides, zmp_in_sole = footsteps.strides, walker.zmp_in_sole
    at_end = footsteps.feet_at_end.values()
    points = [stance.zmp, *(under(stride.support, zmp_in_sole) for stride in strides)]
    points.append(np.mean([under(foot, zmp_in_sole) for foot in at_end], axis=0))
    times, zmp = [0.0], [points[0]]
    hats: dict[str, int] = {}
    for phase in phases:
        before = zmp[-1]
        after = before if phase.kind == "swing" else points[phase.step + 1]
        if phase.kind in ("start", "stop"):
            hats[phase.kind] = len(times)
            times.append((phase.start + phase.end) / 2.0)
            zmp.append((before + after) / 2.0)
        times.append(phase.end)
        zmp.append(after)
    shapes = np.zeros((2, len(times)))
    if "start" in hats:
        shapes[0, hats["start"]] = 1.0
    else:
        shapes[0, 1:3] = 1.0
    shapes[1, hats["stop"]] = 1.0
    return np.array(times), np.array(zmp), shapes


def margin_left(walker: Walker, gait: Gait) -> float:
    """Return which fraction of its margin the ZMP keeps in the first swing.

    The margin is the distance to the edge of the sole from where the ZMP is meant to
    be under it. Point feet have none to keep.
    """
    swing = gait.phases[1]
    side: Side = "left" if swing.support == "left" else "right"
    polygon, usual = walker.polygons[side], walker.zmp_in_sole[side]
    if len(polygon) < 3:
        return 1.0
    table = gait.at(np.array([swing.start, swing.end]))
    pose = table.soles[side]
    local = np.einsum("nji,nj->ni", pose[:, :3, :3], table.zmp - pose[:, :3, 3])
    margins = signed_distance(polygon, local[:, :2])
    whole = float(signed_distance(polygon, usual))
    return float(np.min(margins)) / whole if whole > 0.0 else 1.0


def shift_of(gait: Gait, times: Array) -> Array:
    """Return how far a plan's pendulum has its ZMP beside the planned one, (n, 3)."""
    assert isinstance(gait.motion, ShiftedMotion)  # as planned here
    return gait.motion.shift_at(times)


def stance_after(
    gait: Gait, time: float, middle: Middle, q: Array, *, at_rest: bool
) -> Stance:
    """Return the stance at a time of a gait at which a foot touches down, or at rest.

    Args:
        gait: The gait.
        time: When [s].
        middle: The middle between the feet, once they are together.
        q: Configurations until then, shape (n, nq).
        at_rest: Whether the walk is over then.
    """
    now, still = np.array([time]), np.zeros(3)
    table, shift = gait.motion.at(now), shift_of(gait, now)[0]
    swung = sum(phase.kind == "swing" and phase.end <= time for phase in gait.phases)
    done = gait.footsteps.steps[:swung]
    return Stance(
        gait.footsteps.feet | {step.side: step for step in done},
        middle,
        None if at_rest else other(done[-1].side),
        LipmState(table.com[0], still if at_rest else table.velocity[0]),
        table.zmp[0],
        still if at_rest else shift,
        q,
    )
