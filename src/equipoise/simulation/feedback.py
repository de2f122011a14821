"""The feedback that keeps a robot in balance: controller, sensors, estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.control.blocks import Controller, Estimator, OpenLoop
from equipoise.robot.model import Robot
from equipoise.simulation.sensors import SensorSuite
from equipoise.simulation.world import World


@dataclass(frozen=True, eq=False)
class Feedback:
    """What closes the loop of a simulation.

    Attributes:
        controller: Turns what is wanted and what is known into commands.
        sensors: What it is shown instead of the true state, or None.
        estimator: Makes a state of what the sensors measure, or None.
        control_period: For which a command holds [s].
    """

    controller: Controller[Any]
    sensors: SensorSuite | None
    estimator: Estimator | None
    control_period: float


def balance_feedback(
    world: World, model: Robot | None = None, *, true_state: bool = False, seed: int = 0
) -> Feedback:
    """Return the feedback that keeps the robot of a world in balance.

    Args:
        world: The robot and all that it meets.
        model: The robot as the controller knows it; as it is unless given.
        true_state: Whether the controller is shown the true state.
        seed: Seed of the sensors' noise.
    """
    return Feedback(OpenLoop(), None, None, 1e-3)
