"""Errors of the contact-aided estimator, in both engines, as tables.

``python -m benchmarks.estimator`` prints Markdown: robots walk twelve steps with the
loop closed over noisy sensors, on flat ground and with a payload on rough ground.
``--offset`` has models whose centre of mass is 10 mm wrong, standing and walking,
``--bias`` sensors with a bias.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pinocchio as pin

import equipoise as eq
from benchmarks.walks import STEPS, robots
from equipoise.arrays import Array
from equipoise.balance.estimator import ContactAidedEstimator, Estimate
from equipoise.balance.stabiliser import Stabiliser
from equipoise.gait.standing import standing_reference
from equipoise.kinematics.stance import sole_pose
from equipoise.simulation.feedback import PERIOD, usual_sensors
from equipoise.simulation.sensors import SensorSuite
from equipoise.simulation.simulate import ENGINES
from equipoise.simulation.terrain_names import terrain_named
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import World, pushed_link, with_payload

PAYLOAD, ROUGHNESS = 0.08, 0.01
# Error of the model's CoM [m], and how long a robot has to find it [s].
OFFSET, FIND_TIME = 0.01, 10.0
# Bias of gyroscope [rad/s] and accelerometer [m/s²].
GYROSCOPE_BIAS, ACCELEROMETER_BIAS = 0.01, 0.05


class Watched(eq.Estimator):
    """An estimator whose estimates are kept."""

    def __init__(self, inner: ContactAidedEstimator) -> None:
        self.inner = inner
        self.kept: list[Estimate] = []

    def reset(self, start: eq.State) -> None:
        """Begin anew."""
        self.kept = []
        self.inner.reset(start)

    def estimate(self, measurement: eq.Measurement, command: eq.Command) -> Estimate:
        """Return the state, and keep it."""
        self.kept.append(self.inner.estimate(measurement, command))
        return self.kept[-1]


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of estimates at n times, in world axes; NaN where no foot carries.

    Attributes:
        time: [s], shape (n,).
        com: Of the CoM of the known model, less that of the loaded sole [m], (n, 3).
        true_com: The same of the robot's CoM, by the estimated offset, horizontally
            [m], shape (n, 2).
        velocity: Of the velocity of the CoM [m/s], shape (n, 3).
        attitude: Of the rotation of the base, a rotation vector [rad], shape (n, 3).
        offset: Estimated offset of the CoM [m], shape (n, 2).
        true_offset: What it should be [m], shape (n, 2).
        position: Of the base in the world [m], shape (n, 3).
        walked: How far the base has come [m].
        fell_at: When the robot fell [s], or None.
    """

    time: Array
    com: Array
    true_com: Array
    velocity: Array
    attitude: Array
    offset: Array
    true_offset: Array
    position: Array
    walked: float
    fell_at: float | None

    def rms(self, name: str) -> float:
        """Return the root mean square of the length of an error."""
        values = getattr(self, name)
        return float(np.sqrt(np.mean(np.sum(values**2, axis=1))))

    @property
    def drift(self) -> float:
        """Horizontal error of the base at the end over the distance walked."""
        return float(np.linalg.norm(self.position[-1, :2])) / max(self.walked, 1e-9)


@dataclass(frozen=True)
class Trial:
    """One robot in one world, known by a model.

    Attributes:
        world: The robot as it is.
        model: As it is known.
        reference: What it does.
        engine: Which engine.
        seconds: How long; as long as the reference lasts unless given.
        start: Configuration to begin with; where the reference begins unless given.
        sensors: Makes its sensors.
        estimator: Makes its estimator.
    """

    world: World
    model: eq.Robot
    reference: Any
    engine: Any = "native"
    seconds: float | None = None
    start: Array | None = None
    sensors: Callable[[World], SensorSuite] = usual_sensors
    estimator: Callable[[eq.Robot], ContactAidedEstimator] = field(
        default=lambda robot: ContactAidedEstimator(robot, PERIOD)
    )

    def errors(self) -> Errors:
        """Simulate, and compare estimates with the truth at the same time."""
        watched = Watched(self.estimator(self.model))
        run = eq.simulate(
            self.world,
            self.reference,
            self.seconds,
            start=self.start,
            controller=Stabiliser(self.model, PERIOD),
            sensors=self.sensors(self.world),
            estimator=watched,
            control_period=PERIOD,
            record_period=PERIOD,
            engine=self.engine,
        )
        return compared(self.model, self.world.robot, run, watched.kept)


def compared(
    model: eq.Robot, robot: eq.Robot, run: eq.Run, kept: list[Estimate]
) -> Errors:
    """Return the errors of estimates; those after a fall are left out."""
    fell = run.summary["fell_at_s"]
    rows = {round(float(time) / PERIOD): i for i, time in enumerate(run.time)}
    data, true_data = model.model.createData(), robot.model.createData()
    found: list[list[Array]] = []
    for estimate in kept:
        row = rows.get(round(estimate.time / PERIOD))
        if row is None or (fell is not None and estimate.time > fell - 1.0):
            continue
        q, v = run.q[row], run.v[row]
        load = {side: run.foot_wrench[side][row, 2] for side in run.foot_wrench}
        side = max(load, key=lambda name: load[name])
        # the estimate's own sole, not that of its joints: they agree
        sole = sole_pose(model, estimate.q, side)[:3, 3]
        true_sole = sole_pose(model, q, side)[:3, 3]
        model_com = np.array(pin.centerOfMass(model.model, data, q))
        com = np.array(pin.centerOfMass(robot.model, true_data, q, v))
        offset = np.append(estimate.com_offset, 0.0)
        here = estimate.com - sole
        own, true = (pin.Quaternion(x[3:7]).matrix() for x in (estimate.q, q))
        found.append(
            [
                np.array([estimate.time]),
                here - (model_com - true_sole),
                (here + offset - (com - true_sole))[:2],
                estimate.com_velocity - np.array(true_data.vcom[0]),
                pin.log3(own @ true.T),
                offset[:2],
                (com - model_com)[:2],
                estimate.q[:3] - q[:3],
            ]
        )
    columns = [np.array(column) for column in zip(*found, strict=True)]
    walked = float(np.linalg.norm(run.q[-1, :2] - run.q[0, :2]))
    return Errors(columns[0][:, 0], *columns[1:], walked=walked, fell_at=fell)


def model_with_offset(robot: eq.Robot, offset: Array) -> eq.Robot:
    """Return a robot whose whole CoM is moved, standing, by moving its torso's.

    Args:
        robot: The robot.
        offset: How far, in the world [m], shape (3,).
    """
    link = pushed_link(robot)
    links = robot.description.link_by_name
    heavy = [name for name in links if links[name].inertial is not None]
    if links[link].inertial is None:
        link = max(heavy, key=lambda name: links[name].inertial.mass)
    inertial = links[link].inertial
    turned = np.asarray(eq.frame_pose(robot, robot.standing, link))[:3, :3]
    moved = turned.T @ np.asarray(offset) * robot.mass / inertial.mass
    changed = replace(inertial, com_in_link=inertial.com_in_link + moved)
    return robot.with_inertials({link: changed})


def biased_sensors(world: World) -> SensorSuite:
    """Return the usual sensors, their IMU with a bias in every axis."""
    usual = usual_sensors(world)
    gyroscope = replace(usual.imu.angular_velocity, bias=GYROSCOPE_BIAS)
    accelerometer = replace(usual.imu.specific_force, bias=ACCELEROMETER_BIAS)
    imu = replace(usual.imu, angular_velocity=gyroscope, specific_force=accelerometer)
    return SensorSuite(world, usual.encoders, usual.feet, imu)


def chosen(robot_name: str | None) -> Iterator[tuple[str, eq.Robot]]:
    """Yield the robots, or the one of a name."""
    for name, path in robots():
        if robot_name in (None, name):
            yield name, eq.load(path)


def walks(robot_name: str | None, sensors: Callable[[World], SensorSuite]) -> None:
    """Print errors of walks."""
    print(
        "| robot | ground | engine | CoM by the model [mm] "
        "| CoM with its offset, horizontal [mm] "
        "| velocity x, y, z [mm/s] | attitude [mrad] | drift [mm/m] |"
    )
    print(f"|{'---|' * 8}")
    for name, robot in chosen(robot_name):
        motion = eq.solve(robot, eq.fit_walk(robot, STEPS))
        loaded = with_payload(robot, {pushed_link(robot): PAYLOAD * robot.mass})
        rough = terrain_named(f"rough:{ROUGHNESS}", robot, 0)
        worlds = {
            "flat": trial_world(robot, None, "servo"),
            "rough, payload": replace(trial_world(robot, rough, "servo"), robot=loaded),
        }
        for ground, world in worlds.items():
            for engine in ENGINES:
                trial = Trial(world, robot, motion, engine, sensors=sensors)
                errors = trial.errors()
                each = 1e3 * np.sqrt(np.mean(errors.velocity**2, axis=0))
                print(
                    f"| {name} | {ground} | {engine} | {1e3 * errors.rms('com'):.1f} "
                    f"| {1e3 * errors.rms('true_com'):.1f} "
                    f"| {each[0]:.0f}, {each[1]:.0f}, {each[2]:.0f} "
                    f"| {1e3 * errors.rms('attitude'):.1f} "
                    f"| {1e3 * errors.drift:.0f}{_fell(errors)} |",
                    flush=True,
                )


def offsets(robot_name: str | None) -> None:
    """Print how well the offset of the CoM is found."""
    print(
        "| robot | motion | engine | model wrong in | error at 10 s [mm] "
        "| mean, largest from 8 to 10 s [mm] |"
    )
    print(f"|{'---|' * 6}")
    for name, robot in chosen(robot_name):
        for axis, letter in enumerate("xy"):
            wrong = model_with_offset(robot, -OFFSET * np.eye(3)[axis])
            world = trial_world(robot, None, "servo")
            motion = eq.solve(wrong, eq.fit_walk(wrong, STEPS))
            for words, reference, seconds in (
                ("stands", standing_reference(wrong, motion.q[0]), FIND_TIME),
                ("walks", motion, min(FIND_TIME, motion.duration)),
            ):
                for engine in ENGINES:
                    trial = Trial(
                        world, wrong, reference, engine, seconds, start=motion.q[0]
                    )
                    errors = trial.errors()
                    off = 1e3 * (errors.offset - errors.true_offset)
                    late = off[errors.time > errors.time[-1] - 2.0]
                    length = np.linalg.norm(late, axis=1)
                    print(
                        f"| {name} | {words} | {engine} | {letter} "
                        f"| {off[-1, 0]:.1f}, {off[-1, 1]:.1f} "
                        f"| {np.linalg.norm(late.mean(axis=0)):.1f}, {length.max():.1f}"
                        f"{_fell(errors)} |",
                        flush=True,
                    )


def _fell(errors: Errors) -> str:
    return "" if errors.fell_at is None else f", fell at {errors.fell_at:.1f} s"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimator")
    parser.add_argument("--offset", action="store_true", help="models that are wrong")
    parser.add_argument("--bias", action="store_true", help="IMUs that are wrong")
    parser.add_argument("--robot", help="one of them alone")
    options = parser.parse_args()
    if options.offset:
        offsets(options.robot)
    else:
        walks(options.robot, biased_sensors if options.bias else usual_sensors)


if __name__ == "__main__":
    main()
