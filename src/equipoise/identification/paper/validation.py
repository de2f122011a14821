"""The validation of Section 4.2 of [Muscolo2017], and the same from the feet.

The paper's MATLAB script gives the total CoM of each configuration as input and asks
for l_b and l_c back. Here that is done by its own formulas, by the closed form and by
least squares; then with foot sensors, as the paper describes but does not show, on the
whole robot in three dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.identification.paper.chain import remaining_com
from equipoise.identification.paper.coefficients import (
    Coefficients,
    coefficients,
    internal_torque,
)
from equipoise.identification.paper.links import links_from_com
from equipoise.identification.paper.muscolo_biped import (
    ROBOT,
    PaperRobot,
    lean,
    read_paper_robot,
)
from equipoise.identification.paper.planar import (
    PlanarPoses,
    planar_determinant,
    planar_from_com,
    planar_from_feet,
)
from equipoise.identification.paper.standing_statics import standing_statics
from equipoise.identification.paper.two_poses import two_pose_com
from equipoise.kinematics.com import com
from equipoise.robot.load import load
from equipoise.robot.model import Robot

# What "recovered" means [mm].
TOLERANCE = 1e-9
MM = 1e3


class Printed(NamedTuple):
    """What Table 1 of [Muscolo2017] has, and the script recovers [mm]."""

    r_b: float = 0.0
    l_b: float = 200.0
    r_c: float = 0.0
    l_c: float = 250.0


class PaperRow(NamedTuple):
    """One quantity.

    Attributes:
        way: How it was found: ``script``, ``closed form``, ``least squares`` or
            ``feet``.
        quantity: In the paper's letters, with its unit.
        paper: The paper's value; None where it prints none.
        ours: What came out.
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
    """The validation, done.

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

    @property
    def summary(self) -> dict[str, Any]:
        """All of it as plain figures, by way and quantity."""
        table: dict[str, Any] = {"achieved": self.achieved, "notes": list(self.notes)}
        for row in self.rows:
            figures = {"paper": row.paper, "ours": row.ours, "error": row.error}
            table.setdefault(row.way, {})[row.quantity] = figures
        return table


def paper_validation(robot: Robot | None = None) -> PaperResult:
    """Recover l_b = 200 mm and l_c = 250 mm in every way.

    Args:
        robot: The catalogue's ``muscolo-biped``; loaded unless given.

    Raises:
        EquipoiseError: If it is another robot.
    """
    robot = robot or load(ROBOT)
    figures = read_paper_robot(robot)
    from_feet, notes = _from_feet(robot, figures)
    return PaperResult((*_a_priori(figures), *from_feet), notes)


def _a_priori(paper: PaperRobot) -> list[PaperRow]:
    """Return what the script does, and the same by our solvers: one leg, no sensors."""
    chain, theta_b, theta_c = paper.script, paper.theta_b, paper.theta_c
    m_b, m_c = chain.masses
    angles = np.array([[0.0, 0.0], [theta_b, theta_b], [0.0, theta_c]])
    # INPUT CONDITION FOR VALIDATION: r = 0 and l_b, l_c of Table 1.
    total = chain.com(angles, [0.0, 0.0], [paper.l_b, paper.l_c])
    l_a, length = chain.feet.ankle_height, float(chain.lengths[0])
    c_b, c_c = np.cos(theta_b), np.cos(theta_c)
    moment_b, moment_c = (
        chain.carried * (remaining_com(chain.feet, chain.mass, place).l + l_a)
        for place in total[1:]
    )
    # Eq. (35) and (37) for r_b = r_c = 0: the script's B, C and det_A.
    b = moment_b - m_b * l_a - m_c * length * c_b - m_c * l_a
    c = moment_c - m_b * l_a - m_c * (l_a + length)
    det = m_b * m_c * c_b * (c_c - 1.0)
    closed = planar_from_com(chain, theta_b, theta_c, total[1], total[2])
    squares = links_from_com(chain, angles, total)
    det_a = planar_determinant(chain, theta_c)
    l_b, l_c = m_c * (b * c_c - c * c_b) / det, m_b * (c * c_b - b) / det
    return [
        PaperRow("script", "det_A [kg²]", None, float(det)),
        PaperRow("script", "l_b [mm]", Printed().l_b, MM * float(l_b)),
        PaperRow("script", "l_c [mm]", Printed().l_c, MM * float(l_c)),
        PaperRow("closed form", "det A [kg⁴]", None, det_a),
        *_links("closed form", closed),
        *_links("least squares", np.stack([squares.r, squares.l], 1).ravel()),
    ]


def _links(way: str, places: Any) -> list[PaperRow]:
    """Return rows of r_b, l_b, r_c, l_c [m] beside Table 1."""
    return [
        PaperRow(way, f"{name} [mm]", printed, MM * float(place))
        for (name, printed), place in zip(
            Printed()._asdict().items(), places, strict=True
        )
    ]


def _from_feet(
    robot: Robot, paper: PaperRobot
) -> tuple[list[PaperRow], tuple[str, ...]]:
    """Return what foot sensors say, both legs, and what is not as the paper has it."""
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
    added = internal_torque(pitch=still[1].torques.values())
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
