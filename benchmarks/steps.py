"""Steps of a standing Unitree G1 with joint PD and 8 corner contacts, dt 1 ms."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import equipoise as eq
from benchmarks.com_jacobian import g1_urdf
from benchmarks.measure import Comparison, Contender
from equipoise.control.signals import Command
from equipoise.dynamics.forward import lane_program
from equipoise.kernels import forward
from equipoise.robot.formats.mjcf_export import to_mjcf
from equipoise.robot.formats.mujoco_state import to_mujoco
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.contacts import sole_points
from equipoise.simulation.fleet import Fleet
from equipoise.simulation.mujoco_engine import MujocoEngine
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.world import World, make_world

DT = 1e-3
STEPS = 2000
FLEET = 64
FLEET_STEPS = 100
CUDA_FLEET = 16_384
SETTLING = 1000
# CoM of the settled robot, ours against MuJoCo's [m].
TOLERANCE = 5e-3
# MuJoCo's implicitfast and Euler are not stable with our stiff servos.
SOFT = 0.5


def comparisons(device: str, seed: int) -> list[Comparison]:
    """Return what to compare: one robot, many, and forward dynamics alone."""
    robot = eq.load(g1_urdf())
    world = make_world(robot)
    if device != "cpu":
        return [
            _fleet_on(world, device, "float64"),
            _fleet_on(world, device, "float32"),
        ]
    peers = {
        f"MuJoCo mj_step, {name}": _mujoco(world, *options)
        for name, options in MUJOCO.items()
    }
    one, many = _one(world), _native(world, FLEET, FLEET_STEPS)
    difference = _difference(world)
    return [
        Comparison(
            "step of one standing G1, 8 contacts, PD, 1 ms, one core, float64",
            one,
            {**peers, "our forward dynamics alone": _falling(world, False)},
            difference,
            TOLERANCE,
        ),
        Comparison(
            f"step of {FLEET} standing G1, 8 contacts, PD, 1 ms, one core, float64",
            many,
            {**peers, "our forward dynamics alone": _falling(world, True)},
            difference,
            TOLERANCE,
        ),
    ]


def hold(world: World, steps: int) -> Command:
    """Return commands that hold the standing posture."""
    position = joint_positions(world.robot, world.robot.standing)
    rows = np.tile(position, (steps, 1))
    return Command(rows, np.zeros_like(rows), np.zeros_like(rows))


def _one(world: World) -> Contender:
    """One robot has an engine of its own, which works on its limbs side by side."""
    engine = NativeEngine(world, DT)
    engine.advance(hold(world, SETTLING), SETTLING)
    commands = hold(world, STEPS)
    return Contender(lambda: engine.advance(commands, STEPS), STEPS)


def _native(
    world: World, robots: int, steps: int, device: str = "cpu", dtype: str = "float64"
) -> Contender:
    fleet = Fleet(world, robots, DT, device=device, dtype=dtype)
    fleet.reset(world.robot.standing)
    fleet.advance(hold(world, SETTLING), SETTLING)
    commands = hold(world, steps)
    return Contender(lambda: fleet.advance(commands, steps), robots * steps)


def _fleet_on(world: World, device: str, dtype: str) -> Comparison:
    ours = _native(world, CUDA_FLEET, FLEET_STEPS, device, dtype)
    cpu = _native(world, FLEET, FLEET_STEPS)
    return Comparison(
        f"step of {CUDA_FLEET:,} standing G1, 8 contacts, PD, 1 ms, {device}, {dtype}",
        ours,
        {"one core, float64": cpu},
        lambda: 0.0,
        TOLERANCE,
    )


def _falling(world: World, many: bool) -> Contender:
    """Forward dynamics of as many configurations, in the same lanes."""
    robot = world.robot
    program = lane_program(robot, "cpu", np.dtype(np.float64), many)
    count = STEPS if not many else FLEET * FLEET_STEPS
    prepared = forward.prepare(
        program,
        np.tile(robot.standing, (count, 1)),
        np.zeros((count, robot.nv)),
        np.zeros((count, robot.nv)),
        world.gravity,
    )
    return Contender(prepared.run, count)


def _difference(world: World) -> Any:
    """Return a function that gives the distance of CoMs, ours and MuJoCo's."""

    def difference() -> float:
        fleet = Fleet(world, 1, DT)
        fleet.reset(world.robot.standing)
        trace = fleet.advance(hold(world, SETTLING), SETTLING)
        ours = eq.com(world.robot, trace.q[0, -1])
        engine = MujocoEngine(world, DT)
        engine.reset(world.robot.standing)
        state = engine.advance(hold(world, SETTLING), SETTLING).at(-1)
        return float(np.linalg.norm(ours - eq.com(world.robot, state.q)))

    return difference


def _mujoco(world: World, integrator: str, solver: str) -> Contender:
    """MuJoCo with its own default contact, and servos as soft as it needs them."""
    model, data = mujoco_model(world)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    model.opt.solver = getattr(mujoco.mjtSolver, f"mjSOL_{solver}")
    mujoco.mj_step(model, data, SETTLING)
    if data.ncon != len(world.contacts):
        raise RuntimeError(f"MuJoCo's robot fell with {integrator} and {solver}")
    return Contender(lambda: mujoco.mj_step(model, data, STEPS), STEPS)


def mujoco_model(world: World) -> tuple[Any, Any]:
    """Return MuJoCo's model of a standing robot without shapes, and its data."""
    spec = mujoco.MjSpec.from_string(to_mjcf(_bare(world.robot)))
    spec.compiler.fusestatic = True
    spec.option.timestep = DT
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[10.0, 10.0, 0.1],
        contype=1,
        conaffinity=2,
    )
    names = world.robot.model.names
    for point in sole_points(world.robot):
        body, position = world.in_body(point.link, point.position_in_link)
        spec.joint(names[body]).parent.add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE,
            size=[1e-4, 0.0, 0.0],
            pos=position,
            contype=2,
            conaffinity=1,
            mass=0.0,
        )
    drives = world.actuation
    for body in range(2, world.robot.model.njoints):
        at = world.robot.model.joints[body].idx_v - 6
        kp, kd = SOFT * drives.stiffness[at], SOFT * drives.damping[at]
        spec.add_actuator(
            target=names[body],
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            gaintype=mujoco.mjtGain.mjGAIN_FIXED,
            biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            gainprm=[kp] + [0.0] * 9,
            biasprm=[0.0, -kp, -kd] + [0.0] * 7,
        )
    model = spec.compile()
    data = mujoco.MjData(model)
    _stand(world, model, data)
    for actuator in range(model.nu):
        joint = model.actuator_trnid[actuator, 0]
        data.ctrl[actuator] = data.qpos[model.jnt_qposadr[joint]]
    return model, data


MUJOCO = {
    "discrete, Newton": ("DISCRETE", "NEWTON"),
    "implicitfast, Newton": ("IMPLICITFAST", "NEWTON"),
    "implicitfast, CG": ("IMPLICITFAST", "CG"),
}


def _stand(world: World, model: Any, data: Any) -> None:
    mujoco.mj_resetData(model, data)
    robot = world.robot
    state = to_mujoco(robot.model, model, robot.standing, np.zeros(robot.nv))
    data.qpos[:], data.qvel[:] = state


def _bare(robot: eq.Robot) -> Any:
    """Return the robot's description without shapes."""
    from dataclasses import replace

    description = robot.description
    links = tuple(replace(k, collisions=(), visuals=()) for k in description.links)
    return replace(description, links=links, postures={})
