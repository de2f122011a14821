from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from equipoise.errors import EquipoiseError
from equipoise.identification.paper.foot_wrenches import (
    Coefficients,
    Feet,
    two_pose_com,
)

seeds = st.integers(0, 2**32 - 1)
STANDING = Coefficients(0.0, 0.0, 0.0, 0.0)


class Case(NamedTuple):
    """A body on feet, at two poses on ground of any slope, and what is true of it."""

    feet: Feet
    mass: float
    r_w: float
    l_w: float
    turn: float
    a: Coefficients
    b: Coefficients
    com_a: np.ndarray
    com_b: np.ndarray


def case(seed: int, *, level: bool = False) -> Case:
    """Draw a body; the lines are put through its CoMs, Eq. (16)–(17)."""
    rng = np.random.default_rng(seed)
    feet = Feet(*rng.uniform([0.5, -0.1, 0.0, 0.05], [9.0, 0.1, 0.1, 0.2]))
    carried, r_w, l_w = rng.uniform([2.0, -0.1, 0.1], [60.0, 0.1, 1.0])
    mass, turn = feet.mass + carried, rng.uniform(-0.6, 0.6)
    coms, lines = [], []
    for theta in (0.0, turn):
        s, c = np.sin(theta), np.cos(theta)
        x = feet.mass * feet.r + carried * (l_w * s + r_w * c)
        up = feet.ankle_height + l_w * c - r_w * s
        z = feet.mass * feet.l + carried * up
        com = np.array([x / mass, rng.uniform(-0.1, 0.1), z / mass])
        beta, delta = (0.0, 0.0) if level else rng.uniform(-0.3, 0.3, 2)
        lines.append(
            Coefficients(com[0] - beta * com[2], beta, com[1] - delta * com[2], delta)
        )
        coms.append(com)
    return Case(feet, mass, r_w, l_w, turn, *lines, *coms)


def against_gravity(drawn: Case) -> float:
    """Return by how much the body turned against gravity."""
    return drawn.turn + np.arctan(drawn.a.beta) - np.arctan(drawn.b.beta)


@given(seed=seeds, level=st.booleans())
def test_two_poses_recover_the_body(seed: int, level: bool) -> None:
    """CoM of both poses, r_w and l_w come back, level or not."""
    drawn = case(seed, level=level)
    assume(abs(against_gravity(drawn)) > 0.02)

    found = two_pose_com(drawn.a, drawn.b, drawn.turn, drawn.feet, drawn.mass)

    np.testing.assert_allclose(found.com_a, drawn.com_a, atol=1e-10)
    np.testing.assert_allclose(found.com_b, drawn.com_b, atol=1e-10)
    np.testing.assert_allclose(
        [found.r_w, found.l_w], [drawn.r_w, drawn.l_w], atol=1e-9
    )


def test_f_is_what_sympy_solves() -> None:
    """Eq. (14), (16), (17) for A and B, six unknowns, give our Z and D."""
    sp = pytest.importorskip("sympy")
    m2, mu, ru, lu, up, t = sp.symbols("m2 mu ru lu U t")
    aa, ba, ab, bb = sp.symbols("aa ba ab bb")
    xa, za, xb, zb, r, l = unknowns = sp.symbols("xa za xb zb r l")  # noqa: E741
    mw = m2 - mu
    equations = [
        sp.Eq(xa, aa + ba * za),
        sp.Eq(xb, ab + bb * zb),
        sp.Eq(m2 * xa, mu * ru + mw * r),
        sp.Eq(m2 * za, mu * lu + mw * (up + l)),
        sp.Eq(m2 * xb, mu * ru + mw * (l * sp.sin(t) + r * sp.cos(t))),
        sp.Eq(m2 * zb, mu * lu + mw * (up + l * sp.cos(t) - r * sp.sin(t))),
    ]
    solved = sp.solve(equations, unknowns, dict=True)[0]
    drawn = case(11)
    values = {
        m2: drawn.mass,
        mu: drawn.feet.mass,
        ru: drawn.feet.r,
        lu: drawn.feet.l,
        up: drawn.feet.ankle_height,
        t: drawn.turn,
        aa: drawn.a.alpha + 0.003,
        ba: drawn.a.beta,
        ab: drawn.b.alpha - 0.002,
        bb: drawn.b.beta,
    }
    a = drawn.a._replace(alpha=values[aa])
    b = drawn.b._replace(alpha=values[ab])

    found = two_pose_com(a, b, drawn.turn, drawn.feet, drawn.mass)

    ours = [found.com_a[2], found.com_b[2], found.r_w, found.l_w]
    oracle = [float(solved[name].subs(values)) for name in (za, zb, r, l)]
    np.testing.assert_allclose(ours, oracle, rtol=1e-11)
    wanted = sp.sin(t) * (1 + ba * bb) + sp.cos(t) * (ba - bb)
    ratio = sp.denom(sp.together(solved[zb])) / wanted
    assert not sp.simplify(ratio.subs({mu: 1, m2: 3, ru: 2, lu: 5, up: 7})).has(t)


def test_upright_alone_has_no_height() -> None:
    """θ = 0 on level ground is refused: Eq. (20) cannot be f with θ = 0."""
    feet = Feet(1.0, 0.0, 0.02, 0.1)

    with pytest.raises(EquipoiseError, match="not against gravity"):
        two_pose_com(STANDING, STANDING, 0.0, feet, 10.0)
    with pytest.raises(EquipoiseError, match="leave nothing"):
        two_pose_com(STANDING, STANDING, 0.1, feet, 1.0)


def test_turning_with_the_ground_has_no_height_either() -> None:
    """θ = φ_B − φ_A: the body kept its attitude to gravity; a slope alone does help."""
    feet = Feet(1.0, 0.0, 0.02, 0.1)
    sloped = STANDING._replace(beta=np.tan(0.2))

    with pytest.raises(EquipoiseError, match="not against gravity"):
        two_pose_com(STANDING, sloped, 0.2, feet, 10.0)
    two_pose_com(STANDING, sloped, 0.0, feet, 10.0)
