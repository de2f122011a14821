"""Robots that are not as their models say, standing in poses in the simulator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.control.signals import Command
from equipoise.errors import EquipoiseError
from equipoise.identification.consistency import LEAST_MASS, new_inertials
from equipoise.identification.measuring.measured_poses import FEET, MeasuredPoses
from equipoise.identification.measuring.stretches import LEAST_LOAD
from equipoise.identification.noise import SensorNoise
from equipoise.identification.prior import Prior, prior_belief
from equipoise.identification.statics import PER_FOOT, PER_LINK
from equipoise.kinematics.com import com
from equipoise.robot.joint_coordinates import configurations, joint_positions
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import Mode, actuation_of
from equipoise.simulation.contacts import default_material
from equipoise.simulation.fleet import Fleet
from equipoise.simulation.fleet_states import FleetTrace
from equipoise.simulation.measures import foot_wrench
from equipoise.simulation.noise import Noise
from equipoise.simulation.sensors import Encoders, FootSensors
from equipoise.simulation.world import make_world

# Truths are at most so many standard deviations from the model.
FARTHEST = 3.0
# Settling, then measuring [s]; the time step, and between samples [s]. Commands are
# handed over in pieces of so many steps.
SETTLING, MEASURING, DT, SAMPLING, PIECE = 3.0, 0.5, 1e-3, 5e-3, 500
# The CoM of a robot that stands still moves less than this share of its height.
STILL = 5e-5
ENCODER_STEP = 2.0 * np.pi / 2**14


class TrueRobot(NamedTuple):
    """A robot that is not as its model says.

    Attributes:
        robot: With its true masses.
        values: True masses, first moments and sensors' offsets, shape (nx,).
    """

    robot: Robot
    values: Array


class Stood(NamedTuple):
    """What sensors showed of a robot that stood in poses.

    Attributes:
        poses: Those in which it stood still on both feet.
        rows: Which ones these are, shape (m,).
    """

    poses: MeasuredPoses
    rows: NDArray[np.int64]


def usual_feet() -> FootSensors:
    """Return sensors of 0.5 N and 0.02 Nm at the soles."""
    return FootSensors(Noise(deviation=0.5), Noise(deviation=0.02), "sole")


def usual_encoders(step: float = ENCODER_STEP) -> Encoders:
    """Return encoders of a step [rad]."""
    return Encoders(Noise(step=step))


def noise_of(feet: FootSensors, encoders: Encoders) -> SensorNoise:
    """Return what the estimate should know of sensors in the simulator."""
    force, torque = (
        float(np.sqrt(np.mean(np.square(part.deviation))))
        for part in (feet.force, feet.torque)
    )
    step = float(np.sqrt(np.mean(np.square(encoders.position.step)) / 12.0))
    return SensorNoise(force, torque, step)


def draw_truth(
    robot: Robot, prior: Prior, seed: int | np.random.Generator
) -> TrueRobot:
    """Return a robot whose figures are off as a prior says, none by more than 3 σ.

    Args:
        robot: The model.
        prior: Standard deviations; a link's CoM is off by at most three in length.
        seed: Of what is random.
    """
    rng = np.random.default_rng(seed)
    belief = prior_belief(robot, prior)
    links = belief.mean[: PER_LINK * len(belief.links)].reshape(-1, PER_LINK)
    away = _cut_normal(rng, (len(links), 3)) * prior.com
    share = 1.0 + _cut_normal(rng, (len(links), 1)) * prior.mass_share
    mass = np.maximum(share, LEAST_MASS) * links[:, :1]
    moment = mass * (links[:, 1:] / links[:, :1] + away)
    spread = np.diag(belief.root)[links.size :]
    offsets = _cut_normal(rng, (2 * PER_FOOT, 1))[:, 0] * spread
    values = np.concatenate([np.hstack([mass, moment]).ravel(), offsets])
    inertials = new_inertials(robot, values, belief.links)
    return TrueRobot(robot.with_inertials(inertials), frozen_array(values))


def stand_in_poses(
    model: Robot,
    truth: TrueRobot,
    q: Array,
    feet: FootSensors,
    encoders: Encoders,
    seed: int | np.random.Generator,
    *,
    mode: Mode = "servo",
    threads: int = 1,
) -> Stood:
    """Let a true robot stand in poses, and return what its sensors show.

    Args:
        model: What is known of the robot: the measured poses are of it.
        truth: What it is.
        q: Poses on both feet, soles at z = 0, shape (n, nq).
        feet: Noise of the sensors at the soles; offsets are the truth's.
        encoders: Noise and steps of the joints' positions.
        seed: Of the noise.
        mode: What holds the joints.
        threads: Of the CPU.

    Raises:
        EquipoiseError: If it stands still in none.
    """
    rng = np.random.default_rng(seed)
    world = make_world(
        truth.robot,
        material=default_material(model),
        actuation=actuation_of(model, mode),
    )
    fleet = Fleet(world, len(q), DT, threads=threads)
    fleet.reset(q)
    held = joint_positions(model, q)
    for _ in range(round(SETTLING / DT / PIECE)):
        _hold(fleet, held, PIECE, PIECE)
    trace = _hold(fleet, held, round(MEASURING / DT), round(SAMPLING / DT))
    rows, samples = trace.q.shape[:2]
    flat = trace.q.reshape(-1, model.nq)
    centre = np.asarray(com(truth.robot, flat)).reshape(rows, samples, 3)
    moved = np.linalg.norm(np.ptp(centre, axis=1), axis=1)
    good = moved < STILL * centre[:, -1, 2]
    good[[item.robot for item in fleet.stopped]] = False
    least = LEAST_LOAD * truth.robot.mass * world.gravity
    points, forces = (
        part.reshape(len(flat), -1, 3)
        for part in (trace.contact_position, trace.contact_force)
    )
    wrenches = {}
    for at, side in enumerate(FEET):
        true = foot_wrench(truth.robot, flat, world.contacts, points, forces, side)
        parts = [
            (values + noise.added(values.shape, rng)).reshape(rows, samples, 3)
            for values, noise in zip(true, (feet.force, feet.torque), strict=True)
        ]
        offset = truth.values[len(truth.values) - PER_FOOT * (2 - at) :][:PER_FOOT]
        wrenches[side] = np.concatenate(parts, axis=2).mean(axis=1) + offset
        good &= true.force.reshape(rows, samples, 3)[..., 2].mean(axis=1) > least
    kept = np.flatnonzero(good)
    if len(kept) == 0:
        raise EquipoiseError(
            f"{model.name} stands still in none of {rows} poses: their CoM may be too "
            "near the edges of the soles for a robot that is not as its model says"
        )
    steps = encoders.position
    joints = joint_positions(truth.robot, flat)
    joints = steps.rounded(joints + steps.added(joints.shape, rng))
    joints = np.unwrap(joints.reshape(rows, samples, -1), axis=1).mean(axis=1)
    shown = configurations(model, q[:, :7], joints)
    poses = MeasuredPoses(
        model,
        shown[kept],
        {side: own[kept] for side, own in wrenches.items()},
        np.array(samples),
    )
    return Stood(poses, kept)


def _hold(fleet: Fleet, position: Array, steps: int, every: int) -> FleetTrace:
    told = np.broadcast_to(position, (steps, *position.shape))
    still = np.zeros_like(told)
    return fleet.advance(Command(told, still, still), every)


def _cut_normal(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return normal numbers, rows drawn again that are longer than three."""
    drawn = rng.standard_normal(shape)
    while (far := np.linalg.norm(drawn, axis=1) > FARTHEST).any():
        drawn[far] = rng.standard_normal((int(far.sum()), shape[1]))
    return drawn
