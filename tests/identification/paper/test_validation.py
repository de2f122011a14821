from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.identification.paper.link_coms import planar_matrix
from equipoise.identification.paper.validation import (
    PaperResult,
    PaperRow,
    lean,
    paper_validation,
    read_paper_robot,
)
from equipoise.kinematics.stance import sole_pose


@pytest.fixture(scope="module")
def done() -> PaperResult:
    """The validation, once."""
    return paper_validation()


def value(done: PaperResult, way: str, quantity: str) -> float:
    """Return one value of the table."""
    row = next(r for r in done.rows if (r.way, r.quantity) == (way, quantity))
    return row.ours


@pytest.mark.parametrize("way", ["script", "closed form", "least squares", "feet"])
def test_links_are_recovered_to_a_billionth_of_a_millimetre(
    done: PaperResult, way: str
) -> None:
    """l_b = 200 mm and l_c = 250 mm, by every way."""
    assert value(done, way, "l_b [mm]") == pytest.approx(200.0, abs=1e-9)
    assert value(done, way, "l_c [mm]") == pytest.approx(250.0, abs=1e-9)
    assert done.achieved


def test_script_line_by_line(done: PaperResult) -> None:
    """The paper's MATLAB in millimetres, mu being ma, gives the same values."""
    thb = thc = 10 * np.pi / 180
    ma, mb, mc = 6.72, 0.95, 1.16 + 0.94
    mw = mb + mc
    m2 = ma + mw
    la, La, Lb, lb, lc = 26.32, 100, 400, 200, 250
    z2b = ma * la + mb * (La + lb * np.cos(thb)) + mc * (La + (Lb + lc) * np.cos(thb))
    z2c = ma * la + mb * (La + lb) + mc * (La + Lb + lc * np.cos(thc))
    lwb = (z2b / m2 * m2 - ma * la) / mw - La
    lwc = (z2c / m2 * m2 - ma * la) / mw - La
    b = mw * (lwb + La) - mb * La - mc * Lb * np.cos(thb) - mc * La
    c = mw * (lwc + La) - mb * La - mc * (La + Lb)
    det = mb * mc * np.cos(thb) * (np.cos(thc) - 1)

    assert value(done, "script", "det_A [kg²]") == pytest.approx(det, rel=1e-12)
    # It is that of Eq. (35) and (37) without r_b and r_c, not that of Eq. (38).
    whole = planar_matrix(read_paper_robot(eq.load("muscolo-biped")).script, thb, thc)
    assert det == pytest.approx(np.linalg.det(whole[1::2, 1::2]), rel=1e-12)
    assert value(done, "closed form", "det A [kg⁴]") == pytest.approx(
        np.linalg.det(whole), rel=1e-9
    )
    l_b = mc * (b * np.cos(thc) - c * np.cos(thb)) / det
    assert value(done, "script", "l_b [mm]") == pytest.approx(l_b, abs=1e-9)
    l_c = mb * (c * np.cos(thb) - b) / det
    assert value(done, "script", "l_c [mm]") == pytest.approx(l_c, abs=1e-9)


def test_chain_of_both_legs_is_the_robot() -> None:
    """Its mass and CoM are Pinocchio's in configurations a, b, c and c turned."""
    robot = eq.load("muscolo-biped")
    paper = read_paper_robot(robot)
    heavy = paper.thighs + paper.waist
    l_c = (paper.thighs * paper.l_c + paper.waist * paper.length_c) / heavy
    b, c = paper.theta_b, paper.theta_c
    poses = [robot.posture(n) for n in ("standing", "configuration_b")]
    upper = robot.posture("configuration_c")
    poses += [upper, lean(robot, upper, 0.2, 0.1)]
    angles = [[0.0, 0.0], [b, b], [0.0, c], [0.2, c + 0.2]]

    flat = paper.both.com(angles, [0.0, 0.0], [paper.l_b, l_c])

    whole = [pin.centerOfMass(robot.model, robot.data, q)[[0, 2]] for q in poses]
    np.testing.assert_allclose(flat, whole, atol=1e-12)
    assert paper.both.mass == pytest.approx(robot.mass, rel=1e-14)
    assert paper.script.mass == pytest.approx(6.72 + 0.95 + 1.16 + 0.94)


def test_turned_pose_keeps_the_feet_flat() -> None:
    """The fourth pose is configuration c turned; soles stay where they are."""
    robot = eq.load("muscolo-biped")
    q = lean(robot, robot.posture("configuration_c"), 0.2, 0.1)
    for side, y in (("left", 0.2), ("right", -0.2)):
        pose = sole_pose(robot, q, side)
        np.testing.assert_allclose(pose[:3, :3], np.eye(3), atol=1e-12)
        np.testing.assert_allclose(pose[:3, 3], [0.0, y, 0.0], atol=1e-12)


def test_waist_is_told_from_the_thighs(done: PaperResult) -> None:
    """Thighs and waist together: (2·1.16·250 + 0.94·500)/3.26 mm above the knee."""
    found = value(done, "feet", "l_c of thighs and waist [mm]")

    assert found == pytest.approx((2 * 1.16 * 250 + 0.94 * 500) / 3.26, abs=1e-9)


def test_notes_say_what_is_not_as_printed(done: PaperResult) -> None:
    """Waist, r = 0, Eq. 29 and motor torques, each with its values."""
    text = "\n".join(done.notes)

    for words in (
        "361.9 mm",
        "r_b = r_c = 0",
        "102.4 mm instead of 192.9 mm",
        "35.3 mm",
    ):
        assert words in text


def test_a_miss_is_not_achieved(done: PaperResult) -> None:
    """A nanometre's thousandth off is a miss."""
    off = PaperRow("feet", "l_b [mm]", 200.0, 200.0 + 1e-8)

    assert not PaperResult((*done.rows, off), done.notes).achieved


def test_other_robots_are_refused() -> None:
    """The message names the one it is for."""
    with pytest.raises(EquipoiseError, match="muscolo-biped, not for three-link"):
        paper_validation(eq.load("three-link"))
