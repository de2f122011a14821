from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from equipoise.errors import EquipoiseError
from equipoise.identification.paper.foot_wrenches import Coefficients, Feet
from equipoise.identification.paper.link_coms import (
    Chain,
    PlanarPoses,
    links_from_com,
    planar_determinant,
    planar_from_com,
    planar_from_feet,
    planar_matrix,
    planar_right,
    remaining_com,
)

seeds = st.integers(0, 2**32 - 1)
leans = st.floats(-1.2, 1.2)
bends = st.floats(0.1, 1.5) | st.floats(-1.5, -0.1)
SCRIPT = Chain(Feet(6.72, 0.0, 0.02632, 0.1), [0.95, 2.1], [0.4])
TEN = np.deg2rad(10.0)


def draw(seed: int) -> tuple[Chain, np.ndarray, np.ndarray]:
    """Draw a leg and the CoMs of its two links, r and l."""
    rng = np.random.default_rng(seed)
    feet = Feet(*rng.uniform([0.5, -0.1, 0.0, 0.05], [9.0, 0.1, 0.1, 0.2]))
    chain = Chain(feet, rng.uniform(0.5, 9.0, 2), rng.uniform(0.2, 0.6, 1))
    return chain, rng.uniform(-0.1, 0.1, 2), rng.uniform(0.0, 0.6, 2)


def coms(
    chain: Chain,
    theta_b: float,
    theta_c: float,
    r: np.ndarray,
    l: np.ndarray,  # noqa: E741
) -> np.ndarray:
    """Return X and Z of configurations b and c."""
    return chain.com([[theta_b, theta_b], [0.0, theta_c]], r, l)


@given(seed=seeds, theta_b=leans, theta_c=bends)
def test_closed_form_is_least_squares_and_true(
    seed: int, theta_b: float, theta_c: float
) -> None:
    """Random robots: Cramer, the general solver and truth agree to 1e-9 m."""
    chain, r, l = draw(seed)  # noqa: E741
    b, c = coms(chain, theta_b, theta_c, r, l)

    closed = planar_from_com(chain, theta_b, theta_c, b, c)
    general = links_from_com(chain, [[theta_b, theta_b], [0.0, theta_c]], [b, c])

    truth = [r[0], l[0], r[1], l[1]]
    np.testing.assert_allclose(closed, truth, atol=1e-9)
    np.testing.assert_allclose(
        closed, np.stack([general.r, general.l], 1).ravel(), atol=1e-9
    )


@given(seed=seeds, theta_b=leans, theta_c=bends)
def test_cramer_equals_numpy(seed: int, theta_b: float, theta_c: float) -> None:
    """For any right side, and det A as NumPy has it."""
    chain, _, _ = draw(seed)
    b, c = np.random.default_rng(seed + 1).uniform(-1.0, 1.0, (2, 2))

    closed = planar_from_com(chain, theta_b, theta_c, b, c)

    matrix = planar_matrix(chain, theta_b, theta_c)
    right = planar_right(chain, theta_b, b, c)
    solved = np.linalg.solve(matrix, right)
    np.testing.assert_allclose(closed, solved, atol=1e-9 * np.abs(solved).max())
    assert planar_determinant(chain, theta_c) == pytest.approx(
        np.linalg.det(matrix), rel=1e-9
    )


def test_determinant_is_sympys() -> None:
    """2 m_b² m_c² (1 − cos θ_c); by Eq. (38) as printed, 2 m_b² m_c² sin² θ_c."""
    sp = pytest.importorskip("sympy")
    m_b, m_c, t_b, t_c = sp.symbols("m_b m_c t_b t_c")
    sb, cb, sc, cc = sp.sin(t_b), sp.cos(t_b), sp.sin(t_c), sp.cos(t_c)
    a = sp.Matrix(
        [
            [m_b * cb, m_b * sb, m_c * cb, m_c * sb],
            [-m_b * sb, m_b * cb, -m_c * sb, m_c * cb],
            [m_b, 0, m_c * cc, m_c * sc],
            [0, m_b, -m_c * sc, m_c * cc],
        ]
    )
    printed = a.copy()
    printed[2, 2] = -m_c * cc

    assert sp.simplify(a.det() - 2 * m_b**2 * m_c**2 * (1 - cc)) == 0
    assert sp.simplify(printed.det() - 2 * m_b**2 * m_c**2 * sc**2) == 0


def test_matrix_is_the_derivative_of_the_com() -> None:
    """A is how m₂ (X, Z) of b and c follow r_b, l_b, r_c, l_c; it is linear."""
    chain, r, l = draw(4)  # noqa: E741
    matrix = planar_matrix(chain, 0.3, -0.4)
    start = coms(chain, 0.3, -0.4, r, l).ravel()
    for column in range(4):
        step = np.zeros((2, 2))
        step[column // 2, column % 2] = 1e-3
        moved = coms(chain, 0.3, -0.4, r + step[:, 0], l + step[:, 1]).ravel()
        np.testing.assert_allclose(
            chain.mass * (moved - start) / 1e-3, matrix[:, column], atol=1e-9
        )


def test_printed_sign_is_hidden_by_the_papers_example() -> None:
    """Eq. (38) as printed gives Table 1 back since r_c = 0; with r_c it does not."""
    printed = planar_matrix(SCRIPT, TEN, TEN)
    printed[2, 2] *= -1.0

    for r, right in (([0.0, 0.0], True), ([0.01, -0.02], False)):
        b, c = coms(SCRIPT, TEN, TEN, np.array(r), np.array([0.2, 0.25]))
        solved = np.linalg.solve(printed, planar_right(SCRIPT, TEN, b, c))
        assert bool(abs(solved[1] - 0.2) < 1e-9) is right
    assert solved[1] == pytest.approx(0.4507, abs=1e-4)


def test_printed_last_rows_are_wrong_even_there() -> None:
    """Eq. (41) with m_c sin θ_c at its end gives l_b = 20.3 m, or 0.505 m in part."""
    b, c = coms(SCRIPT, TEN, TEN, np.zeros(2), np.array([0.2, 0.25]))
    right = planar_right(SCRIPT, TEN, b, c)
    for sign, expected in ((-1.0, 20.2926), (1.0, 0.5053)):
        matrix = planar_matrix(SCRIPT, TEN, TEN)
        matrix[2, 2] *= sign
        determinant = np.linalg.det(matrix)
        matrix[3, 3] = SCRIPT.masses[1] * np.sin(TEN)
        matrix[:, 1] = right
        assert np.linalg.det(matrix) / determinant == pytest.approx(expected, abs=1e-4)


@given(seed=seeds, theta_b=bends, theta_c=bends, theta_d=bends)
def test_four_poses_from_the_feet(
    seed: int, theta_b: float, theta_c: float, theta_d: float
) -> None:
    """α of poses a, b, c, d recovers all; Eq. (29), with three, does not."""
    chain, r, l = draw(seed)  # noqa: E741
    angles = [
        [0.0, 0.0],
        [theta_b, theta_b],
        [0.0, theta_c],
        [theta_d, theta_c + theta_d],
    ]
    total = chain.com(angles, r, l)
    poses = PlanarPoses(*(Coefficients(x, 0.0, 0.0, 0.0) for x in total[:, 0]))

    found = planar_from_feet(chain, theta_b, theta_c, theta_d, poses)
    np.testing.assert_allclose(found, [r[0], l[0], r[1], l[1]], atol=1e-8)

    # Eq. (29) would have it that c is a, turned by θ_c about the ankles.
    assume(abs(chain.masses[1] * chain.lengths[0] + chain.masses[0] * l[0]) > 0.1)
    three = poses._replace(c=poses.a, d=poses.c)
    assert not np.allclose(
        planar_from_feet(chain, theta_b, theta_c, theta_c, three),
        [r[0], l[0], r[1], l[1]],
        atol=1e-4,
    )


def test_singular_cases_are_named() -> None:
    """An unbent knee, and chains of other lengths; θ_b = 0 is allowed."""
    b, c = coms(SCRIPT, 0.0, TEN, np.zeros(2), np.array([0.2, 0.25]))

    for theta_c in (0.0, 2.0 * np.pi):
        with pytest.raises(EquipoiseError, match="cannot be separated"):
            planar_from_com(SCRIPT, TEN, theta_c, b, c)
    with pytest.raises(EquipoiseError, match="two links above the feet, not for 1"):
        planar_matrix(Chain(SCRIPT.feet, [1.0], []), TEN, TEN)
    found = planar_from_com(SCRIPT, 0.0, TEN, b, c)
    np.testing.assert_allclose(found, [0.0, 0.2, 0.0, 0.25], atol=1e-12)


def test_remaining_com_in_polar_form() -> None:
    """Eq. (25), (32): t sin χ and t cos χ are r_w and l_w + L_a, in any quadrant."""
    for com in ([0.1, 0.2], [0.1, -0.4], [-0.2, -0.1]):
        r_w, l_w = remaining_com(SCRIPT.feet, SCRIPT.mass, com)
        t, chi = np.hypot(r_w, l_w + 0.1), np.arctan2(r_w, l_w + 0.1)
        x, z = t * np.sin(chi), t * np.cos(chi)
        np.testing.assert_allclose([x, z], [r_w, l_w + 0.1], atol=1e-14)
        feet = SCRIPT.feet.mass * np.array([SCRIPT.feet.r, SCRIPT.feet.l])
        total = (feet + SCRIPT.carried * np.array([x, z])) / SCRIPT.mass
        np.testing.assert_allclose(total, com, atol=1e-14)
