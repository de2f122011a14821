"""What the actuators of a compiled MJCF model say about its joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array

# mjtTrn, mjtGain, mjtBias: the values of a plain motor on a joint
ON_JOINT = (0, 1)  # joint, joint in parent
ON_TENDON = 3
FIXED_GAIN = 0
NO_BIAS = 0
WRAP_JOINT = 1  # mjtWrap: a fixed tendon's share of a joint
COUPLED_JOINTS = 2  # mjtEq


def effort_limits(model: Any) -> Array:
    """Return the largest torque or force of each joint [Nm or N], shape (njnt,).

    It is what the joint's actuators can give together (their force range, or for
    plain motors their control range times gain), at most the joint's own actuator
    force range; infinite where neither is limited.

    A joint that nothing drives is passive, its limit is zero. It counts as driven,
    without a limit, if the file has no actuators at all (then it says nothing about
    them), if a driven tendon pulls it, if an equality couples it to another joint, or
    if actuators act in ways that do not name joints (on sites, bodies, by cranks).
    """
    given: Array = np.zeros(model.njnt)
    driven = np.zeros(model.njnt, dtype=bool)
    for actuator in range(model.nactuator):
        if model.actuator_trntype[actuator] in ON_JOINT:
            joint = int(model.actuator_trnid[actuator, 0])
            gear = abs(float(model.actuator_gear[model.actuator_outadr[actuator], 0]))
            given[joint] += gear * _largest_force(model, actuator)
            driven[joint] = True
    given[~driven & _may_be_driven(model)] = np.inf
    own = np.where(
        model.jnt_actfrclimited.astype(bool),
        np.abs(model.jnt_actfrcrange).max(axis=1, initial=0.0),
        np.inf,
    )
    limits: Array = np.minimum(given, own)
    return limits


def _may_be_driven(model: Any) -> NDArray[np.bool_]:
    """Say of each joint whether it may be driven otherwise than by an own actuator."""
    may = np.zeros(model.njnt, dtype=bool)
    if not model.nactuator:
        return ~may
    for actuator in range(model.nactuator):
        kind = int(model.actuator_trntype[actuator])
        if kind in ON_JOINT:
            continue
        if kind != ON_TENDON:
            return np.ones(model.njnt, dtype=bool)
        joints = _joints_of_tendon(model, int(model.actuator_trnid[actuator, 0]))
        if not joints:
            return np.ones(model.njnt, dtype=bool)
        may[joints] = True
    for equality in np.flatnonzero(model.eq_type == COUPLED_JOINTS):
        for joint in (model.eq_obj1id[equality], model.eq_obj2id[equality]):
            if joint >= 0:
                may[joint] = True
    return may


def _joints_of_tendon(model: Any, tendon: int) -> list[int]:
    """Return the joints that a fixed tendon adds up; none for one through space."""
    start = int(model.tendon_adr[tendon])
    wraps = range(start, start + int(model.tendon_num[tendon]))
    return [
        int(model.wrap_objid[wrap])
        for wrap in wraps
        if model.wrap_type[wrap] == WRAP_JOINT
    ]


def _largest_force(model: Any, actuator: int) -> float:
    forces = [np.inf]
    if model.actuator_forcelimited[actuator]:
        forces.append(float(np.abs(model.actuator_forcerange[actuator]).max()))
    control = int(model.actuator_ctrladr[actuator])
    plain_motor = (
        model.actuator_ctrlnum[actuator] == 1
        and model.actuator_gaintype[actuator] == FIXED_GAIN
        and model.actuator_biastype[actuator] == NO_BIAS
    )
    if plain_motor and model.actuator_ctrllimited[control]:
        gain = abs(float(model.actuator_gainprm[actuator, 0]))
        forces.append(gain * float(np.abs(model.actuator_ctrlrange[control]).max()))
    return min(forces)


def reflected(model: Any, joint: int) -> tuple[float, float]:
    """Return armature and damping that an actuator adds to a joint, gear included."""
    actuator = int(model.jnt_actuatorid[joint])
    if actuator < 0:
        return 0.0, 0.0
    gear = float(model.actuator_gear[model.actuator_outadr[actuator], 0])
    return (
        float(model.actuator_armature[actuator]) * gear**2,
        float(model.actuator_damping[actuator]) * gear**2,
    )
