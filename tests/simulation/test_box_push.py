"""A walk to a box: what is planned, what is refused, and what hands feel."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.balance.whole_body.hands import hands_of
from equipoise.control.signals import Command, State
from equipoise.errors import EquipoiseError
from equipoise.simulation.box_plan import plan_box
from equipoise.simulation.box_push import walk_to_box
from equipoise.simulation.contacts import Material, contact_point
from equipoise.simulation.feedback import usual_sensors
from equipoise.simulation.hand_sensors import HandForceSensors
from equipoise.simulation.simulate import ENGINES, EngineName, make_engine
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import Box, make_world


@pytest.fixture(scope="module")
def world() -> eq.World:
    """Return the world of a humanoid whose joints are told torques."""
    return trial_world(eq.load("humanoid"), mode="torque")


@pytest.mark.parametrize(
    ("distance", "force", "asked", "words"),
    [
        (0.1, 40.0, {}, "nearer than humanoid can stand .* at least 0.31 m"),
        (1.5, 400.0, {}, "400 N is too much .* at most 1.. N; the soles"),
        (1.5, 1.0, {}, "too little for humanoid to feel: at least"),
        (1.5, 40.0, {"mass": 50.0}, "does not slide with 40 N: .* 13.60 kg"),
        (1.5, 40.0, {"size": (0.2, 1.0, 1.5)}, "0.2 m deep tips over"),
        (1.5, 40.0, {"size": (2.0, 1.0, 0.5)}, "0.5 m high is lower than the hands"),
        (1.5, 40.0, {"size": (2.0, 0.1, 1.5)}, "0.1 m wide is narrower"),
    ],
)
def test_what_cannot_be_is_refused(
    world: eq.World, distance: float, force: float, asked: dict[str, float], words: str
) -> None:
    """In a line that says what is possible."""
    with pytest.raises(EquipoiseError, match=words):
        plan_box(world, world.robot, distance, force, **asked)  # type: ignore[arg-type]


def test_a_robot_without_arms_pushes_no_box() -> None:
    """It is refused by name."""
    with pytest.raises(EquipoiseError, match="itu-biped has no arms to push"):
        walk_to_box(eq.load("itu-biped"), 1.5, 20.0)


def test_a_plan_balances_its_force(world: eq.World) -> None:
    """CoM and ZMP under the force lie equally far from the middle of the soles."""
    robot = world.robot
    plan = plan_box(world, robot, 0.4, 40.0)
    lever = 40.0 * plan.height / (robot.mass * world.gravity)
    end = plan.motion.q[-1]
    soles = np.concatenate([eq.support_polygon(robot, end)])[:, 0]
    middle = 0.5 * (soles.min() + soles.max())
    com = eq.com(robot, end)[0] + plan.push.lean
    assert com - middle == pytest.approx(0.5 * lever, abs=2e-3)
    friction = plan.box.material
    assert friction is not None
    held = friction.static_friction * plan.box.mass * world.gravity
    assert held < 40.0 < 1.5 * held
    face = plan.box.centre[0] - 0.5 * plan.box.size[0]
    assert face == pytest.approx(0.4)
    for path in plan.push.ready.hands.values():
        assert path[-1, 0] < face


def test_hands_feel_the_force_on_their_points(world: eq.World) -> None:
    """In axes of the hand, without noise and delay exactly."""
    robot = world.robot
    hand = hands_of(robot)["left"]
    point = contact_point(robot, hand.link, hand.point_in_link)
    world = make_world(robot, contacts=(*world.contacts, point))
    sensors = HandForceSensors(usual_sensors(world), hands_of(robot).values())
    forces = np.zeros((len(world.contacts), 3))
    forces[-1] = -20.0, 1.0, 2.0
    q = robot.standing
    still = np.zeros(robot.nv)
    state = State(0.0, q, still, still, still[6:], np.zeros_like(forces), forces)
    felt = sensors.measure(state).hands
    rotation = eq.frame_pose(robot, q, hand.link)[:3, :3]
    np.testing.assert_allclose(felt["left"], rotation.T @ forces[-1], atol=1e-12)
    np.testing.assert_array_equal(felt["right"], 0.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_box_rests_on_its_own_material(world: eq.World, engine: EngineName) -> None:
    """It sinks in by its weight over its own stiffness, not the world's."""
    soft = Material(5e3, 2e2, 0.3, 0.25)
    size = np.array([0.4, 0.3, 0.2])
    box = Box(np.array([2.0, 0.0, 0.1]), size, 5.0, material=soft)
    own = make_world(world.robot, boxes=(box,))
    plant = make_engine(engine, own)
    plant.reset(world.robot.standing)
    joints = eq.joint_positions(world.robot, world.robot.standing)
    still = np.zeros_like(joints)
    state = plant.step(Command(joints, still, still), 600)
    sunk = 5.0 * own.gravity / (4.0 * soft.stiffness)
    assert 0.1 - state.boxes[0, 2] == pytest.approx(sunk, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_box_is_touched_and_pushed(world: eq.World, engine: EngineName) -> None:
    """Without a peak, with the force that is wanted; the box moves as it should."""
    run = walk_to_box(world.robot, 0.4, 40.0, engine=engine)
    assert run.summary["achieved"], run.summary["sentence"]
    assert run.summary["peak_force_n"] < 60.0
    assert run.summary["steady_force_n"]["mean"] == pytest.approx(40.0, rel=0.1)
    expected = run.summary["expected_acceleration_mps2"]
    found = run.summary["box_acceleration_mps2"]
    assert found == pytest.approx(expected, rel=0.1)
    said = [event.text for event in run.events]
    assert said[0] == "walks"
    assert said.index("touches the box") < said.index("pushes")
