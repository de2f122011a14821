"""What a run asked of the actuators: torques and speeds against their limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.control.signals import State
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


class UseMeter:
    """Measures torques and speeds while a simulation runs, at every state shown."""

    def __init__(self, world: World) -> None:
        """Begin with nothing measured."""
        self._world = world
        count = world.robot.nv - BASE_DOF
        limit = world.actuation.torque_limit
        self._limit = np.where(limit > 0.0, AT_LIMIT * limit, np.inf)
        self._torque, self._speed = np.zeros(count), np.zeros(count)
        self._squares, self._states, self._at_limit = np.zeros(count), 0, 0

    def see(self, state: State) -> None:
        """Measure a state."""
        size = np.abs(state.torque)
        np.maximum(self._torque, size, out=self._torque)
        np.maximum(self._speed, np.abs(state.v[BASE_DOF:]), out=self._speed)
        self._squares += size * size
        self._at_limit += bool((size >= self._limit).any())
        self._states += 1

    def use(self) -> ActuatorUse:
        """Return what was measured."""
        world, states = self._world, max(self._states, 1)
        actuation, names = world.actuation, degree_names(world.robot)
        rms = np.sqrt(self._squares / states)
        torque = _most(names, self._torque, actuation.torque_limit)
        speed = _most(names, self._speed, actuation.velocity_limit)
        joints = {
            name: JointUse(
                float(self._torque[at]),
                float(rms[at]),
                _known(actuation.torque_limit[at]),
                float(self._speed[at]),
                _known(actuation.velocity_limit[at]),
            )
            for at, name in enumerate(names)
        }
        kind = actuator_kind(world)
        return ActuatorUse(kind, *torque, *speed, self._at_limit / states, joints)


def actuator_kind(world: World) -> str:
    """Return what the actuators of a world are, those of its legs if they differ."""
    names = degree_names(world.robot)
    legs = {
        joint
        for limb in world.robot.limbs.values()
        if limb.kind == "leg"
        for joint in limb.joints
    }
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
