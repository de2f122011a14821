"""A world, or many of them, laid out on a device for the kernels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pinocchio as pin
from numpy.typing import DTypeLike

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.kinematics.batch import check_target
from equipoise.simulation.variation import Variation
from equipoise.simulation.world import World
from equipoise.simulation.world_arrays import world_arrays

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
        f"all bounds; a smaller time step (now {dt:g} s), softer contact "
        f"({world.material.stiffness:.3g} N/m) or a command that is possible may help"
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
