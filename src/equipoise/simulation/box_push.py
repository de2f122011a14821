"""A robot that walks to a box, touches it, and pushes it with a wanted force."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.balance.whole_body.controller import WholeBodyController
from equipoise.balance.whole_body.hands import hands_of
from equipoise.balance.whole_body.push_plan import Phase, PushGains
from equipoise.balance.whole_body.pushing import PushingController
from equipoise.kinematics.com import com_velocity
from equipoise.kinematics.stance import sole_pose
from equipoise.log.run import Event, Run
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot
from equipoise.simulation.box_plan import BOX_FRICTION, FELT, BoxPlan, plan_box
from equipoise.simulation.contacts import contact_point
from equipoise.simulation.falling import com_height
from equipoise.simulation.feedback import DELAY, PERIOD, Knowledge, whole_body_feedback
from equipoise.simulation.footfalls import footfalls
from equipoise.simulation.hand_sensors import HandForceSensors
from equipoise.simulation.noise import Noise
from equipoise.simulation.simulate import EngineName, simulate
from equipoise.simulation.summary import (
    Check,
    RunSummary,
    TrialSummary,
    limit_checks,
    trial_results,
)
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import World

# The largest force over the one wanted, and how far the steady force and the box's
# acceleration may be off what is wanted, as fractions.
PEAK, STEADY, ACCELERATION = 1.5, 0.1, 0.1
# The force is steady so long after it has grown to what is wanted [s].
SETTLING = 0.1
# Times after the approach [s]: for the push, and to stand.
PUSHING, STANDING = 1.5, 2.0
# Hands may approach so many times the distance that is planned.
FARTHER = 1.8
# At the end the CoM is slower than this fraction of √(g h), over this time [s]; soles
# have slipped by at most this fraction of their length since the walk ended.
AT_REST, LATE, SLIP = 0.01, 0.25, 0.05


@dataclass(frozen=True, kw_only=True)
class BoxPushSummary(TrialSummary):
    """Results of a walk to a box; forces are those that truly acted on the hands.

    Attributes:
        feedback: What the feedback knows.
        law: Law of control.
        wanted_force_n: Wanted force [N].
        largest_force_n: The largest that could have been asked for [N].
        peak_force_n: The largest force of the hands on the box [N].
        steady_force_n: Mean, smallest and largest force while it was steady [N], None
            if it never was.
        push_height_m: Height at which the hands push [m].
        box_mass_kg: Mass of the box [kg].
        box_size_m: Its depth, width and height [m].
        box_friction: Coefficient of friction between box and ground while it slides.
        box_acceleration_mps2: Its acceleration while the force was steady [m/s²].
        expected_acceleration_mps2: (F - μ m g) / m with the wanted force [m/s²].
        box_moved_m: How far it was moved [m].
        timeline_s: When each phase began [s], by what the robot does.
        push_ended_by: Why the push was over.
    """

    feedback: Knowledge
    law: str
    wanted_force_n: float
    largest_force_n: float
    peak_force_n: float
    steady_force_n: dict[str, float] | None
    push_height_m: float
    box_mass_kg: float
    box_size_m: dict[str, float]
    box_friction: float
    box_acceleration_mps2: float | None
    expected_acceleration_mps2: float
    box_moved_m: float
    timeline_s: dict[str, float]
    push_ended_by: str

    def events(self) -> list[Event]:
        """Return what happened and when: the phases, too."""
        phases = [Event(at, name) for name, at in self.timeline_s.items()]
        return [*phases, *super().events()]


def walk_to_box(
    robot: Robot | World,
    distance: float,
    force: float,
    *,
    box_mass: float | None = None,
    box_size: tuple[float, float, float] | None = None,
    box_friction: float = BOX_FRICTION,
    gains: PushGains | None = None,
    seed: int = 0,
    engine: EngineName = "native",
    dt: float = 1e-3,
    model: Robot | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Let a robot walk to a box, touch it with its hands and push it.

    Joints are told torques; the robot knows what its sensors say, force sensors in its
    hands among them, and that there is a box ahead, but not its mass.

    Args:
        robot: The robot, or the robot in its world if another is wanted than
            :func:`~equipoise.simulation.trials.trial_world`'s; joints are told torques.
        distance: From the middle between its feet to the box [m].
        force: Wanted force, of both hands together [N].
        box_mass: Mass of the box [kg]; one that the force moves unless given.
        box_size: Depth, width and height of the box [m]; a box that slides before it
            tips over unless given.
        box_friction: Coefficient of friction at which the box begins to slip.
        gains: Numbers of touching and pushing.
        seed: Seed of the noise of the sensors.
        engine: Which engine.
        dt: Time step [s].
        model: The robot as planner and feedback know it; as it is unless given.
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if the force had no peak, was as wanted while it was
        steady, moved the box as it should, and the robot stands at the end.

    Raises:
        EquipoiseError: If the robot has no hands, the box is too near, too heavy or
            tips over, or the force is more than the robot can give.
    """
    world = trial_world(robot, mode="torque")
    known = model or world.robot
    plan = plan_box(
        world,
        known,
        distance,
        force,
        mass=box_mass,
        size=box_size,
        friction=box_friction,
    )
    gains = gains or PushGains()
    hands = hands_of(world.robot)
    points = tuple(
        contact_point(world.robot, hand.link, hand.point_in_link)
        for hand in hands.values()
    )
    world = replace(world, contacts=(*world.contacts, *points), boxes=(plan.box,))
    period = dt * max(round(PERIOD / dt), 1)
    closed = whole_body_feedback(world, known, seed=seed, period=period)
    assert isinstance(closed.controller, WholeBodyController)
    assert closed.sensors is not None
    controller = PushingController(closed.controller, plan.push, gains)
    noise = Noise(deviation=FELT * world.robot.mass * world.gravity, delay=DELAY)
    sensors = HandForceSensors(closed.sensors, hands.values(), noise)
    closed = replace(closed, controller=controller, sensors=sensors)
    knowledge = closed.knowledge

    def assess(run: Run, summary: RunSummary) -> BoxPushSummary:
        return _assess(world, plan, controller, knowledge, run, summary)

    return simulate(
        world,
        plan.motion,
        _duration(known, plan, gains, dt),
        start=plan.motion.q[0],
        engine=engine,
        dt=dt,
        record_period=period,
        assess=assess,
        progress=progress,
        **closed.blocks,
    )


def _duration(robot: Robot, plan: BoxPlan, gains: PushGains, dt: float) -> float:
    """Return how long it takes, a whole number of time steps [s]."""
    leg = max(limb.length for limb in robot.legs.values())
    speed = gains.approach * math.sqrt(leg * STANDARD_GRAVITY)
    gap = float(plan.box.centre[0] - 0.5 * plan.box.size[0])
    gap -= min(float(path[-1, 0]) for path in plan.push.ready.hands.values())
    times = gains.leaning + FARTHER * gap / speed + PUSHING + STANDING
    return dt * math.ceil((plan.motion.duration + times) / dt)


def pushed_with(world: World, run: Run) -> Array:
    """Return the forward force of the hands on what is before them [N], shape (n,)."""
    links = {hand.link for hand in hands_of(world.robot).values()}
    own = [number for number, point in enumerate(world.contacts) if point.link in links]
    return np.asarray(-run.contact_force[:, own, 0].sum(axis=1))


def _assess(
    world: World,
    plan: BoxPlan,
    controller: PushingController,
    knowledge: Knowledge,
    run: Run,
    summary: RunSummary,
) -> BoxPushSummary:
    force, wanted = pushed_with(world, run), plan.push.force
    began, box = controller.began, plan.box
    end = began.get(Phase.RELEASE, float(run.time[-1]))
    steady: NDArray[np.bool_] = np.zeros(len(run.time), dtype=bool)
    if Phase.PUSH in began:
        first = began[Phase.PUSH] + controller.gains.ramp + SETTLING
        steady = (run.time > first) & (run.time < end)
    material = box.material or world.material
    friction = material.dynamic_friction
    if summary.engine == "mujoco":  # which has one coefficient
        friction = material.static_friction
    expected = wanted / box.mass - friction * world.gravity
    moved = run.boxes[:, 0, 0] - run.boxes[0, 0, 0]
    found, mean, off, off_acceleration = None, None, 1.0, 1.0
    if steady.sum() > 10:
        mean = {
            "mean": float(force[steady].mean()),
            "min": float(force[steady].min()),
            "max": float(force[steady].max()),
        }
        off = abs(mean["mean"] / wanted - 1.0)
        time = run.time[steady] - run.time[steady][0]
        found = 2.0 * float(np.polyfit(time, moved[steady], 2)[0])
        off_acceleration = abs(found / expected - 1.0)
    slip, speed = _standing(world, run, began.get(Phase.STAND))
    length = min(float(sole.size[0]) for sole in world.robot.soles.values())
    height = float(com_height(world, plan.motion.q[-1]))
    steps = footfalls(run, plan.motion.gait, summary.fell_at_s)
    made = sum(step.made for step in steps)
    peak = float(force.max())
    checks = (
        Check("steps not made", len(steps) - made, 0),
        Check("largest force over the wanted one", peak / wanted, PEAK, "%"),
        Check("steady force off the wanted one", off, STEADY, "%"),
        Check(
            "acceleration of the box off (F - μ m g) / m",
            off_acceleration,
            ACCELERATION,
            "%",
        ),
        Check("soles slip", slip, SLIP * length, "m"),
        Check(
            "CoM is at rest", speed, AT_REST * math.sqrt(world.gravity * height), "m/s"
        ),
        *limit_checks(summary.actuators),
    )
    timeline = {phase.value: at for phase, at in began.items()}
    if controller.touched is not None:
        timeline["touches the box"] = controller.touched
    if run.time[-1] > end + LATE:
        timeline["ends"] = float(run.time[-1])
    timeline = dict(sorted(timeline.items(), key=lambda item: item[1]))
    what = f"walked {made} steps to a box of {box.mass:.3g} kg"
    results: dict[str, Any] = trial_results(
        world,
        run,
        summary,
        plan.motion.q[0],
        verb="walk",
        checks=checks,
        passed=f"{what} and pushed it with {wanted:g} N, {moved[-1]:.2f} m far",
        failed=f"{what} and did not fall",
        fell=" on its way to a box and back",
    )
    return BoxPushSummary(
        **{**results, "steps_done": made},
        feedback=knowledge,
        law="whole-body",
        wanted_force_n=wanted,
        largest_force_n=plan.largest_force,
        peak_force_n=peak,
        steady_force_n=mean,
        push_height_m=plan.height,
        box_mass_kg=box.mass,
        box_size_m=dict(
            zip(("depth", "width", "height"), map(float, box.size), strict=True)
        ),
        box_friction=friction,
        box_acceleration_mps2=found,
        expected_acceleration_mps2=expected,
        box_moved_m=float(moved[-1]),
        timeline_s=timeline,
        push_ended_by=controller.ended_by,
    )


def _standing(world: World, run: Run, stood: float | None) -> tuple[float, float]:
    """Return how far soles slipped since the walk ended [m], and the CoM's last speed.

    The speed is the largest over the last part of the run [m/s].
    """
    robot, late = world.robot, run.time > run.time[-1] - LATE
    length = robot.longest_limb
    if stood is None:  # it fell before; as far as it gets
        return length, math.sqrt(world.gravity * length)
    row = int(np.searchsorted(run.time, stood))
    slips = [
        float(np.linalg.norm((pose[-1] - pose[0])[:2, 3]))
        for pose in (sole_pose(robot, run.q[[row, -1]], side) for side in robot.soles)
    ]
    speed = np.linalg.norm(com_velocity(robot, run.q[late], run.v[late]), axis=1)
    return max(slips), float(speed.max())
