"""A push against a standing robot, its theoretical limit, and the limits found."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import equipoise as eq
from equipoise.control.signals import Command
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.gait.standing import standing_reference
from equipoise.kinematics.support import (
    distance_to_edge,
    polygon_margin,
    support_polygon,
)
from equipoise.simulation.feedback import Feedback
from equipoise.simulation.push import (
    LONGER,
    SECONDS,
    impulse_limit,
    push,
    theoretical_limit,
)
from equipoise.simulation.push_limits import (
    HARDER,
    RESOLUTION,
    equal_directions,
    find_push_limits,
    push_around,
    pushes_summary,
)
from equipoise.simulation.simulate import ENGINES, EngineName, make_engine
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import horizontal_push, with_friction

MASS, OMEGA, DISTANCE, DURATION = 40.0, 3.6, 0.1, 0.1


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """Return the catalogue's humanoid."""
    return eq.load("humanoid")


def pendulum(
    impulse: float, direction: float, zmp: np.ndarray, seconds: float = 3.0
) -> np.ndarray:
    """Return where a pendulum that is pushed from rest is at the end, shape (2,)."""
    along = np.array([math.cos(direction), math.sin(direction)])
    start = np.zeros(4)
    for duration, force in ((DURATION, impulse / DURATION), (seconds, 0.0)):

        def rate(_: float, y: np.ndarray, force: float = force) -> np.ndarray:
            return np.concatenate(
                [y[2:], OMEGA**2 * (y[:2] - zmp) + force / MASS * along]
            )

        start = solve_ivp(rate, (0.0, duration), start, rtol=1e-11, atol=1e-13).y[:, -1]
    return start[:2]


def test_the_limit_is_where_the_pendulum_turns_over() -> None:
    """ZMP at the edge from the start: below J* it comes back, above it goes over."""
    limit = impulse_limit(MASS, OMEGA, DISTANCE, DURATION)
    edge = np.array([DISTANCE, 0.0])
    assert pendulum((1.0 - 1e-3) * limit, 0.0, edge)[0] < DISTANCE
    assert pendulum((1.0 + 1e-3) * limit, 0.0, edge)[0] > DISTANCE
    # at J* itself it comes to rest above the edge
    assert pendulum(limit, 0.0, edge, 2.0)[0] == pytest.approx(DISTANCE, rel=2e-3)


def test_the_limit_of_a_blow() -> None:
    """J* tends to m ω d for short pushes, and grows with the duration."""
    blow = MASS * OMEGA * DISTANCE
    assert impulse_limit(MASS, OMEGA, DISTANCE, 0.0) == pytest.approx(blow)
    assert impulse_limit(MASS, OMEGA, DISTANCE, 1e-9) == pytest.approx(blow)
    longer = [impulse_limit(MASS, OMEGA, DISTANCE, t) for t in (0.05, 0.1, 0.2)]
    assert blow < longer[0] < longer[1] < longer[2]


def test_no_zmp_inside_the_polygon_does_better() -> None:
    """In the plane, too: no ZMP of a convex polygon saves a push beyond J*."""
    rng = np.random.default_rng(0)
    polygon = np.array([[0.12, 0.1], [-0.08, 0.1], [-0.08, -0.1], [0.12, -0.1]])
    # the DCM at the end of a push from rest, the ZMP constant
    grown = math.exp(OMEGA * DURATION) - 1.0
    for direction in rng.uniform(-math.pi, math.pi, 8):
        along = np.array([math.cos(direction), math.sin(direction)])
        distance = distance_to_edge(polygon, np.zeros(2), direction)
        force = impulse_limit(MASS, OMEGA, distance, DURATION) / DURATION
        moved = force / (MASS * OMEGA**2) * along
        inside = rng.dirichlet(np.ones(4), 50) @ polygon
        zmps = np.vstack([inside, polygon, distance * along])
        beyond = polygon_margin(polygon, grown * (1.01 * moved - zmps))
        assert beyond.max() < 0.0
        within = polygon_margin(polygon, grown * (0.99 * moved - distance * along))
        assert within > 0.0


def test_the_limit_of_a_robot(humanoid: eq.Robot) -> None:
    """From mass, CoM height and the support polygon; the same in its world."""
    q = humanoid.standing
    centre = eq.com(humanoid, q)
    omega = math.sqrt(9.80665 / centre[2])
    ahead = np.asarray(support_polygon(humanoid, q))[:, 0].max() - centre[0]
    expected = impulse_limit(humanoid.mass, omega, ahead)
    assert theoretical_limit(humanoid, 0.0) == pytest.approx(expected)
    assert theoretical_limit(trial_world(humanoid), 0.0) == pytest.approx(expected)


def test_the_distance_to_the_edge() -> None:
    """Along a ray, zero at the edge and outside."""
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    assert distance_to_edge(square, [0.0, 0.0], 0.0) == pytest.approx(1.0)
    diagonal = distance_to_edge(square, [0.0, 0.0], 0.25 * math.pi)
    assert diagonal == pytest.approx(math.sqrt(2.0))
    assert distance_to_edge(square, [0.5, 0.0], math.pi) == pytest.approx(1.5)
    assert distance_to_edge(square, [1.0, 0.0], 0.0) == 0.0
    assert distance_to_edge(square, [2.0, 0.0], math.pi) == 0.0


def test_the_reference_of_standing_is_complete(humanoid: eq.Robot) -> None:
    """Everything that a controller may want, at rest, ZMP below the CoM."""
    q = np.array(humanoid.standing)
    q[:2] = 0.3, -0.2
    half = 0.25 * math.pi
    q[3:7] = 0.0, 0.0, math.sin(half / 2), math.cos(half / 2)
    target = standing_reference(humanoid, q).sample(1.0)
    centre = eq.com(humanoid, q)
    for name in ("com", "dcm"):
        np.testing.assert_allclose(getattr(target, name), centre)
    np.testing.assert_allclose(target.zmp, [*centre[:2], 0.0], atol=1e-9)
    for rates in (target.velocity, target.com_velocity, target.com_acceleration):
        assert rates is not None
        assert not rates.any()
    assert target.support == "both"
    assert target.soles is not None
    assert target.sole_twists is not None
    assert target.sole_accelerations is not None
    assert target.torso is not None
    assert set(target.soles) == set(target.sole_twists) == {"left", "right"}
    assert not any(twist.any() for twist in target.sole_accelerations.values())
    c, s = math.cos(half), math.sin(half)
    turned = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(target.torso, turned, atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_soft_push_is_survived(humanoid: eq.Robot, engine: EngineName) -> None:
    """The robot moves, and is back; the CoM gains what the impulse says."""
    run = push(humanoid, 8.0, feedback=False, engine=engine)
    results = run.summary
    assert results["achieved"] is True, results["sentence"]
    assert results["sentence"] == "humanoid stood after a push of 8 N s towards 0°."
    assert results["feedback"] == "none"
    assert results["duration_s"] == SECONDS
    assert results["impulse_nspkg"] == pytest.approx(8.0 / humanoid.mass)
    limit = theoretical_limit(humanoid, 0.0)
    assert results["limit_fraction"] == pytest.approx(8.0 / limit)
    assert 0.0 < results["com_end_m"] < results["com_excursion_m"] < 0.05
    assert {event.text for event in run.events} == {"pushed at torso, 8 N s"}


def test_a_hard_push_is_not(humanoid: eq.Robot) -> None:
    """Twice J* makes it fall; the sentence says why."""
    results = push(humanoid, 2.0 * theoretical_limit(humanoid, 0.0)).summary
    assert results["achieved"] is False
    assert results["fell_at_s"] is not None
    assert "fell at" in results["sentence"]
    assert results["duration_s"] < SECONDS


def test_a_pull_is_a_push_from_the_other_side(humanoid: eq.Robot) -> None:
    """Opposite direction, at any link."""
    run = push(humanoid, 5.0, 0.0, link="pelvis", pull=True, feedback=False)
    (pushed,) = run.summary["pushes"]
    assert pushed["direction_deg"] == 180.0
    assert pushed["link"] == "pelvis"
    assert "a pull of 5 N s towards 180°" in run.summary["sentence"]


def test_soles_that_slip_are_no_success(humanoid: eq.Robot) -> None:
    """On ice the robot is upright, its feet elsewhere: not achieved."""
    world = eq.make_world(humanoid, material=slippery(humanoid))
    results = push(world, 12.0, feedback=False).summary
    assert results["fell_at_s"] is None
    assert results["achieved"] is False
    failed = [check["name"] for check in results["checks"] if not check["passed"]]
    assert "soles slip" in failed


def slippery(robot: eq.Robot) -> eq.Material:
    """Return a material with hardly any friction."""
    world = with_friction(eq.make_world(robot), 0.02)
    return world.material


class Counting:
    """Hands on what is wanted, and counts."""

    def __init__(self) -> None:
        """Begin with none."""
        self.calls = 0
        self.target: eq.Target | None = None

    def reset(self, start: eq.State) -> None:
        """Begin anew."""
        self.calls = 0

    def control(self, known: object, target: eq.Target) -> eq.Command:
        """Return position, velocity and torque as they are wanted."""
        self.calls += 1
        self.target = target
        return eq.Command(target.position, target.velocity, target.torque)


def test_feedback_of_ones_own(humanoid: eq.Robot) -> None:
    """It is asked once in its period, with sensors if it has them."""
    controller = Counting()
    sensors = eq.SensorSuite(trial_world(humanoid))
    mine = Feedback(controller, sensors, None, 5e-3)
    run = push(humanoid, 8.0, feedback=mine, seconds=2.0)
    assert controller.calls == 400
    assert controller.target is not None
    assert controller.target.support == "both"
    assert run.measured is not None
    assert run.summary["feedback"] == "sensors"
    assert push(humanoid, 8.0, seconds=2.0).summary["feedback"] != "none"


def test_a_limit_is_found(humanoid: eq.Robot) -> None:
    """What is survived is, what is not is not, and they are close to each other."""
    (found,) = find_push_limits(humanoid, [0.0], feedback=False)
    assert 0.3 < found.fraction < HARDER
    assert found.per_kilogram == pytest.approx(found.impulse / humanoid.mass)
    gap = found.refused - found.impulse
    assert 0.0 < gap <= RESOLUTION * found.theoretical
    assert push(humanoid, found.impulse, feedback=False).summary["achieved"]
    refused = push(humanoid, found.refused, feedback=False).summary
    assert not refused["achieved"]
    assert found.reason == refused["sentence"]
    assert refused["duration_s"] <= LONGER


def test_the_summary_of_several_pushes(humanoid: eq.Robot) -> None:
    """Rows by direction, J* around the robot, a sentence."""
    world = trial_world(humanoid)
    directions = equal_directions(2)
    runs = push_around(world, 8.0, directions, feedback=False)
    results = pushes_summary(world, runs)
    assert results["achieved"] is True
    assert results["sentence"] == "humanoid stood after 2 of 2 pushes of 8 N s."
    assert [row["direction_deg"] for row in results["directions"]] == [0.0, 180.0]
    curve = np.array(results["theoretical"])
    assert curve[0, 1] == pytest.approx(theoretical_limit(humanoid, 0.0))
    assert curve[0, 1] == pytest.approx(curve[-1, 1])


def test_impossible_pushes_are_refused(humanoid: eq.Robot) -> None:
    """One line that says what is wrong."""
    with pytest.raises(NameNotFoundError, match="no link 'nose'"):
        push(humanoid, 5.0, link="nose")
    with pytest.raises(EquipoiseError, match="must be positive"):
        push(humanoid, 0.0)
    with pytest.raises(EquipoiseError, match="too short"):
        push(humanoid, 5.0, seconds=1.0)
    with pytest.raises(EquipoiseError, match="feedback of ours"):
        push(humanoid, 5.0, feedback=False, true_state=True)
    with pytest.raises(EquipoiseError, match="1 to 360"):
        equal_directions(0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_push_can_be_changed_while_it_runs(
    humanoid: eq.Robot, engine: EngineName
) -> None:
    """It is as if the world had had it from the start; others are refused."""
    late, soon = (horizontal_push(humanoid, 5.0, 1.0, at) for at in (9.0, 0.0305))
    joints = humanoid.standing[7:]
    command = Command(joints, 0.0 * joints, 0.0 * joints)
    world = trial_world(humanoid, pushes=(soon,))
    planned = make_engine(engine, world)
    planned.reset(humanoid.standing)
    expected = planned.step(command, 100)
    changed = make_engine(engine, replace(world, pushes=(late,)))
    changed.reset(humanoid.standing)
    changed.step(command, 30)
    changed.set_push(soon)
    got = changed.step(command, 70)
    np.testing.assert_array_equal(got.q, expected.q)
    assert got.v[1] > 1e-3  # it stood still, and is pushed to the left
    with pytest.raises(EquipoiseError, match="none of index 1"):
        changed.set_push(soon, 1)
    with pytest.raises(EquipoiseError, match="cannot be moved"):
        changed.set_push(replace(soon, point_in_link=np.ones(3)))
