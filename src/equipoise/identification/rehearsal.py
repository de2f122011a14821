"""A rehearsal in the simulator: how accurate would an identification be?

True robots, which differ from their model, are drawn at random, stand in the simulator
in the poses that are to be measured, and are identified from simulated measurements.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.control.signals import Command
from equipoise.errors import EquipoiseError
from equipoise.identification.consistency import LEAST_MASS, new_inertials
from equipoise.identification.estimate import Estimate, link_com_deviations
from equipoise.identification.evidence import averaged, most_probable
from equipoise.identification.hypotheses import USUAL, Hypothesis
from equipoise.identification.identified import WIDTH_95
from equipoise.identification.measuring.stretches import LEAST_LOAD
from equipoise.identification.noise import SensorNoise, covariances
from equipoise.identification.one_thread import one_thread
from equipoise.identification.pose_errors import turned
from equipoise.identification.prior import Prior, PriorBelief, prior_belief
from equipoise.identification.statics import (
    FEET,
    PER_LINK,
    PER_SENSOR,
    MeasuredPoses,
    StandingFrames,
    com_gradient,
    equations,
    frames_of,
    link_parameters,
    total_com,
)
from equipoise.kinematics.com import com
from equipoise.robot.joint_coordinates import configurations, joint_positions
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import actuation_of
from equipoise.simulation.contacts import default_material
from equipoise.simulation.fleet import Fleet
from equipoise.simulation.fleet_states import FleetTrace
from equipoise.simulation.measures import foot_wrench
from equipoise.simulation.noise import Noise
from equipoise.simulation.sensors import Encoders, FootSensors
from equipoise.simulation.world import make_world

# True robots are at most so many standard deviations from the model.
FARTHEST = 3.0
# Settling, then measuring [s]; the time step, and between samples [s]. Commands are
# handed over in pieces of so many steps.
SETTLING, MEASURING, DT, SAMPLING, PIECE = 3.0, 0.5, 1e-3, 5e-3, 500
# The CoM of a robot that stands still moves less than this fraction of its height.
STILL = 5e-5
ENCODER_STEP = 2.0 * np.pi / 2**14


class TrueRobot(NamedTuple):
    """A robot that differs from its model.

    Attributes:
        robot: The robot with its true masses.
        values: True masses, first moments and sensor offsets, shape (nx,).
    """

    robot: Robot
    values: Array


class Stood(NamedTuple):
    """Simulated measurements of a robot that stood in poses.

    Attributes:
        poses: Those in which it stood still on both feet.
        rows: Their rows among all poses, shape (m,).
    """

    poses: MeasuredPoses
    rows: NDArray[np.int64]


def usual_feet() -> FootSensors:
    """Return sensors with a noise of 0.5 N and 0.02 Nm at the soles."""
    return FootSensors(Noise(deviation=0.5), Noise(deviation=0.02), "sole")


def usual_encoders(step: float = ENCODER_STEP) -> Encoders:
    """Return encoders with a resolution [rad]."""
    return Encoders(Noise(step=step))


def noise_of(feet: FootSensors, encoders: Encoders) -> SensorNoise:
    """Return the standard deviations of simulated sensors."""
    force, torque = (
        float(np.sqrt(np.mean(np.square(part.deviation))))
        for part in (feet.force, feet.torque)
    )
    step = float(np.sqrt(np.mean(np.square(encoders.position.step)) / 12.0))
    return SensorNoise(force, torque, step)


def draw_truth(
    robot: Robot, prior: Prior, seed: int | np.random.Generator
) -> TrueRobot:
    """Return a robot whose parameters are drawn from a prior, none beyond 3 σ.

    A link's CoM differs from the model by at most three standard deviations in length.
    """
    rng = np.random.default_rng(seed)
    belief = prior_belief(robot, prior)
    links = link_parameters(belief.mean, len(belief.links))
    away = _cut_normal(rng, (len(links), 3)) * prior.com_std
    ratio = 1.0 + _cut_normal(rng, (len(links), 1)) * prior.mass_std_fraction
    mass = np.maximum(ratio, LEAST_MASS) * links[:, :1]
    moment = mass * (links[:, 1:] / links[:, :1] + away)
    deviations = np.diag(belief.root)[links.size :]
    offsets = _cut_normal(rng, (len(FEET) * PER_SENSOR, 1))[:, 0] * deviations
    values = np.concatenate([np.hstack([mass, moment]).ravel(), offsets])
    inertials = new_inertials(robot, values)
    return TrueRobot(robot.with_inertials(inertials), frozen_array(values))


def stand_in_poses(
    model: Robot,
    truth: TrueRobot,
    q: Array,
    feet: FootSensors,
    encoders: Encoders,
    seed: int | np.random.Generator,
    *,
    threads: int = 1,
) -> Stood:
    """Let a true robot stand in poses, and return its simulated measurements.

    Args:
        model: The robot's model, which the measured poses refer to.
        truth: The true robot.
        q: Poses on both feet, soles at z = 0, shape (n, nq).
        feet: Noise of the sensors at the soles; offsets are the true robot's.
        encoders: Noise and resolution of the joints' positions.
        seed: Seed of the noise.
        threads: CPU threads.

    Raises:
        EquipoiseError: If it stands still in none.
    """
    rng = np.random.default_rng(seed)
    world = make_world(
        truth.robot,
        material=default_material(model),
        actuation=actuation_of(model, "servo"),
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
    wrenches: dict[str, Array] = {}
    for at, side in enumerate(FEET):
        true = foot_wrench(truth.robot, flat, world.contacts, points, forces, side)
        parts = [
            (values + noise.added(values.shape, rng)).reshape(rows, samples, 3)
            for values, noise in zip(true, (feet.force, feet.torque), strict=True)
        ]
        first = len(truth.values) - PER_SENSOR * (2 - at)
        offset = truth.values[first : first + PER_SENSOR]
        wrenches[side] = np.concatenate(parts, axis=2).mean(axis=1) + offset
        good &= true.force.reshape(rows, samples, 3)[..., 2].mean(axis=1) > least
    kept = np.flatnonzero(good)
    if len(kept) == 0:
        raise EquipoiseError(
            f"{model.name} stands still in none of {rows} poses: their CoM may be too "
            "near the edges of the soles for a robot that differs from its model"
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
    held = np.broadcast_to(position, (steps, *position.shape))
    still = np.zeros_like(held)
    return fleet.advance(Command(held, still, still), every)


def _cut_normal(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return normal numbers, rows drawn again that are longer than three."""
    drawn = rng.standard_normal(shape)
    while (far := np.linalg.norm(drawn, axis=1) > FARTHEST).any():
        drawn[far] = rng.standard_normal((int(far.sum()), shape[1]))
    return drawn


class Score(NamedTuple):
    """Errors of an estimate where the truth is known.

    Attributes:
        before: Errors of the model's CoM in new poses [m], shape (n, 3).
        after: Errors of the estimate's CoM [m], shape (n, 3).
        covered: Whether 95 % intervals hold the truth: ``"com"`` of the total in new
            poses (n, 3), ``"link com"`` (nl, 3), ``"link mass"`` (nl,) and
            ``"offset"`` (12,).
    """

    before: Array
    after: Array
    covered: dict[str, NDArray[np.bool_]]


@one_thread
def estimate_from_poses(
    poses: MeasuredPoses, noise: SensorNoise, belief: PriorBelief
) -> Estimate:
    """Return the estimate from poses on soft ground."""
    frames = frames_of(poses)
    system, covariance = equations(frames, poses), covariances(frames, poses, noise)
    given = Hypothesis(USUAL, 1.0, belief)
    chosen = most_probable(
        frames, system, covariance, noise, [given], turned(poses.stretch)
    )
    return averaged(system, chosen)


def score(frames: StandingFrames, found: Estimate, truth: TrueRobot) -> Score:
    """Return the errors of an estimate in new poses, whose level frames are given."""
    true = total_com(frames, truth.values)
    after = total_com(frames, found.mean) - true
    gradient = com_gradient(frames.link_arms, found.mean)
    variance = np.einsum("nij,nij->ni", gradient @ found.covariance, gradient)
    count = len(found.belief.links)
    links = link_parameters(found.mean, count)
    right = link_parameters(truth.values, count)
    errors = links[:, 1:] / links[:, :1] - right[:, 1:] / right[:, :1]
    deviations = link_com_deviations(found.mean, found.covariance, count)
    deviation = np.sqrt(np.diag(found.covariance))
    inside = np.abs(found.mean - truth.values) <= WIDTH_95 * deviation
    return Score(
        before=total_com(frames, found.belief.mean) - true,
        after=after,
        covered={
            "com": np.abs(after) <= WIDTH_95 * np.sqrt(variance),
            "link com": np.abs(errors) <= WIDTH_95 * deviations,
            "link mass": inside[: links.size : PER_LINK],
            "offset": inside[links.size :],
        },
    )
