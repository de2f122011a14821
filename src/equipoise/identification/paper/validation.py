"""The validation of Section 4.2 of [Muscolo2017], and the same from the feet.

The virtual robot of Table 1 is a planar chain, read from its file. The paper's MATLAB
script gives the total CoM of each configuration as input and asks for l_b and l_c back.
Here that is done by its own formulas, by the closed form and by least squares; then
with foot sensors, as the paper describes but does not show, on the whole robot in three
dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.identification.paper.foot_wrenches import (
    Coefficients,
    Feet,
    FootWrench,
    coefficients,
    two_pose_com,
)
from equipoise.identification.paper.link_coms import (
    Chain,
    PlanarPoses,
    links_from_com,
    planar_determinant,
    planar_from_com,
    planar_from_feet,
    planar_right,
)
from equipoise.kinematics.com import com
from equipoise.kinematics.frames import frame_jacobian, frame_pose
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.inertias import Inertial
from equipoise.robot.load import load
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

ROBOT = "muscolo-biped"
ANKLES = ("right_ankle", "left_ankle")
# Points 0 and 1 of Table 1 of [Muscolo2017]: y = −200 mm and y = 200 mm.
FEET: tuple[Side, Side] = ("right", "left")
# Largest error of a recovered value [mm].
TOLERANCE = 1e-9
MM = 1e3
# Values of Table 1 of [Muscolo2017], which the script recovers [mm].
PRINTED = {"r_b": 0.0, "l_b": 200.0, "r_c": 0.0, "l_c": 250.0}


class PaperRobot(NamedTuple):
    """Table 1 in the terms of Section 3.2; lengths in metres.

    Attributes:
        script: Chain of the paper's script: one leg, the waist lumped with its thigh.
        both: Chain of the robot: both legs, the waist on both thighs.
        l_b: Height of the shin's CoM above the ankle [m].
        l_c: Height of the thigh's CoM above the knee [m].
        thighs: Mass of both thighs [kg].
        waist: Mass of the waist [kg].
        length_c: From knee to waist [m].
        theta_b: Lean in configuration b [rad].
        theta_c: Lean in configuration c [rad].
    """

    script: Chain
    both: Chain
    l_b: float
    l_c: float
    thighs: float
    waist: float
    length_c: float
    theta_b: float
    theta_c: float


def read_paper_robot(robot: Robot) -> PaperRobot:
    """Return the parameters of the catalogue's ``muscolo-biped``.

    Raises:
        EquipoiseError: If it is another robot.
    """
    if robot.name != ROBOT:
        raise EquipoiseError(
            f"the paper's validation is for {ROBOT}, not for {robot.name}"
        )
    foot, shin, thigh = (
        _inertial(robot, f"left_{part}") for part in ("foot", "shin", "thigh")
    )
    waist = _inertial(robot, "waist").mass
    above = robot.description.joint_by_name
    ankle_height = -float(robot.soles["left"].transform_sole_to_link[2, 3])
    length_b = -float(above["left_ankle"].transform_joint_to_parent[2, 3])
    length_c = -float(above["left_knee"].transform_joint_to_parent[2, 3])
    r_a, l_a = float(foot.com_in_link[0]), ankle_height + float(foot.com_in_link[2])
    return PaperRobot(
        script=Chain(
            Feet(foot.mass, r_a, l_a, ankle_height),
            np.array([shin.mass, thigh.mass + waist]),
            np.array([length_b]),
        ),
        both=Chain(
            Feet(2.0 * foot.mass, r_a, l_a, ankle_height),
            np.array([2.0 * shin.mass, 2.0 * thigh.mass + waist]),
            np.array([length_b]),
        ),
        l_b=length_b + float(shin.com_in_link[2]),
        l_c=length_c + float(thigh.com_in_link[2]),
        thighs=2.0 * thigh.mass,
        waist=waist,
        length_c=length_c,
        theta_b=-_angle(robot, "configuration_b", "left_ankle"),
        theta_c=-_angle(robot, "configuration_c", "left_knee"),
    )


def lean(robot: Robot, q: Array, turn: float, ankle_height: float) -> Array:
    """Return a configuration leaning further about the ankles by a turn [rad]."""
    leaning = np.array(q)
    about_y = pin.exp3(np.array([0.0, turn, 0.0]))
    ankle = np.array([0.0, 0.0, ankle_height])
    turned = pin.SE3(about_y, ankle - about_y @ ankle)
    leaning[:7] = pin.SE3ToXYZQUAT(turned * pin.XYZQUATToSE3(leaning[:7]))
    for name in ANKLES:
        leaning[robot.model.joints[robot.joint_id(name)].idx_q] -= turn
    return leaning


def _inertial(robot: Robot, link: str) -> Inertial:
    inertial = robot.description.link_by_name[link].inertial
    if inertial is None:
        raise EquipoiseError(f"{robot.name}: link '{link}' has no mass")
    return inertial


def _angle(robot: Robot, posture: str, joint: str) -> float:
    at = robot.model.joints[robot.joint_id(joint)].idx_q
    return float(robot.posture(posture)[at])


class StandingStatics(NamedTuple):
    """A robot at rest on both feet.

    Attributes:
        foot_0: Wrench on the right foot, world axes, at the sole's origin.
        foot_1: Wrench on the left foot.
        torques: Torques that hold the joints [Nm], by name of coordinate in Pinocchio's
            order; on the child link, about the joint's axis.
    """

    foot_0: FootWrench
    foot_1: FootWrench
    torques: Mapping[str, float]


def standing_statics(
    robot: Robot, q: ArrayLike, internal: ArrayLike | None = None
) -> StandingStatics:
    """Return wrenches and torques that hold a robot still.

    Two feet can push against each other: of all wrenches that carry the weight, the
    least (N and Nm counted alike) is taken, plus ``internal``. Whether the ground can
    give them is not checked.

    Args:
        robot: The robot; its joints have one degree of freedom each.
        q: Configuration, shape (nq,).
        internal: Force and torque of foot 0, then of foot 1 [N, Nm], shape (12,). Only
            the part that the feet can apply to each other is used.

    Raises:
        ShapeError: If ``q`` or ``internal`` has another shape.
    """
    q = robot.check_q(q)
    if q.ndim != 1:
        raise ShapeError(f"q must be one configuration, it has shape {q.shape}")
    push = np.zeros(12) if internal is None else np.asarray(internal, dtype=np.float64)
    if push.shape != (12,) or not np.isfinite(push).all():
        raise ShapeError(f"internal must be 12 finite numbers, not {push.shape}")
    places = [sole_pose(robot, q, side)[:3, 3] for side in FEET]
    jacobian = np.vstack(
        [
            sole_jacobian(robot, q, side, at)
            for side, at in zip(FEET, places, strict=True)
        ]
    )
    gravity = np.array(pin.computeGeneralizedGravity(robot.model, robot.data, q))
    on_base = jacobian[:, :6].T
    wrench = push + np.linalg.pinv(on_base) @ (gravity[:6] - on_base @ push)
    torque = (gravity - jacobian.T @ wrench)[6:]
    names = [str(name) for name in robot.model.names][2:]
    return StandingStatics(
        FootWrench(places[0], wrench[0:3], wrench[3:6]),
        FootWrench(places[1], wrench[6:9], wrench[9:12]),
        dict(zip(names, torque.tolist(), strict=True)),
    )


def sole_jacobian(robot: Robot, q: Array, side: Side, at: Array) -> Array:
    """Return the Jacobian of a sole's origin, linear first, world axes, (6, nv)."""
    link = robot.soles[side].link
    jacobian: Array = np.array(frame_jacobian(robot, q, link), np.float64)
    arm = at - frame_pose(robot, q, link)[:3, 3]
    jacobian[:3] += np.cross(jacobian[3:].T, arm).T
    return jacobian


class PaperRow(NamedTuple):
    """One quantity.

    Attributes:
        way: How it was found: ``script``, ``closed form``, ``least squares`` or
            ``feet``.
        quantity: Name in the paper's letters, with its unit.
        paper: The paper's value; None where it prints none.
        ours: The value found here.
    """

    way: str
    quantity: str
    paper: float | None
    ours: float

    @property
    def error(self) -> float | None:
        """Ours less the paper's, in the same unit, or None."""
        return None if self.paper is None else self.ours - self.paper


@dataclass(frozen=True, eq=False)
class PaperResult:
    """Results of the validation.

    Attributes:
        rows: One for each way and quantity.
        notes: What differs from the paper, in sentences.
    """

    rows: tuple[PaperRow, ...]
    notes: tuple[str, ...]

    @property
    def achieved(self) -> bool:
        """Whether every way recovers r_b, l_b, r_c and l_c to 1e-9 mm."""
        errors = [row.error for row in self.rows if row.error is not None]
        return all(abs(error) <= TOLERANCE for error in errors)


def paper_validation(robot: Robot | None = None) -> PaperResult:
    """Recover l_b = 200 mm and l_c = 250 mm in every way.

    Args:
        robot: The catalogue's ``muscolo-biped``; loaded unless given.

    Raises:
        EquipoiseError: If it is another robot.
    """
    robot = robot or load(ROBOT)
    paper = read_paper_robot(robot)
    from_feet, notes = _from_feet(robot, paper)
    return PaperResult((*_a_priori(paper), *from_feet), notes)


def _a_priori(paper: PaperRobot) -> list[PaperRow]:
    """Return the results of the script and of our solvers: one leg, no sensors."""
    chain, theta_b, theta_c = paper.script, paper.theta_b, paper.theta_c
    m_b, m_c = chain.masses
    angles = np.array([[0.0, 0.0], [theta_b, theta_b], [0.0, theta_c]])
    # INPUT CONDITION FOR VALIDATION: r = 0 and l_b, l_c of Table 1.
    total = chain.com(angles, [0.0, 0.0], [paper.l_b, paper.l_c])
    c_b, c_c = np.cos(theta_b), np.cos(theta_c)
    # Eq. (35) and (37) for r_b = r_c = 0: the script's B, C and det_A.
    _, b, _, c = planar_right(chain, theta_b, total[1], total[2])
    det = m_b * m_c * c_b * (c_c - 1.0)
    closed = planar_from_com(chain, theta_b, theta_c, total[1], total[2])
    squares = links_from_com(chain, angles, total)
    det_a = planar_determinant(chain, theta_c)
    l_b, l_c = m_c * (b * c_c - c * c_b) / det, m_b * (c * c_b - b) / det
    return [
        PaperRow("script", "det_A [kg²]", None, float(det)),
        PaperRow("script", "l_b [mm]", PRINTED["l_b"], MM * float(l_b)),
        PaperRow("script", "l_c [mm]", PRINTED["l_c"], MM * float(l_c)),
        PaperRow("closed form", "det A [kg⁴]", None, det_a),
        *_links("closed form", closed),
        *_links("least squares", np.stack([squares.r, squares.l], 1).ravel()),
    ]


def _links(way: str, places: Any) -> list[PaperRow]:
    """Return rows of r_b, l_b, r_c, l_c [m] beside Table 1."""
    return [
        PaperRow(way, f"{name} [mm]", printed, MM * float(place))
        for (name, printed), place in zip(PRINTED.items(), places, strict=True)
    ]


def _from_feet(
    robot: Robot, paper: PaperRobot
) -> tuple[list[PaperRow], tuple[str, ...]]:
    """Return the results from foot sensors, both legs, and differences to the paper."""
    chain, turn = paper.both, paper.theta_b
    names = ("standing", "configuration_b", "configuration_c")
    a, b, c = (robot.posture(name) for name in names)
    d = lean(robot, c, turn, chain.feet.ankle_height)
    still = [standing_statics(robot, q) for q in (a, b, c, d)]
    lines = [coefficients(pose.foot_0, pose.foot_1) for pose in still]
    poses = PlanarPoses(*lines)
    found = planar_from_feet(chain, turn, paper.theta_c, turn, poses)
    # Link c is both thighs and the waist, which is where Table 1 has it.
    heavy, rigid = paper.thighs + paper.waist, paper.waist * paper.length_c
    thigh = found._replace(
        r_c=found.r_c * heavy / paper.thighs,
        l_c=(found.l_c * heavy - rigid) / paper.thighs,
    )
    rows = [
        PaperRow("feet", "l_c of thighs and waist [mm]", None, MM * found.l_c),
        *_links("feet", thigh),
    ]
    added = [0.0, sum(still[1].torques.values()), 0.0]  # M₂ of Eq. (3)
    shifted = coefficients(still[1].foot_0, still[1].foot_1, added)
    return rows, _notes(robot, paper, poses, shifted)


def _notes(
    robot: Robot, paper: PaperRobot, poses: PlanarPoses, shifted: Coefficients
) -> tuple[str, ...]:
    feet, mass = paper.both.feet, paper.both.mass
    rigid = two_pose_com(poses.a, poses.c, paper.theta_c, feet, mass).com_b[2]
    height = float(com(robot, robot.posture("configuration_c"))[2])
    lumped = float(
        (paper.l_c * paper.thighs / 2.0 + paper.length_c * paper.waist)
        / (paper.thighs / 2.0 + paper.waist)
    )
    return (
        "the script takes one leg and puts the waist at the thigh's centre of mass; by "
        f"Table 1 both have theirs {MM * lumped:.1f} mm above the knee, not "
        f"{MM * paper.l_c:.0f} mm",
        "the script assumes r_b = r_c = 0 and uses heights only; closed form and least "
        "squares assume neither",
        "from the feet, two links need four poses, not the three of Eq. 21: Eq. 29 "
        "takes configuration c for the upright robot turned about its ankles, and puts "
        f"its centre of mass at {MM * rigid:.1f} mm instead of {MM * height:.1f} mm. "
        "The fourth pose is c, turned about the ankles",
        "motor torques (Eq. 3) are left out of Eq. 10 and 12: they cancel inside the "
        f"robot. With them X of configuration b, {MM * poses.b.alpha:.1f} mm, would be "
        f"off by {MM * abs(shifted.alpha - poses.b.alpha):.1f} mm",
    )
