"""What arms do beside balance: hold still, or suppress the yaw moment of the legs.

A leg that swings has angular momentum about the vertical, and the stance foot must give
the moment that changes it: friction must be enough for that. About the vertical through
the ZMP the moment of the ground is the rate of the angular momentum about the CoM, as
the CoM accelerates away from the ZMP. So a task for that rate lets arms swing against
the legs ([Zhang2013]), while the posture draws them back to where they were.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

from equipoise.balance.whole_body.tasks import AngularMomentumTask, Task
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot

Arms = Literal["still", "yaw"]

# Weight of the angular momentum about the vertical, per (m L² rad/s²)², with the mass m
# and the leg's length L, and rate at which it dies out, as a multiple of √(g / L).
YAW_WEIGHT, YAW_DAMPING = 3000.0, 0.3


class ArmUse(NamedTuple):
    """How whole-body control uses the arms.

    Attributes:
        follow: Joints that follow their targets closely.
        loose: Joints that other tasks may move.
        tasks: Tasks that do so.
    """

    follow: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()


def use_arms(robot: Robot, arms: Arms | None, moving: tuple[str, ...] = ()) -> ArmUse:
    """Return how the arms are used.

    Args:
        robot: The robot.
        arms: ``"still"`` holds them as they are wanted, ``"yaw"`` lets them suppress
            the yaw moment of the feet; None leaves them to the posture.
        moving: Joints that have a motion of their own, as of a hand that waves: they
            follow it in any case.

    Raises:
        NameNotFoundError: If arms can do no such thing.
        EquipoiseError: If the robot has no arms for it.
    """
    if arms is not None and arms not in get_args(Arms):
        raise NameNotFoundError("use of the arms", arms, get_args(Arms), "walk")
    joints = [n for arm in robot.arms.values() for n in arm.joints if n not in moving]
    if arms is None:
        return ArmUse(moving)
    if not joints:
        raise EquipoiseError(f"{robot.name} has no arms that could be {WORDS[arms]}")
    if arms == "still":
        return ArmUse((*moving, *joints))
    leg = robot.longest_leg
    weight = YAW_WEIGHT / (robot.mass * leg**2) ** 2
    damping = YAW_DAMPING * math.sqrt(STANDARD_GRAVITY / leg)
    task = AngularMomentumTask((0.0, 0.0, weight), damping)
    return ArmUse(moving, tuple(joints), (task,))


WORDS: dict[Arms, str] = {"still": "held still", "yaw": "moved against a yaw moment"}
