"""A world, or many of them, laid out on a device for the kernels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pinocchio as pin
from numpy.typing import DTypeLike

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.kinematics.batch import check_target
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.simulation.actuation import BASE_DOF, MODES
from equipoise.simulation.variation import Variation
from equipoise.simulation.world import World
from equipoise.simulation.world_arrays import world_arrays

# What is fewer times as large as gravity's part has not made a robot diverge.
ORDINARY = 1e3
# Why a robot was stopped, as kernels number it.
REASONS: dict[int, Literal["fell", "diverged"]] = {1: "fell", 2: "diverged"}


def make_rollout(
    world: World,
    count: int,
    dt: float,
    variation: Variation | None = None,
    *,
    hold: int = 1,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
    threads: int = 1,
    effect: Any = None,
    alone: bool = False,
) -> Any:
    """Return a world, or a fleet of them, on a device.

    Args:
        world: The robot and all that it meets.
        count: How many robots.
        dt: Time step [s].
        variation: How they differ, checked.
        hold: Time steps for which a command holds.
        device: Where to.
        dtype: Number type.
        threads: Threads of the CPU.
        effect: Warp function compiled into the kernel.
        alone: Whether limbs, not robots, are worked on side by side.
    """
    numbers = check_target(device, dtype)
    from equipoise.kernels import runtime
    from equipoise.kernels.rollout import Rollout

    arrays = world_arrays(world, dt, variation, count)
    return Rollout(
        arrays.tree,
        arrays.nq,
        count,
        arrays.actuators,
        arrays.points,
        len(world.contacts),
        arrays.pushes,
        arrays.terrains,
        dt=dt,
        gravity=world.gravity,
        scalar=runtime.SCALARS[numbers],
        device=runtime.device_named(device),
        side_by_side="limbs" if alone else "robots",
        inertias=arrays.inertias,
        terrain_of=arrays.terrain_of,
        delay=arrays.delay,
        hold=hold,
        effect=effect,
        threads=threads,
    )


def stop_text(world: World, stopped: Any, dt: float, count: int = 1) -> str:
    """Say why a robot was stopped, when and where."""
    robot, time = world.robot, dt * stopped.steps
    who = f"robot {stopped.robot}: " if count > 1 else ""
    if REASONS[stopped.why] == "fell":
        return f"{who}fell at {time:.4g} s"
    body = stopped.body
    where = "a box"
    if 0 < body < robot.model.njoints:
        links = [
            frame.name
            for frame in robot.model.frames
            if frame.parentJoint == body and frame.type == pin.FrameType.BODY
        ]
        where = f"link '{links[0]}'" if links else f"joint '{robot.model.names[body]}'"
    return (
        f"{who}the simulation diverged at {time:.4g} s: {where} accelerates beyond "
        f"all bounds; {_cause(world, stopped.causes, dt)}"
    )


def _cause(world: World, causes: Array, dt: float) -> str:
    """Say what was largest when a robot diverged, measured by its weight and size."""
    from equipoise.kernels import monitor

    robot = world.robot
    length = max(robot.longest_limb, 1e-3)
    weight = robot.mass * STANDARD_GRAVITY
    size, which = causes[:, 0], causes[:, 1].astype(int)
    if not np.any(size != 0.0):
        return "no command, contact, push or speed was there to cause it"
    times = _multiples(size, weight, length)
    kind = int(np.argmax(np.where(np.isnan(times), np.inf, times)))
    value, number = size[kind], which[kind]
    if times[kind] < ORDINARY:
        return (
            "no command, contact force, push or speed was out of the ordinary before; "
            f"the time step is {dt:g} s"
        )
    if kind in (monitor.BY_TORQUE, monitor.BY_MOTION, monitor.BY_SPEED):
        body = next(
            body
            for body in range(2, robot.model.njoints)
            if robot.model.joints[body].idx_v == number + BASE_DOF
        )
        joint = f"joint '{robot.model.names[body]}'"
        slides = robot.model.joints[body].shortname().startswith("JointModelP")
        mode = MODES[world.actuation.mode[number]]
        if kind == monitor.BY_SPEED:
            return f"{joint} moves at {value:.3g} {'m/s' if slides else 'rad/s'}"
        if kind == monitor.BY_MOTION:
            unit = "m/s²" if slides else "rad/s²"
            return f"the {mode} commanded to {joint} takes {value:.3g} {unit}"
        unit = "N" if slides else "Nm"
        if mode == "servo":
            return f"the servo of {joint} was commanded to give {value:.3g} {unit}"
        return f"{joint} was commanded {value:.3g} {unit}"
    if kind == monitor.BY_BASE:
        return f"the base turns at {value:.3g} rad/s"
    if kind == monitor.BY_CONTACT:
        point = world.contacts[number].name
        return f"contact point '{point}' was pushed with {value:.3g} N"
    if kind == monitor.BY_PUSH:
        return f"the push on '{world.pushes[number].link}' is {value:.3g} N"
    return f"the effect adds {value:.3g} N or Nm"


def _multiples(size: Array, weight: float, length: float) -> Array:
    """Return causes as multiples of what gravity does to the robot.

    Torques over weight × length, forces over the weight, accelerations over gravity;
    of speeds ω² × length over gravity.
    """
    spin = length / STANDARD_GRAVITY * size**2
    torque, motion, force = (
        size / (weight * length),
        size * length / STANDARD_GRAVITY,
        size / weight,
    )
    return np.array(
        [torque[0], motion[1], spin[2], spin[3], force[4], force[5], force[6]]
    )


def check_every(every: int, steps: int) -> None:
    """Refuse numbers of steps between states that do not divide all steps.

    Raises:
        ShapeError: If it does not.
    """
    if every < 1 or steps < 1 or steps % every:
        raise ShapeError(f"every {every} of {steps} steps: it must divide their number")


def start_pose(centre: Array, yaw: float) -> Array:
    """Return position and quaternion xyzw of an upright block, shape (7,)."""
    return np.array([*centre, 0.0, 0.0, np.sin(0.5 * yaw), np.cos(0.5 * yaw)])
