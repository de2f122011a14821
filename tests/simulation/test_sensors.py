from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from bipeds import Biped

import equipoise as eq
from equipoise.arrays import Array
from equipoise.control.signals import Measurement, State
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.robot.anatomy.soles import placement_in_body
from equipoise.simulation.contacts import contact_point, sole_points
from equipoise.simulation.measures import ankle_zmp, foot_wrench, sole_pose, zmp
from equipoise.simulation.noise import Noise
from equipoise.simulation.sensors import Encoders, FootSensors, Imu, SensorSuite
from equipoise.simulation.world import World, make_world

POSE = pin.SE3(pin.exp3(np.array([0.3, -1.0, 2.0])), np.array([0.1, 0.2, -0.3]))


@pytest.fixture(scope="module")
def world() -> World:
    """A humanoid on flat ground."""
    return make_world(eq.load("humanoid"))


def state_at(
    world: World, q: Array, v: Array, a: Array, forces: Array, time: float = 0.0
) -> State:
    """Return a state whose contact points are where the robot has them."""
    robot = world.robot
    positions = [
        eq.frame_pose(robot, q, point.link)[:3] @ [*point.position_in_link, 1.0]
        for point in world.contacts
    ]
    torque = np.zeros(robot.nv - 6)
    return State(time, q, v, a, torque, np.array(positions), forces, np.zeros((0, 7)))


def random_state(world: World, seed: int) -> State:
    """Return a state of any pose, velocity, acceleration and contact forces."""
    robot, generator = world.robot, np.random.default_rng(seed)
    q = pin.integrate(robot.model, robot.standing, generator.normal(0, 0.4, robot.nv))
    v, a = generator.normal(0.0, 1.0, (2, robot.nv))
    forces = generator.normal(0.0, 100.0, (len(world.contacts), 3))
    return state_at(world, q, v, a, forces, time=0.1 * seed)


def resting(world: World) -> State:
    """Return the standing robot, its weight shared by all corners."""
    robot, count = world.robot, len(world.contacts)
    forces = np.zeros((count, 3))
    forces[:, 2] = robot.mass * world.gravity / count
    still = np.zeros(robot.nv)
    return state_at(world, robot.standing, still, still, forces)


def as_bytes(measurement: Measurement) -> bytes:
    """Return all numbers of a measurement."""
    feet = [part for wrench in measurement.feet.values() for part in wrench]
    arrays = [measurement.position, measurement.velocity, *feet, *measurement.imu]
    return b"".join(array.tobytes() for array in arrays)


NOISY = {
    "encoders": Encoders(Noise(1e-4, 1e-3, 1e-4, 0.2), Noise(0.01)),
    "feet": FootSensors(Noise(1.0, 2.0, 0.5), Noise(0.1, delay=0.1)),
    "imu": Imu("base_link", POSE.homogeneous, Noise(0.01), Noise(0.1), Noise(0.01)),
}


def test_without_noise_all_is_true(world):
    """Joints, soles and base are those of the state."""
    suite = SensorSuite(world, feet=FootSensors(at="sole"))
    for seed in range(5):
        state = random_state(world, seed)
        found = suite.measure(state)
        assert found.time == state.time
        np.testing.assert_array_equal(found.position, state.q[7:])
        np.testing.assert_array_equal(found.velocity, state.v[6:])
        for side, wrench in found.feet.items():
            points = (world.contacts, state.contact_position, state.contact_force)
            truth = foot_wrench(world.robot, state.q, *points, side)
            np.testing.assert_allclose(wrench.force, truth.force, atol=1e-10)
            np.testing.assert_allclose(wrench.torque, truth.torque, atol=1e-10)
        np.testing.assert_allclose(found.imu.angular_velocity, state.v[3:6], atol=1e-12)
        same = abs(float(found.imu.orientation @ state.q[3:7]))
        assert same == pytest.approx(1.0, abs=1e-12)


def test_same_seed_same_bytes(world):
    """Twice the same, also after reset; another seed is another measurement."""
    states = [random_state(world, seed) for seed in range(6)]
    suite = SensorSuite(world, **NOISY, seed=7)
    first = [as_bytes(suite.measure(state)) for state in states]
    again = SensorSuite(world, **NOISY, seed=7)
    assert [as_bytes(again.measure(state)) for state in states] == first
    suite.reset()
    assert [as_bytes(suite.measure(state)) for state in states] == first
    other = SensorSuite(world, **NOISY, seed=8)
    assert as_bytes(other.measure(states[0])) != first[0]


def test_noise_of_one_sensor_leaves_the_others_alone(world):
    """Without foot noise, IMU and encoders measure what they did with it."""
    states = [random_state(world, seed) for seed in range(4)]
    suite = SensorSuite(world, **NOISY)
    fewer = SensorSuite(world, encoders=NOISY["encoders"], imu=NOISY["imu"])
    for state in states:
        with_noise, without = suite.measure(state), fewer.measure(state)
        for one, other in zip(with_noise.imu, without.imu, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(with_noise.position, without.position)
        assert (with_noise.feet["left"].force != without.feet["left"].force).any()


def test_left_and_right_foot_have_noise_of_their_own(world):
    """Equal feet do not get equal noise."""
    suite = SensorSuite(world, feet=FootSensors(Noise(1.0), at="sole"))
    feet = suite.measure(resting(world)).feet
    assert not np.allclose(feet["left"].force, feet["right"].force, atol=1e-3)


def test_differenced_velocity_is_as_coarse_as_positions(world):
    """It is a multiple of step/dt and off by at most that; zero at first; delayed."""
    robot, dt, step, speed = world.robot, 0.002, 1e-3, 0.37
    encoders = Encoders(Noise(step=step, delay=2 * dt), None)
    suite = SensorSuite(world, encoders)
    still = resting(world)
    joints = np.full(robot.nv - 6, speed)
    reads = []
    for number in range(60):
        q = np.array(still.q)
        q[7:] += joints * dt * number
        reads.append(suite.measure(replace(still, q=q, time=number * dt)).velocity)
    assert not np.any(reads[:3])
    found = np.array(reads[3:])
    np.testing.assert_allclose(
        found * dt / step, np.round(found * dt / step), atol=1e-6
    )
    assert np.abs(found - speed).max() <= step / dt * (1 + 1e-9)
    assert np.unique(found[:, 0].round(9)).size == 2
    assert found.mean() == pytest.approx(speed, abs=step / (len(found) * dt))


def test_differences_of_a_joint_that_turns_for_ever(tmp_path):
    """A continuous joint that passes π has no jump in its velocity."""
    spinner = (
        '<link name="spinner"><inertial><mass value="0.1"/><inertia ixx="1e-3" '
        'iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="spin" type="continuous"><parent link="pelvis"/>'
        '<child link="spinner"/><axis xyz="0 0 1"/></joint>'
    )
    path = tmp_path / "biped.urdf"
    path.write_text(Biped(extra=spinner).urdf())
    robot = eq.load(path)
    world = make_world(robot)
    joint = robot.model.joints[robot.joint_id("spin")]
    suite = SensorSuite(world, Encoders(velocity=None))
    still = resting(world)
    for number in range(20):
        q = np.array(still.q)
        angle = 3.0 + 0.05 * number
        q[joint.idx_q : joint.idx_q + 2] = np.cos(angle), np.sin(angle)
        velocity = suite.measure(replace(still, q=q, time=0.01 * number)).velocity
        if number:
            assert velocity[joint.idx_v - 6] == pytest.approx(5.0)


@pytest.fixture(scope="module")
def with_toes(tmp_path_factory) -> World:
    """A biped whose toes have joints, with contact points on them and on the root."""
    toes = "".join(
        f'<link name="{side}_toes"><inertial><mass value="0.3"/><inertia ixx="1e-3" '
        'iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="{side}_toes" type="revolute"><origin xyz="0.16 0 -0.06"/>'
        f'<parent link="{side}_ankle_roll_link"/><child link="{side}_toes"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="10"/>'
        "</joint>"
        for side in ("left", "right")
    )
    path = tmp_path_factory.mktemp("toes") / "biped.urdf"
    path.write_text(Biped(extra=toes).urdf())
    robot = eq.load(path)
    root = contact_point(robot, robot.description.root, [0.1, 0.2, 0.3])
    first, *others = (
        contact_point(robot, f"{side}_toes", [0.05, y, 0.0])
        for side in ("left", "right")
        for y in (-0.05, 0.05)
    )
    contacts = (first, *sole_points(robot), root, *others)
    return make_world(robot, contacts=contacts)


@pytest.mark.parametrize("seed", range(5))
def test_toes_belong_to_the_foot(with_toes, seed):
    """Forces on toes that bend reach the sensor at the sole, those on others do not."""
    world, state = with_toes, random_state(with_toes, seed)
    imu = Imu(world.robot.description.root)
    feet = SensorSuite(world, feet=FootSensors(at="sole"), imu=imu).measure(state).feet
    points = (world.contacts, state.contact_position, state.contact_force)
    for side, wrench in feet.items():
        truth = foot_wrench(world.robot, state.q, *points, side)
        np.testing.assert_allclose(wrench.force, truth.force, atol=1e-10)
        np.testing.assert_allclose(wrench.torque, truth.torque, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["world", "with_toes"])
def test_ankle_sensors_feel_what_passes_the_joint(name, seed, request):
    """They measure Pinocchio's joint force under external forces, sign turned."""
    world = request.getfixturevalue(name)
    robot, state = world.robot, random_state(world, seed)
    found = SensorSuite(world, imu=Imu(robot.description.root)).measure(state).feet
    model = robot.model.copy()
    model.gravity.linear = np.array([0.0, 0.0, -world.gravity])
    data = model.createData()
    pin.forwardKinematics(model, data, state.q)
    outside = [pin.Force.Zero() for _ in range(model.njoints)]
    for point, position, force in zip(
        world.contacts, state.contact_position, state.contact_force, strict=True
    ):
        body, _ = world.in_body(point.link, point.position_in_link)
        in_world = pin.Force(force, np.cross(position, force))
        outside[body] += data.oMi[body].actInv(in_world)
    pin.rnea(model, data, state.q, state.v, state.a, outside)
    for side, sole in robot.soles.items():
        body, sole_in_body = placement_in_body(model, sole)
        turned = pin.SE3(sole_in_body.rotation, np.zeros(3))
        expected = -turned.actInv(data.f[body])
        np.testing.assert_allclose(found[side].force, expected.linear, atol=1e-9)
        np.testing.assert_allclose(found[side].torque, expected.angular, atol=1e-9)


def test_ankles_carry_all_but_the_feet(robot):
    """At rest they feel the weight above them, and the soles feel all of it."""
    if len(robot.soles) != 2:
        pytest.skip("no two soles")
    world = make_world(robot)
    state = resting(world)
    above = robot.mass
    for sole in robot.soles.values():
        body, _ = placement_in_body(robot.model, sole)
        above -= sum(robot.model.inertias[i].mass for i in robot.model.subtrees[body])
    for at, mass in (("ankle", above), ("sole", robot.mass)):
        feet = SensorSuite(world, feet=FootSensors(at=at)).measure(state).feet
        total = sum(
            sole_pose(robot, state.q, side)[:3, :3] @ wrench.force
            for side, wrench in feet.items()
        )
        expected = [0.0, 0.0, mass * world.gravity]
        np.testing.assert_allclose(total, expected, atol=1e-9 * robot.mass)


def test_the_ankle_finds_the_zmp_of_a_light_foot(world):
    """ZMP from ankle sensors is off by the share of the foot's weight, no more."""
    robot, state = world.robot, resting(world)
    found = SensorSuite(world).measure(state).feet["left"]
    body, sole_in_body = placement_in_body(robot.model, robot.soles["left"])
    own = [point.side == "left" for point in world.contacts]
    pose = sole_pose(robot, state.q, "left")
    truth = zmp(state.contact_position[own], state.contact_force[own]).position
    in_sole = pose[:3, :3].T @ (truth - pose[:3, 3])
    ankle = -sole_in_body.rotation.T @ sole_in_body.translation
    point = ankle_zmp(found, ankle[2]).position
    point[:2] += ankle[:2]
    foot = sum(robot.model.inertias[i].mass for i in robot.model.subtrees[body])
    load = state.contact_force[own, 2].sum()
    arm = robot.soles["left"].size[0]
    assert np.abs(point - in_sole).max() < arm * foot * world.gravity / load


def test_imu_at_rest_reads_gravity_upwards(world):
    """Level it reads +g along z; tilted, the same in the axes of the IMU."""
    for pose in (pin.SE3.Identity(), POSE):
        suite = SensorSuite(world, imu=Imu("torso", pose.homogeneous))
        reading = suite.measure(resting(world)).imu
        rotation = pin.Quaternion(reading.orientation).matrix()
        upwards = [0.0, 0.0, world.gravity]
        np.testing.assert_allclose(
            rotation @ reading.specific_force, upwards, atol=1e-12
        )
        assert not reading.angular_velocity.any()


def test_imu_in_free_fall_reads_nothing(world):
    """Dropped with no spin, all links accelerate with gravity."""
    robot, still = world.robot, resting(world)
    model = robot.model.copy()
    model.gravity.linear = np.array([0.0, 0.0, -world.gravity])
    v = np.zeros(robot.nv)
    v[:3] = [0.3, -0.2, 1.0]
    a = pin.aba(model, model.createData(), still.q, v, np.zeros(robot.nv))
    reading = SensorSuite(world, imu=Imu("head", POSE.homogeneous)).measure(
        replace(still, v=v, a=np.array(a))
    )
    np.testing.assert_allclose(reading.imu.specific_force, 0.0, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_imu_against_finite_differences(world, seed):
    """Rates and accelerations are those of poses a moment before and after."""
    robot, state = world.robot, random_state(world, seed)
    frame = robot.legs["left"].end_link
    imu = Imu(frame, POSE.homogeneous)
    found = SensorSuite(world, imu=imu).measure(state).imu
    h = 1e-4
    before, now, after = (
        eq.frame_pose(
            robot,
            pin.integrate(robot.model, state.q, state.v * t + state.a * t * t / 2),
            frame,
        )
        @ POSE.homogeneous
        for t in (-h, 0.0, h)
    )
    rate = pin.log3(before[:3, :3].T @ after[:3, :3]) / (2 * h)
    np.testing.assert_allclose(found.angular_velocity, rate, atol=1e-5)
    acceleration = (before - 2 * now + after)[:3, 3] / h**2
    acceleration[2] += world.gravity
    force = now[:3, :3].T @ acceleration
    np.testing.assert_allclose(found.specific_force, force, atol=1e-4)
    same = pin.Quaternion(found.orientation).matrix()
    np.testing.assert_allclose(same, now[:3, :3], atol=1e-12)


def test_copies_go_on_by_themselves(world):
    """A copied suite measures what the original would, and disturbs it not."""
    states = [random_state(world, seed) for seed in range(6)]
    suite = SensorSuite(world, **NOISY)
    expected = [as_bytes(suite.measure(state)) for state in states]
    suite.reset()
    for state in states[:3]:
        suite.measure(state)
    for other in (copy.deepcopy(suite), pickle.loads(pickle.dumps(suite))):
        assert [as_bytes(other.measure(s)) for s in states[3:]] == expected[3:]
    assert [as_bytes(suite.measure(s)) for s in states[3:]] == expected[3:]


def test_measurements_do_not_change_afterwards(world):
    """The arrays of a measurement are its own, with delay and without."""
    for sensors in (NOISY, {}):
        suite = SensorSuite(world, **sensors)
        found = [suite.measure(random_state(world, seed)) for seed in range(4)]
        kept = [as_bytes(measurement) for measurement in found]
        for seed in range(4, 8):
            suite.measure(random_state(world, seed))
        assert [as_bytes(measurement) for measurement in found] == kept


@pytest.mark.parametrize("name", ["q", "v", "a", "contact_force"])
def test_states_that_lack_something_are_refused(world, name):
    """An estimate knows no accelerations, say: the error says what is needed."""
    state = resting(world)
    needed = getattr(state, name)
    bad = replace(state, **{name: needed[:0]})
    shape = re.escape(str(needed.shape))
    with pytest.raises(ShapeError, match=rf"{name} of the state .* {shape} is needed"):
        SensorSuite(world).measure(bad)


def test_time_does_not_go_back(world):
    """An earlier state is refused, unless the sensors are reset."""
    suite = SensorSuite(world)
    suite.measure(replace(resting(world), time=1.0))
    with pytest.raises(EquipoiseError, match=r"a state at 0.5 s after one at 1 s"):
        suite.measure(replace(resting(world), time=0.5))
    suite.reset()
    assert suite.measure(replace(resting(world), time=0.5)).time == 0.5


def test_impossible_sensors_are_refused(world):
    """The error names the frame, the place or the figure."""
    with pytest.raises(NameNotFoundError, match="no frame 'nose'"):
        SensorSuite(world, imu=Imu("nose"))
    with pytest.raises(EquipoiseError, match="no foot sensors at 'knee'"):
        FootSensors(at="knee")  # type: ignore[arg-type]
    with pytest.raises(EquipoiseError, match="must be a pose"):
        Imu(transform_imu_to_frame=2.0 * np.eye(4))
    with pytest.raises(EquipoiseError, match="seed of sensors is -1"):
        SensorSuite(world, seed=-1)
    with pytest.raises(ShapeError, match=r"noise of specific_force: bias has shape"):
        SensorSuite(world, imu=Imu(specific_force=Noise(bias=[1.0, 2.0])))
