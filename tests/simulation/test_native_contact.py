from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from simulation.blocks import HALF, G, commands, corners, idle, make_block, pose, run

import equipoise as eq
from equipoise.arrays import Array
from equipoise.kinematics.terrain import Flat, HeightField, Slope, Stairs, Terrain
from equipoise.kinematics.terrain import rough as rough_ground
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.contacts import Material
from equipoise.simulation.engine import Trace
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import Push, World, make_world

# Half edges of points at the height of the CoM: friction does not tip the block.
LEVEL = np.array([0.1, 0.1, 0.0])


def world_of(
    robot: eq.Robot, material: Material, terrain: Terrain | None = None, **options
) -> World:
    """Return a block that touches with its four lower corners."""
    half = options.pop("half", HALF)
    points = corners(robot, half)
    return make_world(robot, terrain, contacts=points, material=material, **options)


def lying_on(slope: Slope, depth: float, half: Array = HALF) -> Array:
    """Return the configuration of a block flat on a slope, so deep in it."""
    up = slope.normal
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), up)
    return pose(up * (half[2] - depth), turn.toRotationMatrix())


def downhill(slope: Slope) -> Array:
    """Return the unit vector down a slope."""
    down = np.array([0.0, 0.0, -1.0])
    down = down + slope.normal * slope.normal[2]
    return down / np.linalg.norm(down)


def spring_damper(
    mass: float, height: float, k: float, b: float, seconds: float
) -> solve_ivp:
    """Return the height of a body that falls on a spring and damper, over time."""

    def motion(_: float, state: Array) -> list[float]:
        z, speed = state
        force = max(-k * z - b * speed, 0.0) if z < 0.0 else 0.0
        return [speed, force / mass - G]

    return solve_ivp(
        motion,
        (0.0, seconds),
        [height, 0.0],
        rtol=1e-10,
        atol=1e-12,
        max_step=1e-3,
        dense_output=True,
    ).sol


@pytest.mark.parametrize(
    ("mass", "k", "b"),
    [(10.0, 6e4, 600.0), (10.0, 1e6, 6e3), (0.1, 6e4, 6e3), (500.0, 6e4, 6e3)],
)
@pytest.mark.parametrize("dt", [1e-3, 2e-3])
def test_block_at_rest(mass: float, k: float, b: float, dt: float) -> None:
    """ΣFz = m g, each corner sinks in by m g/(4 k), nothing pulls sideways."""
    robot = make_block(mass)
    trace = run(world_of(robot, Material(k, b)), 3.0, pose([0, 0, HALF[2]]), dt=dt)
    last = trace.at(-1)
    total = last.contact_force.sum(axis=0)
    assert total[2] == pytest.approx(mass * G, rel=1e-6)
    assert np.abs(total[:2]).max() < 1e-9 * mass
    sunk = mass * G / (4.0 * k)
    assert np.abs(last.contact_position[:, 2] + sunk).max() < 1e-6 * sunk
    assert np.abs(last.v).max() < 1e-9
    # never thrown up, never pulled down
    assert trace.q[:, 2].max() <= HALF[2] + 1e-9


def test_robots_at_rest(robot: eq.Robot) -> None:
    """ΣFz = m g, the soles sink in by m g/(n k) on average, nothing is left moving."""
    world = make_world(robot)
    engine = NativeEngine(world)
    engine.reset(robot.standing)
    held = joint_positions(robot, robot.standing)
    if not world.contacts:
        pytest.skip("no soles")
    trace = engine.advance(commands(robot, 4000, position=held), every=100)
    last = trace.at(-1)
    total = last.contact_force.sum(axis=0)
    weight = robot.mass * G
    print(f"{robot.name}: ΣFz / m g - 1 = {total[2] / weight - 1.0:.1e}")
    assert total[2] == pytest.approx(weight, rel=1e-6)
    assert np.abs(total[:2]).max() < 1e-6 * weight
    sunk = weight / (len(world.contacts) * world.material.stiffness)
    assert -last.contact_position[:, 2].mean() == pytest.approx(sunk, rel=1e-5)
    # no moment about the CoM is left either
    arm = last.contact_position - eq.com(robot, last.q)
    moment = np.cross(arm, last.contact_force).sum(axis=0)
    assert np.abs(moment).max() < 1e-6 * weight


@pytest.mark.parametrize("dt", [1e-3, 2e-3])
@pytest.mark.parametrize("k", [6e4, 2.5e5, 1e6])
def test_stiff_soles_are_stable(g1_urdf, k: float, dt: float) -> None:
    """G1 stands on soles of 6e4 to 1e6 N/m with damping of 6e3 N s/m."""
    robot = eq.load(g1_urdf)
    world = make_world(robot, material=Material(k, 6e3))
    engine = NativeEngine(world, dt)
    q = robot.standing.copy()
    q[2] += 0.01  # dropped from a centimetre
    engine.reset(q)
    held = joint_positions(robot, q)
    trace = engine.advance(commands(robot, round(4.0 / dt), position=held), every=20)
    total = trace.contact_force.sum(axis=1)[-1]
    assert total[2] == pytest.approx(robot.mass * G, rel=1e-5)
    assert np.abs(trace.v[-1]).max() < 1e-5
    moved = np.asarray(eq.com(robot, trace.q)) - eq.com(robot, q)
    assert np.abs(moved[:, :2]).max() < 0.01


def bounce_errors(mass: float, k: float, b: float, steps: Array) -> Array:
    """Return the largest error of the height over two bounces, for time steps."""
    robot = make_block(mass)
    exact = spring_damper(mass, 0.2, 4.0 * k, 4.0 * b, 0.6)
    errors = []
    for dt in steps:
        trace = run(
            world_of(robot, Material(k, b)),
            0.6,
            pose([0, 0, HALF[2] + 0.2]),
            dt=dt,
            every=round(1e-3 / dt),
        )
        height = trace.q[:, 2] - HALF[2]
        errors.append(np.abs(height - exact(trace.time)[0]).max())
    print(f"bounce, {mass} kg on 4 × {k:g} N/m: {errors} m")
    return np.array(errors)


@pytest.mark.parametrize(("mass", "k", "b"), [(10.0, 2e4, 40.0), (50.0, 1e5, 200.0)])
def test_bounce_is_that_of_a_spring_and_damper(mass: float, k: float, b: float) -> None:
    """A dropped block follows the analytic spring-damper, the closer the finer dt.

    The fall alone is off by g t dt/2, and touching is noticed up to dt late: an error
    of the order of speed × dt.
    """
    steps = np.array([1e-3, 1e-4, 1e-5])
    speed = np.sqrt(2.0 * G * 0.2)
    assert (bounce_errors(mass, k, b, steps) < 2.0 * speed * steps).all()


@pytest.mark.parametrize(("mass", "k", "b"), [(10.0, 2e4, 0.0), (1.0, 6e4, 30.0)])
def test_bounce_with_little_damping_converges(mass: float, k: float, b: float) -> None:
    """Where the scheme damps more than the material does (b < k dt), it is by O(dt)."""
    errors = bounce_errors(mass, k, b, np.array([1e-3, 1e-4, 1e-5]))
    assert (errors[1:] < errors[:-1] / 5.0).all()


def test_bounce_gains_no_energy() -> None:
    """Each bounce is lower than the last, for damping from none to critical."""
    robot = make_block()
    for b in (0.0, 10.0, 100.0, 1000.0):
        world = world_of(robot, Material(2e4, b))
        trace = run(world, 2.0, pose([0, 0, HALF[2] + 0.1]), dt=1e-3)
        height = trace.q[:, 2]
        # semi-implicit Euler starts half a step late: g dt²/2 and its like
        assert height.max() < HALF[2] + 0.1 * (1.0 + 1e-2)


def test_contact_never_pulls() -> None:
    """The ground pushes: normal forces are never negative, hit or left."""
    robot = make_block()
    lift = Push("base", np.array([0.0, 0.0, 3000.0]), 0.3, 0.01)
    for k, b in ((2e4, 40.0), (1e6, 6e3), (6e4, 6e3)):
        world = world_of(robot, Material(k, b), pushes=(lift,))
        trace = run(world, 1.0, pose([0, 0, HALF[2] + 0.02]))
        assert trace.contact_force[..., 2].min() >= 0.0


def eased(force: Array, start: float, seconds: float) -> tuple[Push, ...]:
    """Return pushes that add up to a force that goes up in fifty small steps."""
    times = start + seconds * np.arange(1, 51) / 50.0
    return tuple(Push("base", force / 50.0, time, 100.0) for time in times)


@pytest.mark.parametrize(
    "direction", [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.6, 0.8), (-0.7, 0.3)]
)
@pytest.mark.parametrize(("mu_s", "mu_d"), [(0.5, 0.5), (0.6, 0.4)])
@pytest.mark.parametrize("dt", [1e-3, 2e-4])
def test_block_on_a_slope(
    direction: tuple[float, float], mu_s: float, mu_d: float, dt: float
) -> None:
    """Sticks below atan μ and slides above, at g (sin - μ cos), in any direction.

    It touches at the height of its CoM, so that all points carry the same, and its
    weight comes onto it slowly, so that nothing overshoots.
    """
    robot = make_block()
    k = 1e5
    way = np.array(direction) / np.linalg.norm(direction)
    for factor in (0.99, 1.01):
        angle = np.arctan(factor * mu_s)
        slope = Slope(*np.arctan(np.tan(angle) * way))
        assert slope.steepness == pytest.approx(angle)
        down = downhill(slope)
        pull = robot.mass * G * np.sin(angle)
        held = (Push("base", -pull * down, 0.0, 100.0), *eased(pull * down, 0.0, 0.5))
        world = world_of(
            robot, Material(k, 1e3, mu_s, mu_d), slope, half=LEVEL, pushes=held
        )
        depth = robot.mass * G * np.cos(angle) / (4.0 * k)
        start = lying_on(slope, depth, LEVEL)
        trace = run(world, 2.0, start, dt=dt, every=round(0.01 / dt))
        along = trace.q[:, :3] @ down
        across = np.abs(trace.q[:, :3] @ np.cross(slope.normal, down)).max()
        assert across < 1e-9
        if factor < 1.0:
            # stretched by its share of the weight and no further
            assert along[-1] == pytest.approx(pull / (4.0 * k), rel=1e-6)
            assert np.ptp(along[100:]) < 1e-9
            assert np.abs(trace.v[-1]).max() < 1e-9
        else:
            wanted = G * (np.sin(angle) - mu_d * np.cos(angle))
            found = 2.0 * np.polyfit(trace.time[100:], along[100:], 2)[0]
            assert found == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("way", [0.0, 0.5 * np.pi, 0.7, 4.0])
def test_thrown_block_stops_and_stays(way: float) -> None:
    """A block thrown along the floor stops after v²/(2 μ g), and then stays."""
    half = LEVEL
    robot = make_block()
    k, mu, speed = 1e5, 0.5, 2.0
    depth = robot.mass * G / (4.0 * k)
    direction = np.array([np.cos(way), np.sin(way), 0.0])
    v = np.concatenate([speed * direction, np.zeros(3)])
    world = world_of(robot, Material(k, 1e3, mu, mu), half=half)
    wanted = speed**2 / (2.0 * mu * G)
    for dt in (1e-3, 1e-4):
        trace = run(
            world, 1.0, pose([0, 0, half[2] - depth]), v, dt=dt, every=round(0.01 / dt)
        )
        gone = trace.q[:, :3] @ direction
        print(f"thrown: {gone[-1]:.6f} of {wanted:.6f} m at {dt} s")
        # it starts within a step, and settles by the stretch of its anchors
        room = speed * dt + robot.mass * G * mu / (4.0 * k)
        assert abs(gone[-1] - wanted) < room
        stopped = trace.time > speed / (mu * G) + 0.1
        assert np.ptp(gone[stopped]) < 1e-7
        sideways = trace.q[:, 0] * direction[1] - trace.q[:, 1] * direction[0]
        assert np.abs(sideways).max() < 1e-6


def test_friction_is_within_the_cone() -> None:
    """|F_t| ≤ μ_s F_n of all points at all times, but for O(dt) on impact.

    Whether a point slips is decided with the normal force of the step's beginning.
    """
    robot = make_block()
    mu_s, mu_d = 0.6, 0.4
    world = world_of(robot, Material(1e5, 1e3, mu_s, mu_d))
    v = np.array([1.5, -0.7, 0.0, 0.5, 0.0, 3.0])
    hit = robot.mass * np.sqrt(2.0 * G * 0.02)
    for dt, most in ((1e-3, 0.05), (1e-4, 1e-9)):
        trace = run(world, 1.0, pose([0, 0, HALF[2] + 0.02]), v, dt=dt)
        tangential = np.linalg.norm(trace.contact_force[..., :2], axis=-1)
        beyond = tangential - mu_s * trace.contact_force[..., 2]
        impulse = dt * np.maximum(beyond, 0.0).sum()
        print(f"out of the cone: {impulse / hit:.1e} of the impact at {dt} s")
        assert impulse < most * hit


def test_push_below_and_above_friction() -> None:
    """A block stays under a push below μ_s m g; above, it slides, and stops after."""
    robot = make_block()
    k, mu_s, mu_d = 1e5, 0.6, 0.4
    weight = robot.mass * G
    start = pose([0, 0, -weight / (4.0 * k)])
    way = np.array([0.6, 0.8, 0.0])
    for factor in (0.99, 1.01):
        force = way * factor * mu_s * weight
        pushes = (*eased(force, 0.0, 0.5), *eased(-force, 1.5, 0.5))
        world = world_of(robot, Material(k, 1e3, mu_s, mu_d), half=LEVEL, pushes=pushes)
        trace = run(world, 4.0, start)
        along = trace.q[:, :3] @ way
        if factor < 1.0:
            stretch = np.linalg.norm(force) / (4.0 * k)
            assert along.max() == pytest.approx(stretch, rel=1e-2)
            assert abs(along[-1]) < 1e-9  # springs back: it never slipped
        else:
            pushed = (trace.time > 0.7) & (trace.time < 1.5)
            found = 2.0 * np.polyfit(trace.time[pushed], along[pushed], 2)[0]
            assert found == pytest.approx((factor * mu_s - mu_d) * G, rel=1e-3)
            assert np.abs(trace.v[-1]).max() < 1e-8


@pytest.mark.parametrize(
    "terrain",
    [
        Flat(0.3),
        Stairs(rise=0.1, tread=0.6, count=3, start=-0.25),
        HeightField(np.array([[0.0, 0.1], [0.05, 0.15]]), 4.0, np.array([-2.0, -2.0])),
    ],
    ids=["flat", "stairs", "height field"],
)
def test_block_rests_on_terrain(terrain: Terrain) -> None:
    """Corners come to rest at the height of the ground, sunk in by their load."""
    robot = make_block()
    k = 2e5
    world = world_of(robot, Material(k, 2e3), terrain)
    start = float(terrain.height(0.0, 0.0))
    trace = run(world, 3.0, pose([0, 0, start + HALF[2] + 0.01]))
    last = trace.at(-1)
    depth = np.asarray(terrain.surface(last.contact_position).depth)
    force = np.linalg.norm(last.contact_force, axis=1)
    assert np.abs(last.v).max() < 1e-7
    assert last.contact_force.sum(axis=0)[2] == pytest.approx(robot.mass * G, rel=1e-6)
    assert np.abs(last.contact_force.sum(axis=0)[:2]).max() < 1e-5
    assert depth.min() > 0.0
    assert depth.max() < 2.0 * robot.mass * G / k
    assert force.min() > 0.0


def test_block_rests_on_rough_ground() -> None:
    """On rough ground three corners or more carry the block, each where it touches."""
    terrain = rough_ground(0.02, seed=3, wavelength=0.3, flat_radius=0.0)
    robot = make_block()
    world = world_of(robot, Material(2e5, 2e3), terrain)
    start = float(terrain.height(0.0, 0.0))
    trace = run(world, 3.0, pose([0, 0, start + HALF[2] + 0.03]))
    last = trace.at(-1)
    depth = np.asarray(terrain.surface(last.contact_position).depth)
    force = np.linalg.norm(last.contact_force, axis=1)
    assert ((depth > 0.0) == (force > 0.0)).all()
    assert (force > 0.0).sum() >= 3
    total = last.contact_force.sum(axis=0)
    assert total[2] == pytest.approx(robot.mass * G, rel=1e-5)


def last_com(trace: Trace, robot: eq.Robot) -> Array:
    """Return where the CoM is at all times, shape (n, 3)."""
    return np.asarray(eq.com(robot, trace.q))


@pytest.mark.parametrize("name", ["g1", "humanoid"])
@pytest.mark.parametrize("mode", ["servo", "position"])
def test_one_millisecond_is_fine_enough(
    name: str, mode: str, request: pytest.FixtureRequest
) -> None:
    """Over a stance shift of 2 s the CoM at 1 ms is within 1 mm of that at 0.05 ms."""
    from benchmarks.motions import stance_shift
    from equipoise.simulation.actuation import actuation_of

    robot = eq.load(request.getfixturevalue("g1_urdf") if name == "g1" else name)
    paths = []
    for dt in (1e-3, 5e-5):
        engine = NativeEngine(
            make_world(robot, actuation=actuation_of(robot, mode)), dt
        )
        engine.reset(robot.standing)
        told = stance_shift(robot, dt)
        paths.append(last_com(engine.advance(told, every=round(0.01 / dt)), robot))
    error = np.linalg.norm(paths[0] - paths[1], axis=1).max()
    moved = np.ptp(paths[1][:, 1])
    print(f"{name} {mode}: {1e3 * error:.3f} mm of {1e3 * moved:.0f} mm")
    assert error < 1e-3
    assert moved > 0.02  # it did move


@pytest.mark.parametrize("name", ["humanoid", "mahru-1", "itu-biped", "g1"])
@pytest.mark.parametrize("dt", [1e-3, 2e-3, 5e-3])
@pytest.mark.parametrize("ground", [1.0, 5.0])
def test_standing_robots_do_not_creep(
    name: str, dt: float, ground: float, request: pytest.FixtureRequest
) -> None:
    """At any time step robots come to rest, and stay there to rounding.

    With servos, on their own ground and on one five times as stiff, too. What rests to
    rounding for a minute does so for an hour: nothing is left that could move it.
    """
    robot = eq.load(request.getfixturevalue("g1_urdf") if name == "g1" else name)
    world = trial_world(robot)
    material = world.material
    stiff = replace(material, stiffness=ground * material.stiffness)
    world = make_world(
        robot, contacts=world.contacts, material=stiff, actuation=world.actuation
    )
    engine = NativeEngine(world, dt)
    engine.reset(robot.standing)
    held = joint_positions(robot, robot.standing)
    engine.advance(commands(robot, round(10.0 / dt), position=held), round(10.0 / dt))
    settled = eq.com(robot, engine.state.q)
    told = commands(robot, round(50.0 / dt), position=held)
    trace = engine.advance(told, every=round(0.5 / dt))
    weight = robot.mass * G
    assert np.abs(eq.com(robot, trace.q) - settled).max() < 1e-9
    assert np.abs(trace.v).max() < 1e-6  # nor swings, once in so many steps
    assert np.abs(trace.contact_force[..., 2].sum(axis=1) / weight - 1.0).max() < 1e-9
    assert np.linalg.norm(settled[:2] - eq.com(robot, robot.standing)[:2]) < 2e-3


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_bodies_far_too_light_for_the_step_do_not_bounce(dt: float) -> None:
    """Where k dt² ≫ m, a drop is inelastic: no rebound above a step's way.

    A point that met the ground without resistance in its first step would be thrown
    out by a spring that nobody's work has bent, up to as fast as it came.
    """
    robot = make_block(0.01)
    world = world_of(robot, Material(1e6, 0.0))
    for height in (0.02, 0.0207, 0.0213):
        trace = run(world, 1.0, pose([0, 0, HALF[2] + height]), dt=dt)
        speed = np.sqrt(2.0 * G * height)
        landed = int(np.argmax(trace.contact_force[..., 2].sum(axis=1) > 0.0))
        assert trace.q[landed:, 2].max() < HALF[2] + 2.0 * speed * dt
        assert trace.contact_force[-1, :, 2].sum() == pytest.approx(0.01 * G, rel=1e-6)


def test_an_hour_of_standing_does_not_creep() -> None:
    """A block leant on a slope does not creep: a minute in, it is where it was."""
    half = LEVEL
    robot = make_block()
    slope = Slope(np.arctan(0.4))
    world = world_of(robot, Material(1e5, 1e3, 0.5, 0.5), slope, half=half)
    depth = robot.mass * G * np.cos(slope.pitch) / 4e5
    engine = NativeEngine(world)
    engine.reset(lying_on(slope, depth, half))
    settled = engine.advance(idle(robot, 2000), every=2000).q[-1]
    later = engine.advance(idle(robot, 60_000), every=60_000).q[-1]
    assert np.abs(later - settled).max() < 1e-12


def test_rounded_soles_touch_to_their_ends(talos_urdf) -> None:
    """The ground can push where the sole ends, also behind rounded heels."""
    robot = eq.load(talos_urdf)
    contacts = trial_world(robot).contacts
    for side, sole in robot.soles.items():
        points = [point.position_in_link for point in contacts if point.side == side]
        away = np.abs(np.array(points)[:, None] - sole.corners_in_link).max(axis=2)
        assert len(sole.polygon_in_sole) == 8
        assert away.min(axis=0) == pytest.approx(0.0, abs=1e-12)
