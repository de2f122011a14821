from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from bipeds import Biped

import equipoise as eq
from equipoise.arrays import Array
from equipoise.control.embedded_motion import (
    Embedded,
    com_velocity_by_base,
    resolve,
)
from equipoise.control.limbs_on_body import (
    LimbAt,
    body_at,
    body_twist,
    com_velocity,
    compatibility_gap,
    cross_matrix,
    damped_inverse,
    limb_inverse,
    limb_rates,
    limb_to_body,
    limb_to_limb,
    limb_twist,
)
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.kinematics.limb_com import limb_com_jacobian
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import degree_of

ROBOTS = ["mahru-1", "humanoid"]
LEGS = {"left": "left_leg", "right": "right_leg"}


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> eq.Robot:
    """Robots with legs on the base; one has a waist and arms of seven joints."""
    return eq.load(request.param)


def bent(robot: eq.Robot, seed: int) -> Array:
    """Return a random configuration near standing, arms bent, anywhere."""
    rng = np.random.default_rng(seed)
    v = rng.uniform(-0.25, 0.25, robot.nv)
    v[:6] = rng.uniform(-1.0, 1.0, 6)
    for side in LEGS:  # away from where arms are singular
        for name, turn in (("elbow", 1.2), ("shoulder_roll", 0.4), ("wrist_yaw", 1.0)):
            v[6 + degree_of(robot, f"{side}_{name}")] += turn
    q = pin.integrate(robot.model, robot.standing, v)
    return np.asarray(q)


def random_velocity(robot: eq.Robot, seed: int) -> Array:
    """Return a random velocity of base and joints."""
    return np.random.default_rng(seed).uniform(-1.0, 1.0, robot.nv)


def sole_twist(robot: eq.Robot, q: Array, side: str, v: Array) -> Array:
    """Return the twist of a sole by Pinocchio, in world axes."""
    return np.asarray(eq.frame_jacobian(robot, q, f"{side[0]}_sole") @ v)


def parts(robot: eq.Robot, q: Array, v: Array) -> tuple[Array, dict[str, Array]]:
    """Return the body's twist in world axes, and joint velocities by limb."""
    body = body_at(robot, q)
    twist = np.concatenate([body.rotation @ v[:3], body.rotation @ v[3:6]])
    return twist, {name: v[6:][body.limb(name).degrees] for name in robot.limbs}


@pytest.mark.parametrize("seed", range(4))
def test_limbs_move_as_pinocchio_says(robot, seed):
    """Eq. 5 is Pinocchio's velocity of each limb's end, and Eq. 11 its inverse."""
    q, v = bent(robot, seed), random_velocity(robot, seed)
    body = body_at(robot, q)
    twist, rates = parts(robot, q, v)
    for name, limb in robot.limbs.items():
        at = body.limb(name)
        frame = f"{limb.side[0]}_sole" if limb.kind == "leg" else limb.end_link
        others = body.twist_of_others(at, v[6:])
        found = limb_twist(at, twist, rates[name]) + others
        jacobian = eq.frame_jacobian(robot, q, frame)
        np.testing.assert_allclose(found, jacobian @ v, atol=1e-11)
        back = body_twist(at, found - others, rates[name])
        np.testing.assert_allclose(back, twist, atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_ends_move_as_finite_differences(robot, seed):
    """Jacobians of limbs are the derivative of where the ends are."""
    q, v = bent(robot, seed), random_velocity(robot, seed)
    v[:6] = 0.0
    body, step = body_at(robot, q), 1e-6
    for side, name in LEGS.items():
        leg = body.limb(name)
        place = sole_pose(robot, q, side)[:3, 3]
        np.testing.assert_allclose(body.position + leg.lever, place, atol=1e-12)
        ends = [
            sole_pose(robot, pin.integrate(robot.model, q, s * step * v), side)[:3, 3]
            for s in (1.0, -1.0)
        ]
        slope = (ends[0] - ends[1]) / (2.0 * step)
        own = leg.jacobian[:3] @ v[6:][leg.degrees]
        np.testing.assert_allclose(own, slope, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_limbs_agree_on_the_body(robot, seed):
    """Of any motion, all limbs satisfy Eq. 6, and X_i1 is X_i⁻¹ X_1."""
    q, v = bent(robot, seed), random_velocity(robot, seed)
    body = body_at(robot, q)
    _, rates = parts(robot, q, v)
    legs = tuple(body.limb(name) for name in LEGS.values())
    twists = tuple(sole_twist(robot, q, side, v) for side in LEGS)
    of_legs = tuple(rates[name] for name in LEGS.values())
    np.testing.assert_allclose(compatibility_gap(legs, twists, of_legs), 0, atol=1e-11)
    one, two = legs
    both = np.linalg.inv(limb_to_body(two.lever)) @ limb_to_body(one.lever)
    np.testing.assert_allclose(limb_to_limb(two.lever, one.lever), both, atol=1e-14)
    moved = body_twist(one, twists[0], of_legs[0])
    inverse = limb_inverse(two)
    found = limb_rates(two, inverse, twists[1], moved, np.zeros(6))
    assert inverse.damping == 0.0
    np.testing.assert_allclose(found, of_legs[1], atol=1e-9)


def test_cross_products_turn_round():
    """[a×] b = −[b×] a, as App. 9.1 needs; "−b [×a]" is not even a vector."""
    rng = np.random.default_rng(0)
    for a, b in rng.normal(size=(20, 2, 3)):
        np.testing.assert_allclose(cross_matrix(a) @ b, np.cross(a, b), atol=1e-15)
        turned = -cross_matrix(b) @ a
        np.testing.assert_allclose(cross_matrix(a) @ b, turned, atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_com_moves_as_pinocchio_says(robot, seed):
    """Eq. 8 with the limbs' Jacobians is Pinocchio's velocity of the CoM."""
    q, v = bent(robot, seed), random_velocity(robot, seed)
    body = body_at(robot, q)
    twist, rates = parts(robot, q, v)
    limbs = [body.limb(name) for name in robot.limbs]
    found = com_velocity(body, twist, limbs, list(rates.values()))
    np.testing.assert_allclose(found, eq.com_velocity(robot, q, v), atol=1e-11)
    own = sum(limb_com_jacobian(robot, q, name)[:, 6:] for name in robot.limbs)
    np.testing.assert_allclose(body.rotation @ own, body.com_jacobian, atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_com_by_a_base_foot_that_moves(robot, seed):
    """Eq. 13 is Pinocchio's velocity of the CoM, whatever the base foot does."""
    q, v = bent(robot, seed), random_velocity(robot, seed)
    body = body_at(robot, q)
    _, rates = parts(robot, q, v)
    others = []
    given = v[6:].copy()
    for name in ("right_leg", "left_leg"):
        given[body.limb(name).degrees] = 0.0
    leg = body.limb("right_leg")
    twist = sole_twist(robot, q, "right", v)
    others.append(Embedded(leg, limb_inverse(leg), twist, np.zeros(6)))
    found = com_velocity_by_base(
        body,
        body.limb("left_leg"),
        sole_twist(robot, q, "left", v),
        rates["left_leg"],
        others,
        body.com_jacobian @ given,
    )
    np.testing.assert_allclose(found, eq.com_velocity(robot, q, v), atol=1e-9)


def whole_body(
    robot: eq.Robot,
    q: Array,
    com: Array,
    ends: dict[str, Array],
    spin: Array,
    given: Array,
    held: list[int],
) -> Array:
    """Return the plain least-squares solution of all tasks stacked."""
    rotation = pin.Quaternion(q[3:7]).toRotationMatrix()
    attitude = np.zeros((3, robot.nv))
    attitude[:, 3:6] = rotation
    joints = np.zeros((len(held), robot.nv))
    joints[np.arange(len(held)), 6 + np.array(held, dtype=int)] = 1.0
    rows = [eq.com_jacobian(robot, q), attitude, joints]
    wanted = [com, spin, given[held]]
    for frame, twist in ends.items():
        rows.append(eq.frame_jacobian(robot, q, frame))
        wanted.append(twist)
    return np.linalg.lstsq(np.vstack(rows), np.concatenate(wanted), rcond=None)[0]


@pytest.mark.parametrize("base", ["left", "right", "both"])
@pytest.mark.parametrize("seed", range(4))
def test_partially_specified_is_whole_body_least_squares(robot, base, seed):
    """Eq. 18–20 equal all tasks stacked: CoM, soles that move, attitude, joints."""
    q = bent(robot, seed)
    rng = np.random.default_rng(seed)
    com, spin = rng.uniform(-0.3, 0.3, 3), rng.uniform(-0.3, 0.3, 3)
    twists = {name: rng.uniform(-0.3, 0.3, 6) for name in LEGS.values()}
    given = rng.uniform(-2.0, 2.0, robot.nv - 6)
    found = resolve(
        robot,
        q,
        com,
        twists=twists,
        joint_velocity=given,
        body_angular_velocity=spin,
        base=base,
    )
    assert not any(found.damping.values())
    legs = {degree_of(robot, j) for name in twists for j in robot.limb(name).joints}
    held = sorted(set(range(robot.nv - 6)) - legs)
    ends = {f"{side[0]}_sole": twists[name] for side, name in LEGS.items()}
    plain = whole_body(robot, q, com, ends, spin, given, held)
    np.testing.assert_allclose(found.velocity, plain, atol=1e-9)


@pytest.mark.parametrize("base", ["left", "right", "both"])
@pytest.mark.parametrize("seed", range(4))
def test_fully_specified_is_whole_body_least_squares(base, seed):
    """Eq. 16–17 equal all tasks stacked, with hands that go where they should."""
    robot = eq.load("mahru-1")  # arms of six joints: hands leave nothing free
    q = bent(robot, seed)
    rng = np.random.default_rng(seed)
    com, spin = rng.uniform(-0.3, 0.3, 3), rng.uniform(-0.3, 0.3, 3)
    arms = ["left_arm", "right_arm"]
    twists = {x: rng.uniform(-0.3, 0.3, 6) for x in (*LEGS.values(), *arms)}
    given = rng.uniform(-2.0, 2.0, robot.nv - 6)
    found = resolve(
        robot,
        q,
        com,
        twists=twists,
        joint_velocity=given,
        body_angular_velocity=spin,
        base=base,
    )
    assert not any(found.damping.values()), found.damping
    held = [degree_of(robot, joint) for joint in robot.limb("head").joints]
    ends = {f"{side[0]}_sole": twists[name] for side, name in LEGS.items()}
    ends |= {robot.limb(arm).end_link: twists[arm] for arm in arms}
    plain = whole_body(robot, q, com, ends, spin, given, held)
    np.testing.assert_allclose(found.velocity, plain, atol=1e-9 * np.abs(plain).max())


@pytest.mark.parametrize("base", ["left", "right", "both"])
def test_redundant_arms_have_a_posture(base):
    """Seven joints bring a hand where it should be, and go on to a posture."""
    robot = eq.load("humanoid")
    q = bent(robot, 3)
    twists = {"left_arm": np.array([0.1, 0.05, 0.2, 0.0, 0.1, 0.0])}
    com = np.array([0.05, -0.02, 0.01])
    goal = pin.integrate(robot.model, q, 0.3 * random_velocity(robot, 8))
    plain = resolve(robot, q, com, twists=twists, base=base)
    moved = resolve(
        robot, q, com, twists=twists, base=base, posture=goal, posture_gain=2.0
    )
    hand = robot.limb("left_arm").end_link
    for found in (plain, moved):
        assert not any(found.damping.values())
        v = found.velocity
        np.testing.assert_allclose(eq.com_velocity(robot, q, v), com, atol=1e-10)
        twist = eq.frame_jacobian(robot, q, hand) @ v
        np.testing.assert_allclose(twist, twists["left_arm"], atol=1e-10)
        for side in LEGS:
            np.testing.assert_allclose(sole_twist(robot, q, side, v), 0.0, atol=1e-10)
    arm = body_at(robot, q).limb("left_arm")
    towards = 2.0 * pin.difference(robot.model, q, goal)[6:][arm.degrees]
    change = (moved.velocity - plain.velocity)[6:][arm.degrees]
    wanted = limb_inverse(arm).null_space @ towards
    # the body moves a little otherwise, and the arm makes up for it
    across = limb_inverse(arm).null_space @ change
    np.testing.assert_allclose(across, wanted, atol=1e-10)
    assert np.linalg.norm(wanted) > 0.01


def test_redundant_legs_have_a_posture():
    """A leg of seven joints goes to a posture while CoM and soles do as they should."""
    robot = eq.load("humanoid")
    q = bent(robot, 5)
    # a leg with more joints than it takes: the waist, said to be one of its joints
    joints = {"left_leg": ("waist_yaw", *robot.limb("left_leg").joints)}
    goal = pin.integrate(robot.model, q, 0.3 * random_velocity(robot, 8))
    com = np.array([0.05, -0.02, 0.01])
    speeds = []
    for gain in (0.0, 1.0):
        found = resolve(robot, q, com, joints=joints, posture=goal, posture_gain=gain)
        v = found.velocity
        np.testing.assert_allclose(eq.com_velocity(robot, q, v), com, atol=1e-10)
        np.testing.assert_allclose(sole_twist(robot, q, "left", v), 0.0, atol=1e-10)
        np.testing.assert_allclose(sole_twist(robot, q, "right", v), 0.0, atol=1e-10)
        speeds.append(v[6 + degree_of(robot, "waist_yaw")])
    assert abs(speeds[1] - speeds[0]) > 0.01


@pytest.mark.parametrize("base", ["left", "both"])
def test_five_joints_leave_the_heading_free(tmp_path, base):
    """A leg that cannot turn its foot keeps all but its heading; so does the body."""
    path = tmp_path / "five.urdf"
    path.write_text(Biped(fixed=("hip_yaw",)).urdf(), encoding="utf-8")
    robot = eq.load(path)
    q = robot.standing.copy()
    for name, turn in (("hip_pitch", -0.4), ("knee", 0.8), ("ankle_pitch", -0.4)):
        for side in LEGS:
            q[7 + degree_of(robot, f"{side}_{name}")] = turn
    com = np.array([0.05, 0.02, 0.03])
    arms = np.random.default_rng(0).uniform(-1.0, 1.0, robot.nv - 6)
    found = resolve(robot, q, com, joint_velocity=arms, base=base)
    v = found.velocity
    assert not any(found.damping.values())
    np.testing.assert_allclose(eq.com_velocity(robot, q, v), com, atol=1e-10)
    np.testing.assert_allclose(v[3:6], 0.0, atol=1e-10)
    for side in LEGS:
        twist = sole_twist(robot, q, side, v)
        np.testing.assert_allclose(twist[:5], 0.0, atol=1e-10)


@pytest.mark.parametrize("base", ["left", "right", "both"])
def test_straight_legs_say_that_they_are_damped(base):
    """A straight knee cannot lift the CoM: speeds stay finite, and damping is told."""
    robot = eq.load("mahru-1")
    straight = robot.posture("straight")
    found = resolve(robot, straight, [0.0, 0.0, 0.2], base=base)
    assert max(found.damping.values()) > 0.01
    assert (
        set(found.damping)
        == {
            "left": {"base", "right_leg"},
            "right": {"base", "left_leg"},
            "both": {"base"},
        }[base]
    )
    assert np.abs(found.velocity).max() < 50.0
    away = resolve(robot, robot.standing, [0.0, 0.0, 0.2], base=base)
    assert not any(away.damping.values())


def test_damping_is_continuous_and_bounded():
    """It grows from nothing at ε, and inverses stay below 1 / ε, up to half of it."""
    scale = np.ones(2)
    for sigma in np.linspace(0.0, 0.05, 51):
        found = damped_inverse(np.diag([1.0, sigma]), scale, 0.02)
        assert np.linalg.norm(found.inverse, 2) <= 1.0 / 0.02 + 1e-9
        assert found.damping == pytest.approx(max(0.02**2 - sigma**2, 0.0) ** 0.5)
        if sigma > 0.02:
            np.testing.assert_allclose(found.inverse[1, 1], 1.0 / sigma)


def test_scale_does_not_matter_where_all_can_be_met():
    """Weights of rows leave the Moore–Penrose inverse of a wide matrix as it is."""
    rng = np.random.default_rng(0)
    matrix, scale = rng.normal(size=(6, 8)), rng.uniform(0.1, 10.0, 6)
    found = damped_inverse(matrix, scale, 0.0)
    np.testing.assert_allclose(found.inverse, np.linalg.pinv(matrix), atol=1e-10)
    np.testing.assert_allclose(matrix @ found.null_space, 0.0, atol=1e-12)
    assert np.trace(found.null_space) == pytest.approx(2.0)


def test_what_cannot_be_is_refused():
    """Names and shapes are said; limbs on limbs cannot both be specified."""
    robot = eq.load("humanoid")
    q, still = robot.standing, np.zeros(3)
    with pytest.raises(NameNotFoundError, match="no base limb 'tail'"):
        resolve(robot, q, still, base="tail")
    with pytest.raises(NameNotFoundError, match="no limb 'wing'"):
        resolve(robot, q, still, twists={"wing": np.zeros(6)})
    with pytest.raises(ShapeError, match="com_velocity must be 3 finite"):
        resolve(robot, q, [0.0, np.nan, 0.0])
    with pytest.raises(ShapeError, match="joint_velocity must be 29 finite"):
        resolve(robot, q, still, joint_velocity=np.zeros(3))
    both = {"torso": np.zeros(6), "left_arm": np.zeros(6)}
    with pytest.raises(EquipoiseError, match="'left_arm' hangs on limb 'torso'"):
        resolve(robot, q, still, twists=both)


def test_a_limb_says_what_it_is():
    """Its columns are those of its joints."""
    robot = eq.load("mahru-1")
    limb = body_at(robot, robot.standing).limb("left_arm")
    assert isinstance(limb, LimbAt)
    assert limb.jacobian.shape == (6, 6)
    assert list(limb.degrees) == [
        degree_of(robot, joint) for joint in robot.limb("left_arm").joints
    ]
