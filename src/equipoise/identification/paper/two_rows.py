"""Two balance poses of any robot through Eq. (4)–(20) of [Muscolo2017].

The paper's robot leans about its ankles; here any robot may, and about any pair of leg
joints: those that change most from row A to row B. What is below them are the feet of
the paper, with the model's mass and centre of mass; what is above is one body that
turns by θ_t. P lies on the floor below their axis, midway between the soles; X is
forward, Y to the left and Z up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.noise import SensorNoise
from equipoise.identification.paper.foot_wrenches import (
    Coefficients,
    Feet,
    FootWrench,
    coefficients,
    two_pose_com,
)
from equipoise.identification.paper.motor_currents import TorqueCheck, torque_summary
from equipoise.identification.prior import default_prior, prior_belief
from equipoise.identification.rehearsal import estimate_from_poses
from equipoise.identification.statics import (
    FEET,
    PER_LINK,
    MeasuredPoses,
    frames_of,
    links_with_mass,
    total_wrench,
)
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.robot.model import Robot

# Turns below this do not determine a height [rad].
LEAST_TURN = np.deg2rad(0.5)
# Poses in which the formula misses the model's own height by more than this fraction
# are not one body that turned.
MOST_OFF = 0.05
NAMES = ("A", "B")


class PaperQuantity(NamedTuple):
    """A quantity of the paper in both poses.

    Attributes:
        name: In the paper's letters, with its unit.
        equation: Its number, or where it comes from.
        values: In poses A and B; one where both have the same.
    """

    name: str
    equation: str
    values: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class TwoRowCom:
    """The total CoM from two balance poses.

    Attributes:
        robot: The robot.
        quantities: The paper's, in the order of its equations.
        paper: CoM in poses A and B by Eq. (14)–(20), from P [m], shape (2, 3).
        model: The model's [m], shape (2, 3).
        least_squares: By least squares over both rows with the model as prior and
            sensor offsets [m], shape (2, 3).
        method_error: What the equations miss of the model's own CoM in these poses, as
            these are not exactly one body that turned [m], shape (2, 3).
        notes: Assumptions and corrections, a sentence each.
        torques: Joint torques from motor currents beside the model's; empty without
            currents.
    """

    robot: Robot
    quantities: tuple[PaperQuantity, ...]
    paper: Array
    model: Array
    least_squares: Array
    method_error: Array
    notes: tuple[str, ...]
    torques: tuple[TorqueCheck, ...] = ()

    @property
    def ways(self) -> dict[str, Array]:
        """CoMs by how they were found."""
        return {
            "two poses, Eq. 14–20": self.paper,
            "model": self.model,
            "least squares": self.least_squares,
        }

    def summary(self) -> dict[str, Any]:
        """Return the results as plain data."""
        return {
            "verb": "identify",
            "robot": self.robot.name,
            "achieved": True,
            "quantities": {
                own.name: {"equation": own.equation, "values": list(own.values)}
                for own in self.quantities
            },
            "com_from_p_m": {way: own.tolist() for way, own in self.ways.items()},
            "method_error_m": self.method_error.tolist(),
            "joint_torques": torque_summary(self.torques),
            "notes": list(self.notes),
        }


def com_of_two_rows(poses: MeasuredPoses, notices: tuple[str, ...] = ()) -> TwoRowCom:
    """Return the total CoM that two balance poses give, Eq. (4)–(20).

    Args:
        poses: Poses A and B: all above the ankles leans further in B.
        notices: Sentences to include in the notes.

    Raises:
        EquipoiseError: If there are not two poses, or the body did not turn as one
            piece about the leg joints.
    """
    if len(poses) != 2:
        raise EquipoiseError(
            f"Eq. 4–20 take two poses, rows A and B of a table; this one has "
            f"{len(poses)}"
        )
    robot = poses.robot
    frames, inertials = frames_of(poses), links_with_mass(robot)
    soles = sole_pose(robot, poses.q, FEET[0])
    to_level = np.asarray(frames.sole_in_level[FEET[0]] @ np.linalg.inv(soles))
    values = np.array(
        [own.mass * np.array([1.0, *own.com_in_link]) for own in inertials.values()]
    )
    turn = _turn(robot, poses.q, to_level)
    axis, below = _axis(robot, poses.q, to_level)
    origin = np.array([axis[0], 0.0, 0.0])
    moments = _moments(frames.link_arms, values)[0]
    mass_u = float(values[below, 0].sum())
    at_u = moments[below].sum(axis=0) / mass_u - origin
    feet = Feet(mass_u, float(at_u[0]), float(at_u[2]), float(axis[2]))

    model = _moments(frames.link_arms, values).sum(axis=1) / robot.mass - origin
    exact = [Coefficients(float(x), 0.0, float(y), 0.0) for x, y, _ in model]
    again = two_pose_com(exact[0], exact[1], turn, feet, robot.mass)
    missed = np.stack([again.com_a, again.com_b]) - model
    _refuse_other_motion(robot, poses.q, missed, model)

    wrenches = total_wrench(frames.sensor_in_level, poses.wrenches)
    # both feet together: only their sum is in Eq. (10)–(13)
    none = FootWrench(*np.zeros((3, 3)))
    lines = [
        coefficients(FootWrench(-origin, total[:3], total[3:]), none)
        for total in wrenches
    ]
    mass = float(wrenches[:, 2].mean()) / STANDARD_GRAVITY
    found = two_pose_com(lines[0], lines[1], turn, feet, mass)
    fitted = (
        estimate_from_poses(
            poses, SensorNoise(), prior_belief(robot, default_prior(robot))
        )
        .mean[: values.size]
        .reshape(-1, PER_LINK)
    )
    best = _moments(frames.link_arms, fitted).sum(axis=1) / fitted[:, 0].sum() - origin
    paper = np.stack([found.com_a, found.com_b])
    return TwoRowCom(
        robot,
        _quantities(lines, turn, feet, mass, found.r_w, found.l_w, paper),
        paper,
        model,
        best,
        missed,
        (*notices, *_notes(robot, mass, missed)),
    )


def _turn(robot: Robot, q: Array, to_level: Array) -> float:
    """Return θ_t, by which the base leans forward from A to B [rad]."""
    base = to_level[:, :3, :3] @ frame_pose(robot, q, robot.description.root)[:, :3, :3]
    about = np.array(pin.log3(base[1] @ base[0].T))
    turn = float(about[1])
    if abs(turn) < LEAST_TURN:
        raise EquipoiseError(
            f"from row A to row B the body leans by {np.rad2deg(abs(turn)):.2f}° only: "
            f"at least {np.rad2deg(LEAST_TURN):.1f}° about the ankles are needed for "
            "the height of the centre of mass (Eq. 19)"
        )
    return turn


def _axis(robot: Robot, q: Array, to_level: Array) -> tuple[Array, list[int]]:
    """Return the point midway between the joints that turn [m], and links below them.

    They are those of the main chains of the legs that change most.
    """
    changes = _changes(robot, q)
    places, below = [], set()
    for side in FEET:
        joints = [name for name in robot.legs[side].joints if name in changes]
        joint = robot.joint_id(max(joints, key=lambda name: abs(changes[name])))
        subtree = set(robot.model.subtrees[joint])
        for at, name in enumerate(links_with_mass(robot)):
            frame = robot.model.frames[robot.frame_id(name)]
            if frame.parentJoint in subtree:
                below.add(at)
        for row in (0, 1):
            pin.forwardKinematics(robot.model, robot.data, q[row])
            place = np.array(robot.data.oMi[joint].translation)
            places.append(to_level[row, :3, :3] @ place + to_level[row, :3, 3])
    return np.mean(places, axis=0), sorted(below)


def _changes(robot: Robot, q: Array) -> dict[str, float]:
    """Return how far joints turn from A to B [rad or m]."""
    first, second = joint_positions(robot, q)
    return dict(zip(degree_names(robot), (second - first).tolist(), strict=True))


def _moments(link_arms: Array, values: Array) -> Array:
    """Return first moments of links in the level frame [kg m], shape (2, nl, 3)."""
    return np.asarray(np.einsum("nlij,lj->nli", link_arms, values))


def _refuse_other_motion(robot: Robot, q: Array, missed: Array, model: Array) -> None:
    worst = float(np.abs(missed[:, 2]).max())
    if worst <= MOST_OFF * float(model[:, 2].mean()):
        return
    changes = _changes(robot, q)
    most = sorted(changes, key=lambda name: -abs(changes[name]))[:4]
    named = ", ".join(f"'{name}' by {np.rad2deg(changes[name]):.1f}°" for name in most)
    raise EquipoiseError(
        "rows A and B are not one body that leans about the ankles, as Eq. 16–17 need: "
        f"joints change most in {named}; the equations would miss the model's own "
        f"centre of mass by {1e3 * worst:.0f} mm"
    )


def _quantities(
    lines: list[Coefficients],
    turn: float,
    feet: Feet,
    mass: float,
    r_w: float,
    l_w: float,
    com: Array,
) -> tuple[PaperQuantity, ...]:
    both = {
        name: tuple(float(getattr(line, name)) for line in lines)
        for name in Coefficients._fields
    }
    x, y, z = (tuple(own.tolist()) for own in com.T)
    return (
        PaperQuantity("α [m]", "Eq. 10", both["alpha"]),
        PaperQuantity("β", "Eq. 11", both["beta"]),
        PaperQuantity("γ [m]", "Eq. 12", both["gamma"]),
        PaperQuantity("δ", "Eq. 13", both["delta"]),
        PaperQuantity("θ_t [°]", "from the joints", (float(np.rad2deg(turn)),)),
        PaperQuantity("U, height of the axis [m]", "model", (feet.ankle_height,)),
        PaperQuantity("m_u, feet [kg]", "model", (feet.mass,)),
        PaperQuantity("r_u [m]", "model", (feet.r,)),
        PaperQuantity("l_u [m]", "model", (feet.l,)),
        PaperQuantity("m₂, with feet [kg]", "F_z / g", (mass,)),
        PaperQuantity("m_w [kg]", "Eq. 18", (mass - feet.mass,)),
        PaperQuantity("r_w [m]", "Eq. 14, 16, 17", (r_w,)),
        PaperQuantity("l_w [m]", "Eq. 14, 16, 17", (l_w,)),
        PaperQuantity("Z₂ [m]", "Eq. 20, 19", z),
        PaperQuantity("X₂ [m]", "Eq. 14", x),
        PaperQuantity("Y₂ [m]", "Eq. 15", y),
    )


def _notes(robot: Robot, mass: float, missed: Array) -> tuple[str, ...]:
    return (
        "corrected as docs/errata.md says: motor torques M₂ are left out of Eq. 8–10 "
        "and 12, as they cancel within the robot; m₂ is with feet (Eq. 16–18)",
        "f of Eq. 19 is not printed: here it is the solution of Eq. 14, 16 and 17; Eq. "
        "20 takes the θ_t of pose B, as with θ_t = 0 it is 0/0; r_w and l_w are the "
        "same in both poses",
        f"m₂ is the measured weight; the model has {robot.mass:.3f} kg",
        f"given the model's own wrenches in these poses, the equations miss its centre "
        f"of mass by {1e3 * float(np.abs(missed).max()):.2f} mm: as far as the rows "
        "are not one body that turned",
        "the paper has no sensor offsets; least squares has them, and the model's "
        "masses and centres of mass as prior",
    )
