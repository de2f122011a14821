import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.control.signals import Command, State
from equipoise.errors import ShapeError
from equipoise.kinematics.com import com
from equipoise.log.run import Run
from equipoise.planar.parameters import PlanarModelError
from equipoise.simulation.simulate import EngineName, make_engine
from equipoise.simulation.three_link_blocks import planar_state, robot_state
from equipoise.simulation.three_link_robot import left_out_inertia

PARAMETERS = eq.ThreeLinkParameters(0.8, 0.35, 4.0, 12.0, 9.0, 9.7)


@pytest.fixture(scope="module")
def gait() -> eq.PlanarGait:
    """A gait of a biped that no catalogue has."""
    return eq.find_gait(PARAMETERS, 0.7)


@pytest.fixture(scope="module")
def replayed(gait: eq.PlanarGait) -> Run:
    """20 steps in the native engine."""
    return eq.replay_three_link(gait, 20)


def test_twenty_steps_near_the_model(replayed: Run, gait: eq.PlanarGait) -> None:
    """On stiff ground the biped walks as the planar model does, to a few per cent."""
    summary = replayed.summary
    assert summary["achieved"], summary["sentence"]
    assert summary["steps_done"] == 20
    model = gait.poincare.step
    assert summary["model"]["speed_mps"] == pytest.approx(model.speed, rel=1e-6)
    assert summary["speed_mps"] == pytest.approx(model.speed, rel=0.03)
    assert summary["step_time_s"] == pytest.approx(model.duration, rel=0.03)
    assert summary["step_length_m"] == pytest.approx(model.length, rel=0.01)
    assert replayed.com[-1, 0] == pytest.approx(20 * model.length, rel=0.05)


def test_the_walk_is_planar_and_says_what_is_masked(replayed: Run) -> None:
    """Nothing leaves the plane; no foot is pushed before it has passed the other."""
    assert max(replayed.summary["out_of_plane"].values()) < 1e-9
    assert any("masked" in notice for notice in replayed.summary["notices"])
    left, right = (replayed.contact_position[:, n, 0] for n in (0, 2))
    pushed = replayed.contact_force[:, ::2, 2] > 0.0
    for ahead, foot in ((left - right, 0), (right - left, 1)):
        alone = pushed[:, foot] & ~pushed[:, 1 - foot]
        # one that carries is the stance foot: it came down ahead, or is still behind
        begins = np.flatnonzero(np.diff(alone.astype(int)) == 1) + 1
        assert (ahead[begins] > 0.1 * PARAMETERS.leg_length).all()
    assert (pushed.sum(axis=1) <= 1).mean() > 0.99


def test_other_engine_and_perturbed_start(gait: eq.PlanarGait) -> None:
    """MuJoCo walks it too, and a start that is 5 % off is no fall."""
    run = eq.replay_three_link(gait, 4, engine="mujoco", start=0.95 * gait.start)
    assert run.summary["fell_at_s"] is None
    assert run.summary["steps_done"] == 4


def test_states_are_those_of_the_planar_model() -> None:
    """CoM, its velocity and the angles of a robot agree with the planar model."""
    model, robot = eq.ThreeLink(PARAMETERS), eq.three_link_robot(PARAMETERS)
    for x in np.random.default_rng(3).uniform(-1.0, 1.0, (20, 6)):
        q, v = robot_state(robot, x, PARAMETERS.leg_length)
        np.testing.assert_allclose(planar_state(State(0.0, q, v), "left"), x)
        np.testing.assert_allclose(com(robot, q)[[0, 2]], model.com(x[:3]), atol=1e-12)
        pin.centerOfMass(robot.model, robot.data, q, v)
        np.testing.assert_allclose(
            robot.data.vcom[0][[0, 2]], model.com_velocity(x), atol=1e-12
        )
        # spheres have a little more energy than points
        energy = pin.computeKineticEnergy(robot.model, robot.data, q, v)
        assert 0.0 < energy - model.kinetic_energy(x) < 0.02


def test_parameters_of_robots() -> None:
    """A robot made of parameters has these, as the catalogue's has the seed's."""
    robot = eq.three_link_robot(PARAMETERS)
    assert eq.parameters_of(robot, 9.7).values() == pytest.approx(PARAMETERS.values())
    catalogue = eq.load("three-link")
    assert eq.parameters_of(catalogue) == eq.ThreeLinkParameters.named("seed")
    assert left_out_inertia(catalogue) == pytest.approx(1.6e-3)
    with pytest.raises(PlanarModelError, match="humanoid is not a three-link biped"):
        eq.parameters_of(eq.load("humanoid"))


@pytest.mark.parametrize("name", ["native", "mujoco"])
def test_masked_points_touch_nothing(name: EngineName) -> None:
    """A robot whose points are all masked falls freely; a reset unmasks them."""
    robot = eq.three_link_robot(PARAMETERS)
    engine = make_engine(name, eq.make_world(robot))
    still = np.zeros(2)
    hold = Command(np.zeros(2), still, still)
    engine.mask_contacts(np.ones(4, dtype=bool))
    state = engine.step(hold, 100)
    assert not state.contact_force.any()
    fallen = robot.standing[2] - state.q[2]
    assert fallen == pytest.approx(0.5 * 9.80665 * 0.1**2, rel=0.02)
    engine.reset(robot.standing)
    engine.mask_contacts([True, True, False, False])
    state = engine.step(hold, 20)
    assert not state.contact_force[:2].any()
    assert state.contact_force[2:, 2].sum() > 100.0
    engine.reset(robot.standing)
    assert (engine.step(hold, 20).contact_force[:, 2] > 0.0).all()
    with pytest.raises(ShapeError, match=r"\(4,\), not \(3,\)"):
        engine.mask_contacts([True, False, False])
