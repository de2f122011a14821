"""What no model has: a rubber strap and air drag, in Python and as a Warp function.

The Python function sees the whole state and returns generalised forces; the Warp
function sees one joint at a time, is compiled into the kernel and costs all but
nothing. Both act at the beginning of a step: keep them soft enough for the time step.
"""

import time

import numpy as np
import warp as wp

import equipoise as eq
from equipoise.simulation.native import NativeEngine

DRAG = 0.1  # [Nm s²/rad²]
SPRING, FREE = 5.0, 0.6  # [Nm/rad], [rad]


def in_python(state: eq.State) -> np.ndarray:
    """Return forces on base and joints, shape (nv,)."""
    angle, rate = eq.joint_positions(robot, state.q), state.v[6:]
    beyond = angle - np.clip(angle, -FREE, FREE)
    force = np.zeros(robot.nv)
    force[6:] = -DRAG * np.abs(rate) * rate
    force[6 + elbow] -= SPRING * beyond[elbow]
    return force


@wp.func
def in_warp(
    time: wp.float64, joint: int, position: wp.float64, velocity: wp.float64
) -> wp.float64:
    """Return the force on one joint; joints are counted in the order of v[6:]."""
    force = -wp.float64(DRAG) * wp.abs(velocity) * velocity
    if joint == wp.static(elbow):
        free = wp.float64(FREE)
        beyond = position - wp.clamp(position, -free, free)
        force = force - wp.float64(SPRING) * beyond
    return force


robot = eq.load("humanoid")
elbow = robot.model.joints[robot.joint_id("left_elbow")].idx_v - 6
drives = eq.actuation_of(
    robot, viscous_friction=0.1, coulomb_friction=0.0, static_friction=0.0
)
mode = drives.mode.copy()
mode[elbow] = 0  # torque mode: the forearm swings freely
world = eq.make_world(robot, actuation=drives.with_parameters(mode=mode))

start = np.array(robot.standing)
start[7 + elbow] = -1.0
steps = 600
held = np.tile(eq.joint_positions(robot, start), (steps, 1))
told = eq.Command(held, np.zeros_like(held), np.zeros_like(held))
once = eq.Command(*(part[:1] for part in told))

angles = {}
for name, effects in (
    ("none", {}),
    ("Python", {"effect": in_python}),
    ("Warp", {"kernel_effect": in_warp}),
):
    engine = NativeEngine(world, dt=1e-3, **effects)
    engine.reset(start)
    engine.advance(once)  # compiles
    engine.reset(start)
    began = time.perf_counter()
    trace = engine.advance(told, every=10)
    spent = 1e6 * (time.perf_counter() - began) / steps
    angles[name] = trace.q[:, 7 + elbow]
    swing = ", ".join(f"{angle:+.3f}" for angle in angles[name][9::10])
    print(f"{name:>6}: elbow at {swing} rad; {spent:.0f} µs a step")

difference = np.abs(angles["Python"] - angles["Warp"]).max()
print(f"Python and Warp differ by less than 1e-9 rad: {difference < 1e-9}")
