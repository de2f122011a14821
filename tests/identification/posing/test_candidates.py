from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bipeds import Biped
from scipy.spatial.transform import Rotation

import equipoise as eq
from equipoise.identification.posing import sole_legs
from equipoise.identification.posing.candidates import default_margin, pose_candidates
from equipoise.identification.posing.design import foot_placement
from equipoise.identification.posing.foot_placements import foot_placements
from equipoise.identification.posing.pose_limits import joint_ranges
from equipoise.identification.posing.sole_legs import SoleLegs
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import polygon_margin

SIDES = ("left", "right")


def check_poses(robot: eq.Robot, q: np.ndarray, margin: float) -> None:
    """Check by Pinocchio what makes a pose one that can be measured."""
    assert np.isfinite(q).all()
    for side in SIDES:
        soles = sole_pose(robot, q, side)
        np.testing.assert_allclose(soles[:, :3, 2], [[0, 0, 1]] * len(q), atol=1e-9)
        np.testing.assert_allclose(soles[:, 2, 3], 0.0, atol=1e-9)
    centres = eq.com(robot, q)
    for polygon, centre in zip(eq.support_polygon(robot, q), centres, strict=True):
        assert polygon_margin(polygon, centre[:2]) >= margin - 1e-8
    left, right = (sole_pose(robot, q, side)[:, :2, 3] for side in SIDES)
    way = left - right
    fraction = np.sum((centres[:, :2] - right) * way, axis=1) / np.sum(way**2, axis=1)
    within = 0.05 + margin / np.linalg.norm(way, axis=1) - 1e-8
    assert np.all((fraction >= within) & (fraction <= 1.0 - within)), (
        "a foot has no load"
    )
    for joint in list(robot.model.joints)[2:]:
        if joint.nq == 1:
            low = robot.model.lowerPositionLimit[joint.idx_q]
            high = robot.model.upperPositionLimit[joint.idx_q]
            assert np.all((q[:, joint.idx_q] >= low) & (q[:, joint.idx_q] <= high))


@pytest.mark.parametrize("name", ["mahru-1", "humanoid", "itu-biped", "muscolo-biped"])
def test_poses_are_balanced_within_limits_and_flat(name: str) -> None:
    """Soles are level, the CoM is inside by the margin, joints are within limits."""
    robot = eq.load(name)
    q = pose_candidates(robot, 60, 3, margin=0.02)
    assert q.shape == (60, robot.nq)
    check_poses(robot, q, 0.02)
    for side in SIDES:
        placed = sole_pose(robot, q, side)
        np.testing.assert_allclose(placed, np.tile(placed[:1], (60, 1, 1)), atol=1e-8)


@pytest.mark.parametrize("which", ["g1_urdf", "icub_urdf"])
def test_real_humanoids_have_poses(which: str, request: pytest.FixtureRequest) -> None:
    """Straight legs at rest and narrow limits leave poses enough."""
    robot = eq.load(request.getfixturevalue(which))
    q = pose_candidates(robot, 60)
    assert len(q) == 60
    check_poses(robot, q, 0.005)


def test_poses_are_varied() -> None:
    """The torso turns, the CoM moves and arms swing."""
    robot = eq.load("mahru-1")
    q = pose_candidates(robot, 200)
    assert np.ptp(eq.com(robot, q), axis=0).min() > 0.08
    lower, upper = joint_ranges(robot)
    moved = upper > lower
    assert moved.sum() >= 24
    fraction = np.ptp(q, axis=0)[moved] / (upper - lower)[moved]
    assert np.median(fraction) > 0.6


def test_feet_stand_elsewhere_when_asked() -> None:
    """Equally many poses in each of three placements; all are balanced."""
    robot = eq.load("mahru-1")
    q = pose_candidates(robot, 30, stances=3)
    np.testing.assert_array_equal(foot_placement(robot, q), np.repeat([0, 1, 2], 10))
    check_poses(robot, q, 0.005)


def test_same_seed_same_poses() -> None:
    """The seed decides."""
    robot = eq.load("itu-biped")
    one, same, other = (pose_candidates(robot, 20, seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 0.01


def test_margin_grows_with_the_prior_deviation() -> None:
    """In proportion, beside a fraction of the soles, up to half-way to the middle."""
    from dataclasses import replace

    from equipoise.identification.prior import default_prior

    robot = eq.load("humanoid")
    polygon = eq.support_polygon(robot, robot.standing)
    prior = default_prior(robot)
    margins = [
        default_margin(
            robot,
            polygon,
            replace(prior, com_std=0.008 * scale, mass_std_fraction=0.05 * scale),
        )
        for scale in (0.1, 1.0, 1.9, 300.0)
    ]
    assert margins[1] > 1.5 * margins[0]
    assert margins[2] - margins[1] == pytest.approx(margins[1] - margins[0])
    middle = polygon_margin(polygon, polygon.mean(axis=0))
    assert margins[3] == pytest.approx(0.5 * middle)


def test_what_cannot_be_is_said() -> None:
    """Point feet, wide margins, legs that cannot step: one line each."""
    with pytest.raises(eq.EquipoiseError, match="points or a line"):
        pose_candidates(eq.load("three-link"), 5)
    with pytest.raises(eq.EquipoiseError, match="margin of 900 mm is not possible"):
        pose_candidates(eq.load("mahru-1"), 5, margin=0.9)
    with pytest.raises(eq.EquipoiseError, match="only 1 of 2 placements"):
        pose_candidates(eq.load("muscolo-biped"), 5, stances=2)
    with pytest.raises(eq.EquipoiseError, match="both must be ≥ 1"):
        pose_candidates(eq.load("mahru-1"), 0)


def test_arms_are_not_asked_for_more_than_they_hold(talos_urdf) -> None:
    """TALOS's arms cannot be held out in every direction; Pinocchio says which."""
    import pinocchio as pin

    from equipoise.identification.posing.pose_limits import holdable, torque_bounds

    robot = eq.load(talos_urdf)
    q = pose_candidates(robot, 40, 5)
    torques = np.array(
        [
            pin.rnea(robot.model, robot.data, row, np.zeros(robot.nv), 0 * row[1:])
            for row in q
        ]
    )
    arms = [j for j in robot.description.joints if j.name.startswith("arm_")]
    for joint in arms:
        if robot.model.existJointName(joint.name):
            at = robot.model.joints[robot.model.getJointId(joint.name)].idx_v
            assert np.abs(torques[:, at]).max() <= 0.7 * joint.effort_limit
    bounds = torque_bounds(robot)
    assert np.isfinite(bounds).any()
    assert np.isinf(bounds).any()
    assert not holdable(robot, q, 1e-3 * bounds).any()


PITCH_ONLY = ("hip_yaw", "hip_roll", "ankle_roll")


@pytest.mark.parametrize(
    "fixed",
    [
        ("ankle_roll",),
        ("hip_yaw",),
        ("hip_yaw", "ankle_roll"),
        ("hip_yaw", "knee"),
        PITCH_ONLY,
        (*PITCH_ONLY, "knee"),
    ],
    ids=lambda fixed: f"{6 - len(fixed)} joints, no {fixed[0]}",
)
def test_legs_of_few_joints_have_upright_poses(
    fixed: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flat soles, balanced, upright; the search finds most of what it draws."""
    robot = few_joints(tmp_path, fixed)
    drawn = count_draws(monkeypatch)
    q = pose_candidates(robot, 150, 1)
    assert q.shape == (150, robot.nq)
    check_poses(robot, q, 0.005)
    rotation = Rotation.from_quat(q[:, 3:7]).as_matrix()
    assert rotation[:, 2, 2].min() >= np.cos(1.0)
    assert np.ptp(Rotation.from_quat(q[:, 3:7]).as_euler("xyz")[:, 1]) > 0.5
    assert np.ptp(eq.com(robot, q)[:, 0]) > 0.1
    assert sum(drawn) <= 4 * len(q)


def test_few_joints_are_solved_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kinematics are asked for whole stacks of postures, not for one at a time."""
    robot = few_joints(tmp_path, ("ankle_roll",))
    rows: list[int] = []
    jacobian = sole_legs.frame_jacobian

    def counted(robot: eq.Robot, q: np.ndarray, frame: str) -> np.ndarray:
        rows.append(len(q))
        return jacobian(robot, q, frame)

    monkeypatch.setattr(sole_legs, "frame_jacobian", counted)
    drawn = count_draws(monkeypatch)
    pose_candidates(robot, 100)
    steps = sole_legs.STEPS_TOGETHER + sole_legs.MOST_STEPS
    assert len(rows) <= 2 * steps * len(drawn)
    assert max(rows) == drawn[0] > 100


def test_few_joints_bring_the_com_where_it_is_wanted(tmp_path: Path) -> None:
    """It follows the point asked for, as far as five joints a leg let it."""
    robot = few_joints(tmp_path, ("hip_yaw",))
    legs = SoleLegs(robot)
    rng = np.random.default_rng(4)
    place = foot_placements(robot, legs, 1, rng)[0]
    middle = place.polygon.mean(axis=0)
    postures = rng.uniform(*joint_ranges(robot), (64, robot.nq))
    for fraction in (-0.5, 0.0, 0.5):
        point = middle + fraction * (place.polygon[0] - middle)
        q = legs.draw(place, np.tile(point, (64, 1)), postures, rng)
        assert len(q) > 56
        distance = np.linalg.norm(eq.com(robot, q)[:, :2] - point, axis=1)
        assert np.median(distance) < 0.02


def test_search_in_vain_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is found, draws are few, and progress has gone on with them."""
    robot = few_joints(tmp_path, PITCH_ONLY)
    told: list[float] = []
    monkeypatch.setattr(
        SoleLegs, "draw", lambda self, *drawn: np.zeros((0, self.robot.nq))
    )
    with pytest.raises(eq.EquipoiseError, match="none of 10240 poses drawn"):
        pose_candidates(robot, 2000, progress=told.append)
    assert 0.0 < told[0] < told[-1] < 2000
    assert np.all(np.diff(told) > 0.0)


def few_joints(folder: Path, fixed: tuple[str, ...]) -> eq.Robot:
    """Return a biped some of whose leg joints do not move."""
    path = folder / "few.urdf"
    path.write_text(Biped(fixed=fixed).urdf(), encoding="utf-8")
    return eq.load(path)


def count_draws(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that the numbers of postures drawn are appended to."""
    drawn: list[int] = []
    draw = SoleLegs.draw

    def counted(legs, place, inner, postures, rng):
        drawn.append(len(postures))
        return draw(legs, place, inner, postures, rng)

    monkeypatch.setattr(SoleLegs, "draw", counted)
    return drawn
