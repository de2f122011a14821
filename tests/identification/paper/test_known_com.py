"""Links' CoMs from total CoMs that are known a priori, in three dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from identification.true_robots import random_poses

import equipoise as eq
from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.paper.known_com import KnownComs, links_from_known_com
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.inertias import Inertial

# One standard deviation of a link's CoM [m].
OFF = 0.008


@pytest.fixture(scope="module")
def truth(mahru: eq.Robot) -> eq.Robot:
    """Mahru I with its links' CoMs elsewhere, the feet's where they are."""
    rng = np.random.default_rng(61)
    moved = {}
    for link in mahru.description.links:
        own = link.inertial
        if own is not None and own.mass > 0.0 and "foot" not in link.name:
            com = own.com_in_link + OFF * rng.standard_normal(3)
            moved[link.name] = Inertial(own.mass, com, own.inertia_in_link)
    return mahru.with_inertials(moved)


@pytest.fixture(scope="module")
def poses(mahru: eq.Robot) -> Array:
    """Poses to learn from and to predict."""
    return random_poses(mahru, 90, np.random.default_rng(62))


def in_sole(robot: eq.Robot, q: Array) -> Array:
    """Return the CoM seen from the left sole [m], shape (n, 3)."""
    pose = np.linalg.inv(sole_pose(robot, q, "left"))
    centre = np.array([eq.com(robot, row) for row in q])
    return np.einsum("nij,nj->ni", pose[:, :3, :3], centre) + pose[:, :3, 3]


def test_exact_coms_give_the_com_of_new_poses(
    mahru: eq.Robot, truth: eq.Robot, poses: Array
) -> None:
    """From sixty poses, in others to a micrometre."""
    known = KnownComs(poses[:60], in_sole(truth, poses[:60]), None, ())
    found = links_from_known_com(mahru, known)
    new = poses[60:]
    before = np.abs(in_sole(mahru, new) - in_sole(truth, new)).max()
    after = np.abs(in_sole(found.robot, new) - in_sole(truth, new)).max()
    assert before > 1e-3
    assert after < 1e-6
    assert found.improved
    assert found.rank < found.unknowns
    determined = 0
    for own in found.links:
        inertial = truth.description.link_by_name[own.link].inertial
        assert inertial is not None
        for axis in range(3):
            if own.determined[axis]:
                determined += 1
                off = abs(own.com[axis] - inertial.com_in_link[axis])
                assert off < 2.0 * own.com_95[axis] + 1e-6
    assert determined > 10
    # masses stay: they are known, as in the paper
    assert found.robot.mass == pytest.approx(mahru.mass)


def test_coms_with_errors(mahru: eq.Robot, truth: eq.Robot, poses: Array) -> None:
    """Errors of 1 mm are recognised as such, and new poses are still better."""
    rng = np.random.default_rng(63)
    given = in_sole(truth, poses[:60])
    given = given + 1e-3 * rng.standard_normal(given.shape)
    found = links_from_known_com(mahru, KnownComs(poses[:60], given, None, ()))
    assert 0.7e-3 < found.com_std < 1.4e-3
    new = poses[60:]
    before, after = (
        np.sqrt(np.mean((in_sole(robot, new) - in_sole(truth, new)) ** 2))
        for robot in (mahru, found.robot)
    )
    assert after < 0.5 * before
    assert found.rms[1] < found.rms[0]


def test_any_frame_will_do(mahru: eq.Robot, truth: eq.Robot, poses: Array) -> None:
    """The CoM given in the base's frame gives the same links."""
    q = poses[:20]
    base = mahru.description.root
    pose = np.linalg.inv(eq.frame_pose(mahru, q, base))
    centre = np.array([eq.com(truth, row) for row in q])
    given = np.einsum("nij,nj->ni", pose[:, :3, :3], centre) + pose[:, :3, 3]
    one = links_from_known_com(mahru, KnownComs(q, given, base, ()))
    other = links_from_known_com(mahru, KnownComs(q, in_sole(truth, q), None, ()))
    # feet move against the base, and their CoMs are known: both know the rest
    for own, same in zip(one.links, other.links, strict=True):
        np.testing.assert_allclose(own.com, same.com, atol=1e-4)


def test_what_cannot_be_is_refused(mahru: eq.Robot, poses: Array) -> None:
    """One pose, and a CoM in millimetres."""
    given = in_sole(mahru, poses[:3])
    with pytest.raises(EquipoiseError, match="1 pose is too few"):
        links_from_known_com(mahru, KnownComs(poses[:1], given[:1], None, ()))
    with pytest.raises(EquipoiseError, match="is it in metres"):
        links_from_known_com(mahru, KnownComs(poses[:3], 1e3 * given, None, ()))
