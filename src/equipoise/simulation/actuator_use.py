"""What a run asked of the actuators: torques and speeds against their limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.log.run import Run
from equipoise.robot.joint_coordinates import degree_names
from equipoise.simulation.actuation import BASE_DOF, MODES
from equipoise.simulation.world import World

# A torque at this fraction of its limit is at it.
AT_LIMIT = 0.999


@dataclass(frozen=True)
class JointUse:
    """What one joint did.

    Attributes:
        peak_torque_nm: Largest torque [Nm], or force [N].
        rms_torque_nm: Its root mean square.
        torque_limit_nm: The actuator's limit, None if it has none.
        peak_speed_radps: Largest speed [rad/s or m/s].
        speed_limit_radps: The actuator's limit, None if it has none.
    """

    peak_torque_nm: float
    rms_torque_nm: float
    torque_limit_nm: float | None
    peak_speed_radps: float
    speed_limit_radps: float | None


@dataclass(frozen=True)
class ActuatorUse:
    """What a run asked of the actuators.

    Attributes:
        kind: ``"servo"``, ``"torque"``, or ``"ideal"`` where joints follow exactly and
            torque has no limit; of the legs' joints, if the others differ.
        peak_torque_fraction: Largest torque over its limit, where there is one.
        peak_torque_joint: The joint that it was.
        peak_speed_fraction: Largest speed over its limit, likewise.
        peak_speed_joint: The joint that it was.
        at_limit_fraction: Fraction of the time in which some torque was at its limit.
        joints: All joints by name.
    """

    kind: str
    peak_torque_fraction: float
    peak_torque_joint: str | None
    peak_speed_fraction: float
    peak_speed_joint: str | None
    at_limit_fraction: float
    joints: dict[str, JointUse]


def actuator_use(world: World, run: Run) -> ActuatorUse:
    """Return what a run asked of the actuators, in its rows."""
    actuation, names = world.actuation, degree_names(world.robot)
    size, speeds = np.abs(run.torque), np.abs(run.v[:, BASE_DOF:])
    peak, rms = size.max(axis=0), np.sqrt(np.mean(size**2, axis=0))
    fastest = speeds.max(axis=0)
    limit = actuation.torque_limit
    at_limit = size >= np.where(limit > 0.0, AT_LIMIT * limit, np.inf)
    joints = {
        name: JointUse(
            float(peak[at]),
            float(rms[at]),
            _known(limit[at]),
            float(fastest[at]),
            _known(actuation.velocity_limit[at]),
        )
        for at, name in enumerate(names)
    }
    return ActuatorUse(
        actuator_kind(world),
        *_most(names, peak, limit),
        *_most(names, fastest, actuation.velocity_limit),
        float(np.mean(at_limit.any(axis=1))),
        joints,
    )


def actuator_kind(world: World) -> str:
    """Return what the actuators of a world are, those of its legs if they differ."""
    if world.actuation.by_torque:
        return "torque"
    names = degree_names(world.robot)
    legs = world.robot.leg_joints
    rows = [at for at, name in enumerate(names) if name in legs] or range(len(names))
    modes = {MODES[world.actuation.mode[at]] for at in rows}
    kinds = {"ideal" if mode in ("position", "velocity") else mode for mode in modes}
    return " and ".join(sorted(kinds)) or "none"


def _known(limit: float) -> float | None:
    return float(limit) if 0.0 < limit < np.inf else None


def _most(
    names: tuple[str, ...], values: Array, limits: Array
) -> tuple[float, str | None]:
    """Return the largest value over its limit, and whose it is."""
    known = (limits > 0.0) & np.isfinite(limits)
    if not known.any():
        return 0.0, None
    fractions = np.where(known, values / np.where(known, limits, 1.0), 0.0)
    worst = int(fractions.argmax())
    return float(fractions[worst]), names[worst]
