"""Sensors, estimator and controller of a simulated robot, ready for the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pinocchio as pin

from equipoise.balance.balancing import BalancingController, balancing_gains
from equipoise.balance.estimator import ContactAidedEstimator
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.stabiliser import Stabiliser, StabiliserGains
from equipoise.balance.whole_body.arms import Arms, use_arms
from equipoise.balance.whole_body.controller import WholeBodyController
from equipoise.balance.whole_body.diagnosis import check_standing
from equipoise.balance.whole_body.foothold import StepGains
from equipoise.balance.whole_body.gains import WholeBodyGains
from equipoise.balance.whole_body.limits import JointRange, Joints
from equipoise.balance.whole_body.step_plan import Plan
from equipoise.balance.whole_body.steps import RecoverySteps
from equipoise.balance.whole_body.swing_limits import swing_limits
from equipoise.balance.whole_body.tasks import Task
from equipoise.control.blocks import Controller, Estimator
from equipoise.control.certificate import Gains
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.robot.joint_coordinates import sliding_degrees
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import Mode
from equipoise.simulation.noise import Noise
from equipoise.simulation.sensors import Encoders, FootSensors, Imu, SensorSuite
from equipoise.simulation.true_state import TrueState
from equipoise.simulation.world import World

# Standard deviations of the sensors, and their delay [s]: encoders [rad or m],
# gyroscope [rad/s], accelerometer [m/s²], forces as a fraction of the weight; torques
# have the noise of that force at the end of the sole.
ENCODER, GYROSCOPE, ACCELEROMETER, FORCE, DELAY = 1e-4, 0.01, 0.1, 0.01, 2e-3
PERIOD = 2e-3
# Joints brake before their stops with this many times g / L, L the leg's length, or g
# if they slide, or with this part of what their torque gives the inertia that they move
# in the air.
BRAKING, BRAKING_TORQUE = 15.0, 0.6
# Nothing, where it is divided by [kg m²].
NO_INERTIA = 1e-12

Law = Literal["stabiliser", "paper", "whole-body"]
Knowledge = Literal["none", "sensors", "true state"]


@dataclass(frozen=True, eq=False)
class Feedback:
    """What closes the loop.

    Attributes:
        controller: Makes commands.
        sensors: What the robot measures.
        estimator: What it makes of that.
        control_period: Time between two commands [s].
        law: Name of the law of control; ``"own"`` for one of yours.
        steps: What changes footsteps after pushes, if something does.
    """

    controller: Controller[Any]
    sensors: SensorSuite | None
    estimator: Estimator | None
    control_period: float
    law: str = "own"
    steps: RecoverySteps | None = None

    @property
    def blocks(self) -> dict[str, Any]:
        """Its blocks and their period, by the names that ``simulate`` knows."""
        return {
            "controller": self.controller,
            "sensors": self.sensors,
            "estimator": self.estimator,
            "control_period": self.control_period,
        }

    @property
    def knowledge(self) -> Knowledge:
        """What the controller knows: what sensors say, or the true state."""
        return "true state" if self.sensors is None else "sensors"


def usual_sensors(world: World, seed: int = 0, noise: float = 1.0) -> SensorSuite:
    """Return sensors with the noise and delay of usual ones; velocities differenced.

    Args:
        world: Whose robot is measured.
        seed: Seed of the noise.
        noise: Factor on its standard deviations.
    """
    weight = world.robot.mass * world.gravity
    arm = max(max(sole.size) for sole in world.robot.soles.values())

    def usual(deviation: float) -> Noise:
        return Noise(deviation=noise * deviation, delay=DELAY)

    return SensorSuite(
        world,
        Encoders(usual(ENCODER), None),
        FootSensors(usual(FORCE * weight), usual(FORCE * weight * 0.5 * arm)),
        Imu(
            angular_velocity=usual(GYROSCOPE),
            specific_force=usual(ACCELEROMETER),
            orientation=Noise(delay=DELAY),
        ),
        seed=seed,
    )


def balance_feedback(
    world: World,
    model: Robot | None = None,
    *,
    gains: StabiliserGains | None = None,
    true_state: bool = False,
    seed: int = 0,
    noise: float = 1.0,
    period: float = PERIOD,
) -> Feedback:
    """Return sensors, estimator and stabiliser for a robot in a world.

    Args:
        world: The robot as it is.
        model: The robot as estimator and stabiliser know it; as it is unless given.
        gains: Numbers of the stabiliser.
        true_state: Whether the controller is shown the true state, not sensors.
        seed: Seed of the noise.
        noise: Factor on its standard deviations.
        period: Of sensors and control [s].
    """
    known = model or world.robot
    controller = Stabiliser(known, period, gains)
    sensors = None if true_state else usual_sensors(world, seed, noise)
    return _feedback(world, known, controller, "stabiliser", sensors, period)


def paper_feedback(
    world: World,
    model: Robot | None = None,
    *,
    gains: Gains | tuple[float, float] | None = None,
    force: bool = False,
    true_state: bool = False,
    seed: int = 0,
    noise: float = 1.0,
    period: float = PERIOD,
) -> Feedback:
    """Return sensors, estimator and the balancing controller of [Choi2007].

    Args:
        world: The robot as it is.
        model: The robot as estimator and controller know it; as it is unless given.
        gains: Gains, delay and filter; or k_p and k_c [1/s] with the delay of the loop
            and a filter that fits; or those of
            :func:`~equipoise.balance.balancing.balancing_gains`.
        force: Whether gains may be unstable.
        true_state: Whether the controller is shown the true state, not sensors.
        seed: Seed of the noise.
        noise: Factor on its standard deviations.
        period: Of sensors and control [s].

    Raises:
        EquipoiseError: If the gains are not stable: the condition that fails, and
            stable ones near to them.
    """
    known = model or world.robot
    if not isinstance(gains, Gains):
        delay = period if true_state else DELAY + period
        gains = balancing_gains(known, delay, *(gains or ()))
    controller = BalancingController(known, period, gains, force=force)
    sensors = None if true_state else usual_sensors(world, seed, noise)
    return _feedback(world, known, controller, "paper", sensors, period)


def whole_body_feedback(
    world: World,
    model: Robot | None = None,
    *,
    gains: WholeBodyGains | None = None,
    tasks: Sequence[Task] = (),
    plan: Plan | None = None,
    steps: StepGains | bool = True,
    arms: Arms | None = None,
    moving: Sequence[str] = (),
    solver: str = "daqp",
    true_state: bool = False,
    seed: int = 0,
    noise: float = 1.0,
    period: float = PERIOD,
) -> Feedback:
    """Return sensors, estimator and whole-body torques for a robot in a world.

    Args:
        world: The robot as it is; its joints are told torques
            (:func:`~equipoise.simulation.actuation.torque_actuation`).
        model: The robot as estimator and controller know it; as it is unless given.
        gains: Numbers of the controller.
        tasks: Tasks beside those of balance.
        plan: The walk that it will follow, whose footsteps may be changed; None for a
            robot that stands.
        steps: Whether footsteps are changed after pushes, and a robot that stands
            steps when it must
            (:class:`~equipoise.balance.whole_body.steps.RecoverySteps`); or numbers
            of these steps.
        arms: What the arms do (:func:`~equipoise.balance.whole_body.arms.use_arms`).
        moving: Joints that follow their targets closely, as of a hand that waves.
        solver: Solver of the quadratic programmes, any that ``qpsolvers`` knows.
        true_state: Whether the controller is shown the true state, not sensors.
        seed: Seed of the noise.
        noise: Factor on its standard deviations.
        period: Of sensors and control [s].

    Raises:
        EquipoiseError: If the robot cannot stand within its torque limits, and which
            joints these are of.
    """
    known = model or world.robot
    use = use_arms(known, arms, tuple(moving))
    controller = WholeBodyController(
        known,
        period,
        known_joints(world, known),
        gains,
        tasks=(*tasks, *use.tasks),
        follow=use.follow,
        loose=use.loose,
        solver=solver,
    )
    if steps:
        controller.steps = RecoverySteps(
            known,
            period,
            controller.feet,
            plan,
            steps if isinstance(steps, StepGains) else None,
            hips=swing_limits(
                controller.dynamics,
                controller.joints.motion.speed,
                controller.torque_limit,
            ),
        )
    check_standing(
        controller.dynamics,
        controller.feet.contacts,
        controller.torque_limit,
    )
    sensors = None if true_state else usual_sensors(world, seed, noise)
    made = _feedback(world, known, controller, "whole-body", sensors, period)
    return replace(made, steps=controller.steps)


def known_joints(world: World, model: Robot | None = None) -> Joints:
    """Return what whole-body control knows of a robot's actuators.

    Args:
        world: The robot as it is.
        model: The robot as the controller knows it; as it is unless given.
    """
    actuation, robot = world.actuation, model or world.robot
    inertia = np.diag(pin.crba(robot.model, robot.data, robot.standing))[BASE_DOF:]
    inertia = np.maximum(inertia + actuation.rotor_inertia, NO_INERTIA)
    torque = BRAKING_TORQUE * actuation.torque_limit
    # a joint without torque cannot brake at all: its stop stops it
    possible = np.where(torque > 0.0, torque / inertia, np.inf)
    lever = np.where(sliding_degrees(robot), 1.0, robot.longest_leg)
    braking = np.minimum(BRAKING * world.gravity / lever, possible)
    motion = JointRange(
        actuation.lower, actuation.upper, actuation.velocity_limit, braking
    )
    return Joints(
        actuation.torque_limit,
        actuation.rotor_inertia,
        motion,
        actuation.viscous_friction,
        actuation.coulomb_friction,
    )


def _feedback(
    world: World,
    known: Robot,
    controller: Controller[Any],
    law: Law,
    sensors: SensorSuite | None,
    period: float,
) -> Feedback:
    """Return feedback by sensors and the estimator, or of the true state."""
    if sensors is None:
        shown = TrueState(world, known, controller)
        return Feedback(shown, None, None, period, law)
    estimator = ContactAidedEstimator(known, period)
    return Feedback(controller, sensors, estimator, period, law)


def mode_for(law: Law, feedback: Feedback | bool = True) -> Mode:
    """Return the mode of joints that a law of ours is for."""
    return "torque" if law == "whole-body" and feedback is True else "servo"


def feedback_by(
    world: World,
    feedback: Feedback | bool,
    model: Robot | None = None,
    *,
    law: Law = "stabiliser",
    gains: Gains | tuple[float, float] | None = None,
    force_gains: bool = False,
    steps: bool = False,
    true_state: bool = False,
    seed: int = 0,
) -> Feedback | None:
    """Return the feedback that an experiment is asked for, None for servos alone.

    Args:
        world: The robot as it is.
        feedback: Whether there is feedback, or one of your own.
        model: The robot as the controller knows it; as it is unless given.
        law: Law of control: ``"stabiliser"`` for :func:`balance_feedback`, ``"paper"``
            for :func:`paper_feedback`, ``"whole-body"`` for
            :func:`whole_body_feedback`. It does not matter for feedback of your own.
        gains: Gains of the paper's law.
        force_gains: Whether these may be unstable.
        steps: Whether the robot may step, with whole-body torques.
        true_state: Whether the controller is shown the true state, not sensors.
        seed: Seed of the noise.

    Raises:
        EquipoiseError: If options do not go together, or gains are not stable.
    """
    if law not in get_args(Law):
        raise NameNotFoundError("law", law, get_args(Law), "feedback")
    if steps and law != "whole-body":
        raise EquipoiseError("steps are for law='whole-body'")
    if feedback is not True:
        if true_state:
            raise EquipoiseError("true_state is for feedback of ours: feedback=True")
        if gains is not None:
            raise EquipoiseError("gains are for feedback of ours: feedback=True")
        return feedback or None
    if law == "paper":
        return paper_feedback(
            world,
            model,
            gains=gains,
            force=force_gains,
            true_state=true_state,
            seed=seed,
        )
    if gains is not None:
        raise EquipoiseError("gains k_p and k_c are for law='paper'")
    if law == "whole-body":
        return whole_body_feedback(
            world, model, steps=steps, true_state=true_state, seed=seed
        )
    return balance_feedback(world, model, true_state=true_state, seed=seed)
