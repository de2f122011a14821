"""A robot that walks a motion, with sensors and feedback where it has servos."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from equipoise.balance.whole_body.arms import Arms
from equipoise.control.blocks import Controller, Plant
from equipoise.errors import EquipoiseError
from equipoise.gait.fit import fit_walk
from equipoise.gait.motion import Motion, solve
from equipoise.kinematics.terrain import Terrain
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import Mode
from equipoise.simulation.closed_loop import WALK_PERIOD, closed_loop
from equipoise.simulation.feedback import Feedback
from equipoise.simulation.needed_friction import friction_warning
from equipoise.simulation.simulate import EngineName, simulate
from equipoise.simulation.summary import RunSummary
from equipoise.simulation.trials import trial_world
from equipoise.simulation.walk_summary import (
    Circumstances,
    WalkSummary,
    assess_walk,
)
from equipoise.simulation.world import Push, World

Actuators = Literal["servo", "torque", "ideal"]


def walk(
    robot: Robot | World,
    motion: Motion | None = None,
    terrain: Terrain | None = None,
    *,
    unknown_terrain: Terrain | None = None,
    feedback: Feedback | bool = True,
    true_state: bool = False,
    seed: int = 0,
    controller: Controller[Any] | None = None,
    pushes: Sequence[Push] = (),
    actuators: Actuators | None = None,
    arms: Arms | None = None,
    model: Robot | None = None,
    engine: EngineName | Plant = "native",
    dt: float = 1e-3,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Let a robot walk a motion, with sensors and feedback where it has servos.

    Args:
        robot: The robot, or the robot in its world if another is wanted than
            :func:`~equipoise.simulation.trials.trial_world`'s.
        motion: From :func:`~equipoise.gait.motion.solve`; six steps that fit the robot
            unless given.
        terrain: What to walk on, as the gait knows it; flat ground unless given.
        unknown_terrain: What it truly walks on, known to nothing that plans or
            controls; as the gait knows it unless given.
        feedback: Whether there is feedback
            (:func:`~equipoise.simulation.feedback.balance_feedback`), or one of your
            own. Without it, and for ideal joints, the walk is open loop: servos with
            feed-forward torques. So it is where heels rise, with a notice: ours is for
            feet that stand flat.
        true_state: Whether ours is shown the true state, not sensors.
        seed: Seed of the noise of our sensors.
        controller: What is done about the motion instead of our feedback; it is asked
            in each time step and shown the true state.
        pushes: Forces from outside.
        actuators: ``"servo"``: servos with the limits of the robot's file;
            ``"torque"``: joints that are told torques, with the same limits
            (:func:`~equipoise.simulation.feedback.whole_body_feedback`); ``"ideal"``:
            joints follow exactly, whatever torque that takes. Unless given torque for
            robots whose file says so
            (:attr:`~equipoise.robot.model.Robot.torque_controlled`) if feedback of
            ours tells them, and servo for all others.
        arms: What the arms do while joints are told torques: ``"still"`` holds them,
            ``"yaw"`` lets them suppress the yaw moment of the feet; they keep to their
            posture loosely unless given. Joints that the motion moves
            (:attr:`~equipoise.gait.motion.Motion.arms`) follow it in any case.
        model: The robot as planner, feed-forward and feedback know it; as it is unless
            given.
        engine: Its name, or one that was made before, of the same world.
        dt: Time step [s].
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if every step was made where it was planned, CoM and ZMP
        stayed near their plans and no actuator was beyond its limits. With feedback
        all of that is relative to the stance foot, without it in the world.

    Raises:
        EquipoiseError: If the motion is another robot's, or what is asked for
            contradicts itself.
    """
    mode: Mode | None
    if actuators is None:
        ours = feedback is True and controller is None
        mode = None if ours else "servo"
    elif actuators in get_args(Actuators):
        mode = "position" if actuators == "ideal" else actuators
    else:
        raise EquipoiseError(
            f"there are no actuators '{actuators}'; they are servo, torque or ideal"
        )
    world = trial_world(robot, terrain, mode, pushes=tuple(pushes))
    robot = world.robot
    known = model or robot
    plan = motion or solve(known, fit_walk(known, ground=world.terrain))
    if plan.robot.name != robot.name:
        raise EquipoiseError(
            f"the motion was solved for {plan.robot.name}, not for {robot.name}"
        )
    ground, numbers = world.terrain, plan.gait.parameters
    if unknown_terrain is not None:
        world = replace(world, terrain=unknown_terrain)
    loop = closed_loop(
        world,
        known,
        feedback,
        own={"controller": controller},
        true_state=true_state,
        seed=seed,
        dt=dt,
        plan=plan,
        on_toes=max(numbers.heel_off, numbers.toe_first) > 0.0,
        arms=arms,
        moving=() if plan.arms is None else plan.arms.joints,
    )
    slippery = friction_warning(world, plan)
    if slippery is not None:
        loop = replace(loop, notices=(*loop.notices, slippery))
    circumstances = Circumstances(world, ground, known, loop, arms)

    def assess(run: Run, summary: RunSummary) -> WalkSummary:
        return assess_walk(circumstances, plan, run, summary)

    return simulate(
        world,
        plan,
        **loop.blocks,
        engine=engine,
        dt=dt,
        record_period=max(dt, WALK_PERIOD),
        assess=assess,
        progress=progress,
    )
