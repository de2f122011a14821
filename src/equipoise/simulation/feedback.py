"""Sensors, estimator and stabiliser of a simulated robot, ready for the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from equipoise.balance.estimator import ContactAidedEstimator
from equipoise.balance.stabiliser import Stabiliser
from equipoise.control.blocks import Controller, Estimator
from equipoise.robot.model import Robot
from equipoise.simulation.noise import Noise
from equipoise.simulation.sensors import Encoders, FootSensors, Imu, SensorSuite
from equipoise.simulation.true_state import TrueState
from equipoise.simulation.world import World

# Standard deviations of the sensors, and their delay [s]: encoders [rad or m],
# gyroscope [rad/s], accelerometer [m/s²], forces as a fraction of the weight; torques
# have the noise of that force at the end of the sole.
ENCODER, GYROSCOPE, ACCELEROMETER, FORCE, DELAY = 1e-4, 0.01, 0.1, 0.01, 2e-3
PERIOD = 2e-3

Knowledge = Literal["none", "sensors", "true state"]


@dataclass(frozen=True, eq=False)
class Feedback:
    """What closes the loop.

    Attributes:
        controller: Makes commands.
        sensors: What the robot measures.
        estimator: What it makes of that.
        control_period: Time between two commands [s].
    """

    controller: Controller[Any]
    sensors: SensorSuite | None
    estimator: Estimator | None
    control_period: float


def usual_sensors(world: World, seed: int = 0) -> SensorSuite:
    """Return sensors with the noise and delay of usual ones; velocities differenced."""
    weight = world.robot.mass * world.gravity
    arm = max(max(sole.size) for sole in world.robot.soles.values())

    def noise(deviation: float) -> Noise:
        return Noise(deviation=deviation, delay=DELAY)

    return SensorSuite(
        world,
        Encoders(noise(ENCODER), None),
        FootSensors(noise(FORCE * weight), noise(FORCE * weight * 0.5 * arm)),
        Imu(
            angular_velocity=noise(GYROSCOPE),
            specific_force=noise(ACCELEROMETER),
            orientation=Noise(delay=DELAY),
        ),
        seed=seed,
    )


def balance_feedback(
    world: World,
    model: Robot | None = None,
    *,
    true_state: bool = False,
    seed: int = 0,
    period: float = PERIOD,
) -> Feedback:
    """Return sensors, estimator and stabiliser for a robot in a world.

    Args:
        world: The robot as it is.
        model: The robot as estimator and stabiliser know it; as it is unless given.
        true_state: Whether the stabiliser is shown the true state, without sensors and
            estimator.
        seed: Seed of the noise.
        period: Of sensors and control [s].
    """
    known = model or world.robot
    stabiliser = Stabiliser(known, period)
    if true_state:
        return Feedback(TrueState(world, known, stabiliser), None, None, period)
    return Feedback(
        stabiliser,
        usual_sensors(world, seed),
        ContactAidedEstimator(known, period),
        period,
    )


def knowledge_of(feedback: Feedback | None) -> Knowledge:
    """Return what feedback knows of the robot."""
    if feedback is None:
        return "none"
    return "true state" if feedback.sensors is None else "sensors"
