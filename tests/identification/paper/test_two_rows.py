"""Two balance poses of any robot give its total CoM, Eq. (4)–(20)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from identification.true_robots import TrueRobot, measure, random_truth

import equipoise as eq
from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.paper.two_rows import com_of_two_rows
from equipoise.identification.prior import default_prior, prior_belief
from equipoise.identification.statics import standing_frames, total_com


def leaning(robot: eq.Robot, joint: str, degrees: float) -> Array:
    """Return standing, and the same turned about a joint of both legs, (2, nq)."""
    q = np.tile(robot.standing, (2, 1))
    for side in ("left", "right"):
        name = next(name for name in robot.legs[side].joints if joint in name)
        q[1, robot.model.joints[robot.joint_id(name)].idx_q] -= np.deg2rad(degrees)
    return q


def as_modelled(robot: eq.Robot) -> TrueRobot:
    """Return a robot that is as its model says."""
    return TrueRobot(robot, prior_belief(robot, default_prior(robot)).mean)


@pytest.mark.parametrize("joint", ["ankle_pitch", "knee"])
def test_a_robot_as_modelled_comes_back(g1_urdf: Path, joint: str) -> None:
    """The CoM of G1 in both poses, whichever joints it leans about."""
    robot = eq.load(g1_urdf)
    q = leaning(robot, joint, -8.0)
    exact = measure(as_modelled(robot), q, np.random.default_rng(1), noisy=False)
    found = com_of_two_rows(exact)
    np.testing.assert_allclose(found.paper, found.model, atol=1e-9)
    np.testing.assert_allclose(found.method_error, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.least_squares, found.model, atol=1e-6)
    turn = next(own for own in found.quantities if own.name.startswith("θ_t"))
    assert abs(turn.values[0]) == pytest.approx(8.0, abs=1e-9)


def test_a_robot_unlike_its_model(mahru: eq.Robot) -> None:
    """With feet as modelled, and 3 % and 10 mm of errors elsewhere, it is exact."""
    rng = np.random.default_rng(2)
    model = as_modelled(mahru)
    values = np.array(random_truth(mahru, rng, offsets=False).values)
    for at, name in enumerate(standing_frames(mahru, mahru.standing[None]).link_names):
        if "foot" in name or "ankle" in name:
            values[4 * at : 4 * at + 4] = model.values[4 * at : 4 * at + 4]
    q = leaning(mahru, "ankle_pitch", 5.0)
    found = com_of_two_rows(measure(TrueRobot(mahru, values), q, rng, noisy=False))
    true = total_com(standing_frames(mahru, q), values)
    assert np.abs(found.model - true).max() > 2e-3
    # P is below the axis, the level frame between the soles
    shift = (found.paper - true)[0]
    np.testing.assert_allclose(shift[1:], 0.0, atol=1e-6)
    np.testing.assert_allclose(found.paper - true, np.tile(shift, (2, 1)), atol=1e-6)
    assert any("errata" in note for note in found.notes)


def test_other_motions_are_refused(mahru: eq.Robot) -> None:
    """One pose, no turn, and arms and knees that move as well."""
    rng = np.random.default_rng(3)
    truth = as_modelled(mahru)
    q = leaning(mahru, "ankle_pitch", 5.0)
    with pytest.raises(EquipoiseError, match=r"two poses, rows A and B.*has 1"):
        com_of_two_rows(measure(truth, q[:1], rng))
    with pytest.raises(EquipoiseError, match=r"leans by 0\.00° only"):
        com_of_two_rows(measure(truth, q[[0, 0]], rng))
    for joint in mahru.limbs["left_arm"].joints[:4]:
        q[1, mahru.model.joints[mahru.joint_id(joint)].idx_q] += 1.0
    with pytest.raises(EquipoiseError, match=r"not one body that leans.*'left_"):
        com_of_two_rows(measure(truth, q, rng))
