from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import EquipoiseError, ShapeError
from equipoise.identification.paper.foot_wrenches import Feet
from equipoise.identification.paper.link_coms import (
    Chain,
    links_from_com,
    links_from_feet,
)

seeds = st.integers(0, 2**32 - 1)
counts = st.integers(1, 5)


def draw(
    links: int, poses: int, seed: int
) -> tuple[Chain, np.ndarray, np.ndarray, np.ndarray]:
    """Draw a chain, angles of poses, and r and l of its links."""
    rng = np.random.default_rng(seed)
    feet = Feet(*rng.uniform([0.5, -0.1, 0.0, 0.05], [9.0, 0.1, 0.1, 0.2]))
    masses, lengths = rng.uniform(0.5, 9.0, links), rng.uniform(0.2, 0.6, links - 1)
    angles = rng.uniform(-1.0, 1.0, (poses, links))
    r, l = rng.uniform(-0.1, 0.1, links), rng.uniform(0.0, 0.6, links)  # noqa: E741
    return Chain(feet, masses, lengths), angles, r, l


def pinocchio_com(
    chain: Chain,
    angles: np.ndarray,
    r: np.ndarray,
    l: np.ndarray,  # noqa: E741
) -> np.ndarray:
    """Return X and Z of the CoM by Pinocchio: feet fixed, joints about y."""
    model = pin.Model()
    joint, at = 0, np.array([0.0, 0.0, chain.feet.ankle_height])
    nothing = np.zeros((3, 3))
    for v in range(len(chain)):
        joint = model.addJoint(
            joint, pin.JointModelRY(), pin.SE3(np.eye(3), at), f"{v}"
        )
        lever = np.array([r[v], 0.0, l[v]])
        body = pin.Inertia(chain.masses[v], lever, nothing)
        model.appendBodyToJoint(joint, body, pin.SE3.Identity())
        at = np.array([0.0, 0.0, chain.lengths[v]]) if v + 1 < len(chain) else at
    data = model.createData()
    feet = chain.feet.mass * np.array([chain.feet.r, chain.feet.l])
    carried = [
        pin.centerOfMass(model, data, np.diff(row, prepend=0.0))[[0, 2]]
        for row in angles
    ]
    return (feet + chain.carried * np.array(carried)) / chain.mass


@given(links=counts, seed=seeds)
def test_com_of_a_chain_is_pinocchios(links: int, seed: int) -> None:
    """Eq. (26) as a forward map, any number of links."""
    chain, angles, r, l = draw(links, 3, seed)  # noqa: E741

    np.testing.assert_allclose(
        chain.com(angles, r, l), pinocchio_com(chain, angles, r, l), atol=1e-12
    )


@given(links=counts, seed=seeds)
def test_com_known_needs_n_poses(links: int, seed: int) -> None:
    """As many poses as links give rank 2n; more of them give the same links."""
    n = links
    chain, angles, r, l = draw(links, n + 2, seed)  # noqa: E741
    total = pinocchio_com(chain, angles, r, l)

    few = links_from_com(chain, angles[:n], total[:n])
    many = links_from_com(chain, angles, total)

    assert few.rank == many.rank == 2 * links
    assert many.determined.all()
    np.testing.assert_allclose(many.r, r, atol=1e-8)
    np.testing.assert_allclose(many.l, l, atol=1e-8)
    assert max(few.residual, many.residual) < 1e-12


@given(links=st.integers(1, 4), seed=seeds, sloped=st.booleans())
def test_feet_need_two_poses_a_link(links: int, seed: int, sloped: bool) -> None:
    """2n + 2 poses recover r and l; n + 1 of Eq. (21) leave rank n + 1 of 2n."""
    needed = 2 * links
    chain, angles, r, l = draw(links, needed + 2, seed)  # noqa: E741
    total = chain.com(angles, r, l)
    beta = np.random.default_rng(seed).uniform(-0.2, 0.2, len(angles)) * sloped
    alpha = total[:, 0] - beta * total[:, 1]

    found = links_from_feet(chain, angles, alpha, beta)
    short = links_from_feet(
        chain, angles[: links + 1], alpha[: links + 1], beta[: links + 1]
    )

    assert found.rank == needed
    np.testing.assert_allclose(found.r, r, atol=1e-6)
    np.testing.assert_allclose(found.l, l, atol=1e-6)
    assert short.rank == links + 1
    assert short.determined.all() == (links == 1)


def test_papers_three_poses_leave_every_number_open() -> None:
    """Configurations a, b, c of two links: rank 3 of 4, none of r and l is found."""
    chain, _, r, l = draw(2, 1, 8)  # noqa: E741
    angles = np.deg2rad([[0.0, 0.0], [10.0, 10.0], [0.0, 10.0]])
    alpha = chain.com(angles, r, l)[:, 0]

    found = links_from_feet(chain, angles, alpha, np.zeros(3))

    assert found.rank == 3
    assert not found.determined.any()
    assert np.isnan([*found.r, *found.l]).all()
    assert found.residual < 1e-12


def test_what_did_not_move_is_told_from_what_did() -> None:
    """Only the upper link moved: its CoM is found, the others' are not."""
    chain, angles, r, l = draw(3, 6, 2)  # noqa: E741
    angles[:, :2] = 0.1

    found = links_from_com(chain, angles, chain.com(angles, r, l))

    assert found.determined.tolist() == [[False] * 2, [False] * 2, [True] * 2]
    assert found.l[2] == pytest.approx(l[2], abs=1e-9)
    assert found.rank == 4


def test_least_squares_is_numpys_with_noise() -> None:
    """With more poses than needed and wrong measurements: the same minimum."""
    chain, angles, r, l = draw(2, 9, 6)  # noqa: E741
    noisy = chain.com(angles, r, l) + np.random.default_rng(0).normal(0, 1e-3, (9, 2))
    start = chain.com(angles, np.zeros(2), np.zeros(2))
    columns = [
        (chain.com(angles, unit[:2], unit[2:]) - start).ravel() for unit in np.eye(4)
    ]

    found = links_from_com(chain, angles, noisy)

    right = (noisy - start).ravel()
    oracle = np.linalg.lstsq(np.stack(columns, 1), right, rcond=None)[0]
    np.testing.assert_allclose([*found.r, *found.l], oracle, atol=1e-10)
    assert 1e-4 < found.residual < 1e-2


def test_bad_chains_and_shapes_are_refused() -> None:
    """Messages name what is wrong."""
    chain, angles, r, l = draw(2, 3, 6)  # noqa: E741

    with pytest.raises(ShapeError, match="n masses and n - 1 lengths"):
        Chain(chain.feet, [1.0, 2.0], [])
    with pytest.raises(ShapeError, match="must be finite"):
        Chain(chain.feet, [np.nan], [])
    with pytest.raises(EquipoiseError, match="link 1 has mass 0 kg"):
        Chain(chain.feet, [1.0, 0.0], [0.3])
    with pytest.raises(ShapeError, match=r"\(k, 2\)"):
        chain.com(angles[0], r, l)
    with pytest.raises(ShapeError, match="angles must be finite"):
        chain.com(angles * np.nan, r, l)
    with pytest.raises(ShapeError, match="com must be finite"):
        links_from_com(chain, angles, np.zeros((2, 2)))
    with pytest.raises(ShapeError, match="alpha must be finite"):
        links_from_feet(chain, angles, np.zeros(2), np.zeros(3))
