"""The model against its own identities and against Pinocchio, at 1,000 states."""

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.planar.equations import derive
from equipoise.planar.parameters import ThreeLinkParameters
from equipoise.planar.three_link import ThreeLink

TOLERANCE = 1e-9


def relative(biped: ThreeLink) -> ThreeLink:
    """Return the same biped in the coordinates of [ThreeLink]."""
    return ThreeLink(biped.parameters, "relative")


def free_states(states: np.ndarray) -> np.ndarray:
    """Return states of the unpinned model: a foot anywhere, that moves."""
    foot = np.random.default_rng(21).uniform(-1.0, 1.0, (len(states), 4))
    return np.hstack([states[:, :3], foot[:, :2], states[:, 3:], foot[:, 2:]])


def planar_pinocchio(p: ThreeLinkParameters) -> pin.Model:
    """Return the unpinned biped as Pinocchio has it, built link by link.

    A pivot that slides in x and z carries the stance leg; swing leg and torso turn
    about the hip. Point masses have no rotational inertia. Pinocchio's y axis turns x
    into −z: forwards.
    """

    def mass(value: float, *place: float) -> pin.Inertia:
        return pin.Inertia(value, np.array([0.0, 0.0, *place]), np.zeros((3, 3)))

    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -p.gravity])
    here = pin.SE3.Identity()
    slide = model.addJoint(0, pin.JointModelPX(), here, "x_e")
    slide = model.addJoint(slide, pin.JointModelPZ(), here, "z_e")
    stance = model.addJoint(slide, pin.JointModelRY(), here, "theta_1")
    hip = pin.SE3(np.eye(3), np.array([0.0, 0.0, p.leg_length]))
    model.appendBodyToJoint(stance, mass(p.leg_mass, p.leg_length / 2), here)
    model.appendBodyToJoint(stance, mass(p.hip_mass, p.leg_length), here)
    swing = model.addJoint(stance, pin.JointModelRY(), hip, "theta_2")
    model.appendBodyToJoint(swing, mass(p.leg_mass, -p.leg_length / 2), here)
    torso = model.addJoint(stance, pin.JointModelRY(), hip, "theta_3")
    model.appendBodyToJoint(torso, mass(p.torso_mass, p.torso_length), here)
    return model


@pytest.mark.parametrize("coordinates", ["absolute", "relative"])
@pytest.mark.parametrize("pinned", [True, False])
def test_inertia_and_coriolis_matrices(
    biped: ThreeLink, states: np.ndarray, coordinates: str, pinned: bool
) -> None:
    """D is symmetric and positive definite; Ḋ − 2C is skew, Ḋ by differences."""
    model = ThreeLink(biped.parameters, coordinates, pinned)  # type: ignore[arg-type]
    x = states if pinned else free_states(states)
    q, dq = np.split(x, 2, axis=-1)
    D, C = model.D(q), model.C(q, dq)
    h = 1e-3  # with four points the error is of fifth order
    D_rate = (
        8.0 * (model.D(q + h * dq) - model.D(q - h * dq))
        - (model.D(q + 2 * h * dq) - model.D(q - 2 * h * dq))
    ) / (12.0 * h)
    skew = D_rate - 2.0 * C

    np.testing.assert_allclose(D, np.swapaxes(D, -1, -2), atol=TOLERANCE)
    assert np.linalg.eigvalsh(D).min() > 0.0
    np.testing.assert_allclose(skew, -np.swapaxes(skew, -1, -2), atol=TOLERANCE)


@pytest.mark.parametrize("coordinates", ["absolute", "relative"])
def test_energy_is_conserved_without_torques(
    biped: ThreeLink, states: np.ndarray, coordinates: str
) -> None:
    """The rate of the energy along f is zero, and with torques it is their power."""
    model = ThreeLink(biped.parameters, coordinates)  # type: ignore[arg-type]
    q, dq = np.split(states, 2, axis=-1)
    u = np.random.default_rng(22).uniform(-50.0, 50.0, (len(states), 2))
    ddq = model.acceleration(states, u)
    D, C, G = model.D(q), model.C(q, dq), model.G(q)
    # K̇ = q̇ᵀ D q̈ + ½ q̇ᵀ Ḋ q̇, and q̇ᵀ (½ Ḋ − C) q̇ = 0.
    rate = np.einsum("ni,nij,nj->n", dq, D, ddq)
    rate += np.einsum("ni,nij,nj->n", dq, C, dq) + np.sum(dq * G, axis=-1)
    power = np.sum(dq @ model.B * u, axis=-1)

    np.testing.assert_allclose(rate, power, atol=TOLERANCE)
    np.testing.assert_allclose(
        model.acceleration(states, 0.0 * u), model.f(states)[:, 3:], atol=TOLERANCE
    )
    kinetic = np.einsum("ni,nij,nj->n", dq, D, dq) / 2.0
    np.testing.assert_allclose(model.kinetic_energy(states), kinetic, atol=TOLERANCE)


def test_both_coordinates_are_the_same_biped(
    biped: ThreeLink, states: np.ndarray
) -> None:
    """Relative coordinates are those of Eq. (1): same places and motion."""
    other = relative(biped)
    theta, rate = np.split(states, 2, axis=-1)
    q, dq = (
        biped.to_relative(theta),
        biped.to_relative(rate) - biped.to_relative([0] * 3),
    )
    x = np.hstack([q, dq])
    u = np.random.default_rng(23).uniform(-50.0, 50.0, (len(states), 2))
    ddq = other.acceleration(x, u)

    np.testing.assert_allclose(biped.to_absolute(q), theta, atol=1e-13)
    for name, point in biped.points(theta).items():
        np.testing.assert_allclose(other.points(q)[name], point, atol=1e-13)
    np.testing.assert_allclose(other.energy(x), biped.energy(states), atol=TOLERANCE)
    np.testing.assert_allclose(
        biped.to_absolute(ddq) - biped.to_absolute(np.zeros(3)),
        biped.acceleration(states, u),
        rtol=TOLERANCE,
        atol=TOLERANCE,
    )
    np.testing.assert_allclose(
        other.ground_force(x, u),
        biped.ground_force(states, u),
        rtol=TOLERANCE,
        atol=1e-9,
    )


def test_pinned_equals_constrained_unpinned(
    biped: ThreeLink, states: np.ndarray
) -> None:
    """A foot held by multipliers: the same accelerations, and the ground force."""
    free = biped.unpinned
    rest = np.zeros((len(states), 2))
    q = np.hstack([states[:, :3], rest])
    dq = np.hstack([states[:, 3:], rest])
    u = np.random.default_rng(24).uniform(-50.0, 50.0, (len(states), 2))
    hold = np.zeros((len(states), 7, 7))
    hold[:, :5, :5] = free.D(q)
    hold[:, 3:5, 5:] = -np.eye(2)
    hold[:, 5:, 3:5] = np.eye(2)
    pull = u @ free.B.T - (free.C(q, dq) @ dq[..., None])[..., 0] - free.G(q)
    right = np.hstack([pull, rest])
    found = np.linalg.solve(hold, right[..., None])[..., 0]

    np.testing.assert_allclose(
        found[:, :3], biped.acceleration(states, u), rtol=TOLERANCE, atol=TOLERANCE
    )
    force = biped.ground_force(states, u)
    np.testing.assert_allclose(found[:, 5:], force, rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(
        free.f(np.hstack([q, dq]))[:, 5:]
        + (free.g(np.hstack([q, dq])) @ u[..., None])[:, 5:, 0],
        np.linalg.solve(free.D(q), pull[..., None])[..., 0],
        rtol=TOLERANCE,
        atol=TOLERANCE,
    )


def test_equals_pinocchio(biped: ThreeLink, states: np.ndarray) -> None:
    """Inertia, Coriolis and gravity forces, CoM and energies of both models."""
    model = planar_pinocchio(biped.parameters)
    data = model.createData()
    free = biped.unpinned
    # Pinocchio's (x, z, θ₁, θ₂ − θ₁, θ₃ − θ₁) of ours.
    T = np.array(
        [
            [0, 0, 0, 1, 0],
            [0, 0, 0, 0, 1],
            [1, 0, 0, 0, 0],
            [-1, 1, 0, 0, 0],
            [-1, 0, 1, 0, 0],
        ]
    )
    x = free_states(states)
    q, dq = np.split(x, 2, axis=-1)
    D, C, G, energy = free.D(q), free.C(q, dq), free.G(q), free.energy(x)
    com, com_velocity = free.com(q), free.com_velocity(x)
    for i in range(len(states)):
        theirs, rate = T @ q[i], T @ dq[i]
        np.testing.assert_allclose(
            D[i], T.T @ pin.crba(model, data, theirs) @ T, atol=TOLERANCE
        )
        bias = T.T @ pin.nonLinearEffects(model, data, theirs, rate)
        np.testing.assert_allclose(C[i] @ dq[i] + G[i], bias, atol=TOLERANCE)
        pin.centerOfMass(model, data, theirs, rate)
        np.testing.assert_allclose(com[i], data.com[0][[0, 2]], atol=TOLERANCE)
        np.testing.assert_allclose(
            com_velocity[i], data.vcom[0][[0, 2]], atol=TOLERANCE
        )
        total = pin.computeKineticEnergy(model, data) + pin.computePotentialEnergy(
            model, data
        )
        np.testing.assert_allclose(energy[i], total, atol=TOLERANCE)


def test_angular_momentum_about_the_foot(biped: ThreeLink, states: np.ndarray) -> None:
    """It is the sum of the rows of D θ̇, and gravity alone changes it."""
    theta, rate = np.split(states, 2, axis=-1)
    sigma = biped.angular_momentum(states)
    rows = (biped.D(theta) @ rate[..., None])[..., 0].sum(axis=-1)
    moment = biped.parameters.total_mass * biped.parameters.gravity
    np.testing.assert_allclose(sigma, rows, atol=TOLERANCE)
    np.testing.assert_allclose(
        -biped.G(theta).sum(axis=-1), moment * biped.com(theta)[:, 0], atol=TOLERANCE
    )
    np.testing.assert_allclose(biped.B.sum(axis=0), 0.0)


def test_seed_walker_is_the_catalogues() -> None:
    """Lengths and masses of the walker are those of the robot `three-link`."""
    p, robot = ThreeLinkParameters.named("seed"), eq.load("three-link")
    assert robot.mass == pytest.approx(p.total_mass)
    standing = ThreeLink(p).com([0.0, 0.0, 0.0])[1]
    assert eq.com(robot, robot.standing)[2] == pytest.approx(standing)


def test_latex_has_every_equation() -> None:
    """Points, energies and matrices are all printed, in both coordinates."""
    for coordinates in ("absolute", "relative"):
        for pinned in (True, False):
            text = derive(coordinates, pinned=pinned).latex()  # type: ignore[arg-type]
            for part in (
                "{m_t} &=",
                "{cm} &=",
                "K &=",
                "L} &=",
                "D(",
                "C(",
                "G(",
                "B &=",
            ):
                assert part in text
            assert text.count("{") == text.count("}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leg_mass": 0.0}, "the leg mass must be positive, not 0"),
        ({"torso_mass": -1.0}, "the torso mass must be positive, not -1"),
        ({"leg_length": float("nan")}, "the leg length must be finite, not nan"),
        ({"torso_length": 1e-9}, "the lengths degenerate: the largest, 1, is more"),
        ({"hip_mass": 1e9}, "the masses degenerate"),
    ],
)
def test_impossible_bipeds_are_refused(change: dict[str, float], message: str) -> None:
    """The message says what is wrong, and with which value."""
    values = {"leg_length": 1.0, "torso_length": 0.5, "leg_mass": 5.0}
    values |= {"hip_mass": 15.0, "torso_mass": 10.0, **change}
    with pytest.raises(EquipoiseError, match=message):
        ThreeLinkParameters(**values)


def test_wrong_names_and_shapes_are_refused(biped: ThreeLink) -> None:
    """Coordinates, walkers and shapes that do not exist."""
    with pytest.raises(EquipoiseError, match="did you mean 'absolute'"):
        ThreeLink(biped.parameters, "absolut")  # type: ignore[arg-type]
    with pytest.raises(EquipoiseError, match="no walker 'rabbit'"):
        ThreeLinkParameters.named("rabbit")
    with pytest.raises(ShapeError, match=r"shape \(…, 6\), not \(5,\)"):
        biped.f(np.zeros(5))
    with pytest.raises(ShapeError, match=r"configuration has the shape \(…, 3\)"):
        biped.D(np.zeros(4))


def test_the_printed_signs_do_not_conserve_energy(
    biped: ThreeLink, states: np.ndarray
) -> None:
    """Eq. (16) with −G and Eq. (17) with +C q̇ gain energy out of nothing."""
    model = relative(biped)
    q, dq = np.split(states, 2, axis=-1)
    coriolis = (model.C(q, dq) @ dq[..., None])[..., 0]
    G = model.G(q)

    def largest_gain(forces: np.ndarray) -> float:
        """Return the largest rate of energy if D q̈ is these forces [W]."""
        return float(np.abs(np.sum(dq * (forces + coriolis + G), axis=-1)).max())

    assert largest_gain(-coriolis - G) < 1e-9
    assert largest_gain(-coriolis + G) > 100.0
    assert largest_gain(coriolis - G) > 100.0
