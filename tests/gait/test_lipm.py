"""The pendulum in closed form, against SciPy's integrators and its own equation."""

from __future__ import annotations

import numpy as np
import pytest
from gait.pendulum import inside, planned
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_bvp, solve_ivp

import equipoise as eq
from equipoise.arrays import Array
from equipoise.gait.lipm import (
    LipmState,
    ShiftedMotion,
    at_rest_at_both_ends,
    at_rest_at_the_end,
)


@pytest.mark.parametrize("double_support", [0.0, 0.25, 0.6])
@pytest.mark.parametrize("rise", [0.0, 0.08])
def test_the_pendulums_equation_holds(double_support: float, rise: float) -> None:
    """c̈ = ω² (c − p − h) at every time, also up stairs."""
    motion = planned(double_support=double_support, rise=rise)
    table = motion.at(inside(motion))
    virtual = table.zmp + np.array([0.0, 0.0, motion.height])
    right = motion.omega**2 * (table.com - virtual)
    np.testing.assert_allclose(table.acceleration, right, atol=1e-9)


@pytest.mark.parametrize("double_support", [0.0, 0.25])
def test_position_and_velocity_are_those_of_an_integrator(
    double_support: float,
) -> None:
    """Between two knots SciPy's solve_ivp ends where the closed form does."""
    motion = planned(double_support=double_support, rise=0.05)
    up = np.array([0.0, 0.0, motion.height])
    for k in np.flatnonzero(np.diff(motion.times) > 0.0):
        t0, t1 = motion.times[k], motion.times[k + 1]
        p0, p1 = motion.zmp[k], motion.zmp[k + 1]

        def rate(t: float, y: Array, t0=t0, t1=t1, p0=p0, p1=p1) -> Array:
            p = p0 + (p1 - p0) * (t - t0) / (t1 - t0) + up
            return np.concatenate([y[3:], motion.omega**2 * (y[:3] - p)])

        # a hair inside, where two pieces meet
        position, velocity = motion.at(np.array([t0, t1 - 1e-12]))[:2]
        found = solve_ivp(
            rate,
            (t0, t1),
            np.concatenate([position[0], velocity[0]]),
            method="DOP853",
            rtol=1e-12,
            atol=1e-13,
        )
        np.testing.assert_allclose(
            found.y[:, -1], np.concatenate([position[1], velocity[1]]), atol=1e-9
        )


def test_the_whole_walk_is_the_solution_of_the_boundary_value_problem() -> None:
    """SciPy's solve_bvp, told the ZMP and both ends alone, finds the same CoM."""
    motion = planned()
    y0, y1 = motion.zmp[0, 1], motion.zmp[-1, 1]

    def rate(t: Array, y: Array) -> Array:
        zmp = np.interp(t, motion.times, motion.zmp[:, 1])
        return np.vstack([y[1], motion.omega**2 * (y[0] - zmp)])

    mesh = np.unique(np.concatenate([inside(motion, 1500), motion.times]))
    found = solve_bvp(
        rate,
        lambda a, b: np.array([a[0] - y0, b[0] - y1]),
        mesh,
        np.zeros((2, len(mesh))),
        tol=1e-9,
        max_nodes=100_000,
    )
    assert found.success
    times = inside(motion, 777)
    position, velocity = found.sol(times)
    table = motion.at(times)
    np.testing.assert_allclose(table.com[:, 1], position, atol=1e-8)
    np.testing.assert_allclose(table.velocity[:, 1], velocity, atol=1e-7)


@pytest.mark.parametrize("rise", [0.0, 0.08])
def test_the_walk_starts_and_ends_at_rest_above_the_feet(rise: float) -> None:
    """At both ends the CoM is above the ZMP and does not move."""
    motion = planned(rise=rise)
    table = motion.at(motion.times[[0, -1]])
    above = table.zmp + np.array([0.0, 0.0, motion.height])
    np.testing.assert_allclose(table.com, above, atol=1e-12)
    np.testing.assert_allclose(table.velocity, 0.0, atol=1e-12)
    np.testing.assert_allclose(table.acceleration, 0.0, atol=1e-11)


def test_the_com_has_no_jumps() -> None:
    """Left and right of each knot are equal: C² in general, C¹ where the ZMP jumps."""
    for double_support, orders in ((0.25, 3), (0.0, 2)):
        motion = planned(double_support=double_support, rise=0.05)
        knots = motion.times[(motion.times > 0.0) & (motion.times < motion.times[-1])]
        before, after = motion.at(knots - 1e-10), motion.at(knots + 1e-10)
        for order in range(orders):
            np.testing.assert_allclose(before[order], after[order], atol=1e-8)


def test_height_is_constant_on_level_ground_and_follows_stairs() -> None:
    """On the level c_z is z exactly; up stairs it rises by as much as the feet."""
    level = planned()
    np.testing.assert_allclose(level.at(inside(level)).com[:, 2], 0.7, atol=1e-14)
    stairs = planned(rise=0.08)
    height = stairs.at(inside(stairs)).com[:, 2]
    assert height[-1] - height[0] == pytest.approx(5 * 0.08)
    assert np.diff(height).min() > -1e-4


def test_constant_zmp_gives_equation_53() -> None:
    """In single support the motion is Eq. (53) of [Sariyildiz2015]."""
    motion = planned()
    still = np.all(np.diff(motion.zmp, axis=0) == 0.0, axis=1)
    k = int(np.flatnonzero(still & (np.diff(motion.times) > 0.0))[2])
    t0, t1 = motion.times[k], motion.times[k + 1]
    times = np.linspace(t0, t1 - 1e-9, 50)
    table = motion.at(times)
    c0, v0, w = table.com[0], table.velocity[0], motion.omega
    p = motion.zmp[k] + [0.0, 0.0, motion.height]
    cosh, sinh = np.cosh(w * (times - t0)), np.sinh(w * (times - t0))
    position = np.outer(cosh, c0 - p) + np.outer(sinh, v0 / w) + p
    velocity = np.outer(w * sinh, c0 - p) + np.outer(cosh, v0)
    np.testing.assert_allclose(table.com, position, atol=1e-12)
    np.testing.assert_allclose(table.velocity, velocity, atol=1e-12)


def test_many_steps_are_as_exact_as_few() -> None:
    """200 steps, over which exp(ωt) overflows a double, still end at rest."""
    motion = planned(steps=200)
    assert motion.omega * motion.times[-1] > 590.0
    table = motion.at(motion.times[[-1]])
    np.testing.assert_allclose(table.velocity, 0.0, atol=1e-11)


@given(
    seed=st.integers(0, 2**32 - 1),
    omega=st.floats(1.0, 10.0),
    count=st.integers(4, 12),
)
def test_any_zmp(seed: int, omega: float, count: int) -> None:
    """For random ZMPs: at rest at both ends, equation and velocity consistent."""
    random = np.random.default_rng(seed)
    times = np.concatenate([[0.0], np.cumsum(random.uniform(0.2, 1.0, count))])
    zmp = random.normal(size=(count + 1, 3))
    shapes = np.zeros((2, count + 1))
    shapes[0, 1] = shapes[1, -2] = 1.0
    motion = at_rest_at_both_ends(times, zmp, shapes, omega, 1.0)
    np.testing.assert_allclose(motion.zmp[2:-2], zmp[2:-2])
    size = max(1.0, np.abs(motion.zmp).max())
    ends = motion.at(times[[0, -1]])
    np.testing.assert_allclose(ends.velocity, 0.0, atol=1e-9 * size * omega)
    middle = (times[1:] + times[:-1]) / 2.0
    step = 1e-5
    slope = (motion.at(middle + step).com - motion.at(middle - step).com) / (2 * step)
    np.testing.assert_allclose(
        motion.at(middle).velocity, slope, atol=1e-7 * size * omega**3
    )


def test_arrays_are_read_only() -> None:
    """Knots cannot be changed afterwards."""
    motion = planned()
    for name in ("times", "zmp", "dcm", "stable"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(motion, name)[0] = 1.0


def test_printed_pendulum_is_wrong_in_the_world() -> None:
    """With steps in world coordinates the pendulum needs the ZMP: Eq. (12–13)."""
    robot = eq.load("itu-biped")
    gait = eq.plan_walk(robot, 6, length=0.3)
    table = gait.at(np.linspace(0.0, gait.duration, 2000))
    share = gait.parameters.omega**2
    printed = table.com_acceleration[:, 0] - share * table.com[:, 0]
    right = printed + share * table.zmp[:, 0]
    assert np.abs(right).max() < 1e-9
    assert np.abs(printed).max() > 5.0 * np.abs(table.com_acceleration[:, 0]).max()


def test_a_pendulum_begins_in_any_state() -> None:
    """From a state it goes on over its ZMP and comes to rest, by its own equation."""
    times = np.array([0.0, 0.2, 0.8, 1.0, 1.6, 2.2, 2.8])
    zmp = np.zeros((len(times), 3))
    zmp[2:4, :2] = (0.1, 0.1)
    zmp[4:, :2] = (0.2, 0.0)
    shapes = np.zeros((2, len(times)))
    shapes[0, 1:3], shapes[1, 5] = 1.0, 1.0
    start = LipmState(np.array([0.02, -0.01, 0.8]), np.array([0.2, 0.1, 0.0]))
    motion = at_rest_at_the_end(times, zmp, shapes, 3.5, 0.8, start)

    begun, ended = motion.at(np.zeros(1)), motion.at(times[-1:])
    np.testing.assert_allclose(begun.com[0], start.com, atol=1e-14)
    np.testing.assert_allclose(begun.velocity[0], start.velocity, atol=1e-13)
    np.testing.assert_allclose(ended.com[0], zmp[-1] + [0.0, 0.0, 0.8], atol=1e-13)
    np.testing.assert_allclose(ended.velocity[0], np.zeros(3), atol=1e-12)
    table = motion.at(np.linspace(0.0, 2.8, 301))
    right = 3.5**2 * (table.com - table.zmp - [0.0, 0.0, 0.8])
    np.testing.assert_allclose(table.acceleration, right, atol=1e-12)
    fine = np.linspace(0.0, 2.8, 28001)
    moved = np.gradient(motion.at(fine).com, fine, axis=0)
    np.testing.assert_allclose(moved[1:-1], motion.at(fine).velocity[1:-1], atol=1e-6)


def test_a_continued_pendulum_is_the_one_before() -> None:
    """Planned anew on its way, with nothing changed, it goes on as it did."""
    motion = planned()
    k = 6
    begun = motion.at(motion.times[k : k + 1])
    shapes = np.zeros((2, len(motion.times) - k))
    shapes[0, 1:3], shapes[1, -2] = 1.0, 1.0
    again = at_rest_at_the_end(
        motion.times[k:],
        motion.zmp[k:],
        shapes,
        motion.omega,
        motion.height,
        LipmState(begun.com[0], begun.velocity[0]),
    )
    times = np.linspace(motion.times[k], motion.times[-1], 200)
    np.testing.assert_allclose(again.at(times).com, motion.at(times).com, atol=1e-12)
    np.testing.assert_allclose(again.zmp, motion.zmp[k:], atol=1e-12)


def test_a_shift_is_not_part_of_the_zmp_that_is_meant() -> None:
    """The pendulum moves over the shifted ZMP and tells the one that is meant."""
    motion = planned()
    shift = np.zeros((2, 3))
    shift[0, 0] = 0.01
    shifted = ShiftedMotion(motion, motion.times[[0, -1]], shift)
    times = np.linspace(0.0, motion.times[-1], 50)
    off = motion.at(times).zmp - shifted.at(times).zmp
    np.testing.assert_allclose(off[:, 0], 0.01 * (1.0 - times / times[-1]), atol=1e-15)
    assert np.array_equal(shifted.at(times).com, motion.at(times).com)
