"""What a robot's legs lack for walking, by name."""

from __future__ import annotations

from collections.abc import Iterator

import pinocchio as pin

from equipoise.arrays import Array
from equipoise.robot.model import MISSING_LEG, NO_LEGS, Robot
from equipoise.robot.parts import Limb, Sole
from equipoise.robot.pinocchio_model import workspace

# Joints of the ankle are lower than this fraction of the height of the hip.
ANKLE_HEIGHT = 0.3
# A joint turns about a direction if its axis is within 60 degrees of it.
ALONG = 0.5
# A joint with less range than this is locked [rad or m].
LOCKED = 1e-3
ROLL, PITCH = 0, 1


def leg_problems(robot: Robot) -> tuple[str, ...]:
    """Return what keeps a gait from being planned for a robot, a sentence each.

    These are a leg that is missing, loops in a leg that the model leaves open, and
    joints that a leg needs to lay its sole flat on the ground anywhere: roll at hip and
    ankle if the sole has a width, pitch there and a knee if it has a length. Whether
    the legs reach far enough is not looked at.
    """
    legs = [limb for limb in robot.limbs.values() if limb.kind == "leg"]
    problems: list[str] = []
    if len(legs) != 2:
        starts = (NO_LEGS, MISSING_LEG)
        said = [text for text in robot.warnings if text.startswith(starts)]
        problems += said or [f"{starts[bool(legs)]}found {len(legs)}"]
    for leg in legs:
        problems += _open_loops(robot, leg)
        for side, sole in robot.soles.items():
            if side == leg.side:
                problems += _missing_joints(robot, leg, sole)
    return tuple(dict.fromkeys(problems))


def _open_loops(robot: Robot, leg: Limb) -> Iterator[str]:
    own = {robot.joint_id(joint) for joint in leg.subtree_joints}
    for pair in robot.description.loops:
        bodies = {robot.model.frames[robot.frame_id(link)].parentJoint for link in pair}
        if bodies & own:
            yield (
                f"the {leg.side} leg has a closed loop, from link '{pair[0]}' to "
                f"'{pair[1]}', which is left open"
            )


def _missing_joints(robot: Robot, leg: Limb, sole: Sole) -> Iterator[str]:
    model, data = robot.model, workspace(robot.model)
    columns = pin.computeJointJacobians(model, data, robot.standing)
    ids = [robot.joint_id(joint) for joint in leg.joints]
    heights = [float(data.oMi[body].translation[2]) for body in ids]
    # axes of the joints that move, and joints that do not, of ankle and of hip and knee
    axes: dict[bool, list[Array]] = {True: [], False: []}
    locked: dict[bool, list[str]] = {True: [], False: []}
    sliding = 0
    for body, height in zip(ids, heights, strict=True):
        joint = model.joints[body]
        low = height <= ANKLE_HEIGHT * heights[0]
        if is_locked(model, joint):
            locked[low].append(f"'{model.names[body]}'")
            continue
        own = columns[3:, joint.idx_v : joint.idx_v + joint.nv].T
        sliding += not own.any()
        axes[low] += list(own)

    def but(low: bool) -> str:
        names = ", ".join(locked[low])
        return f" (locked by its limits: {names})" if names else ""

    def along(low: bool, axis: int) -> int:
        return sum(abs(turn[axis]) > ALONG for turn in axes[low])

    length, width = sole.size
    if width > 0.0 and not along(False, ROLL):
        yield f"the {leg.side} leg has no hip roll joint{but(False)}"
    bending = along(False, PITCH) + sliding
    if length > 0.0 and bending < 2:
        part = "knee" if bending else "hip pitch joint and no knee"
        yield f"the {leg.side} leg has no {part}{but(False)}"
    for name, axis, extent in (("roll", ROLL, width), ("pitch", PITCH, length)):
        if extent > 0.0 and not along(True, axis):
            yield f"the {leg.side} leg has no ankle {name} joint{but(True)}"


def is_locked(model: pin.Model, joint: pin.JointModel) -> bool:
    """Return whether a joint's limits leave it no range."""
    if joint.nq != 1:
        return False
    at = joint.idx_q
    span = model.upperPositionLimit[at] - model.lowerPositionLimit[at]
    return bool(abs(span) < LOCKED)
