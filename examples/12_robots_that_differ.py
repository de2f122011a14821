"""A thousand humanoids that differ: how much friction does standing in the wind need?

Each has another friction, another mass of its torso and another wind from the left.
Coulomb asks for a friction of F / m g at least; legs that push against each other need
more. The controller is a function of arrays with a row for each robot.
"""

import numpy as np

import equipoise as eq
from equipoise.simulation.fleet_states import FleetState

COUNT, SECONDS = 1000, 1.5

robot = eq.load("humanoid")
wind = eq.Push("torso", [0.0, -40.0, 0.0], start=0.5, duration=10.0)
world = eq.make_world(
    robot,
    pushes=(wind,),
    actuation=eq.actuation_of(robot, "torque", rotor_inertia=0.05),
)
rng = np.random.default_rng(0)
friction = rng.uniform(0.02, 0.3, COUNT)
torso = rng.uniform(15.0, 30.0, COUNT)
force = np.zeros((COUNT, 1, 3))
force[:, 0, 1] = -rng.uniform(20.0, 120.0, COUNT)
variation = eq.Variation(
    mass={"torso": torso}, static_friction=friction, push_force=force
)
fleet = eq.Fleet(world, COUNT, variation=variation, threads=2)
held = eq.joint_positions(robot, robot.standing)


def joint_pd(state: FleetState, command: eq.Command) -> eq.Command:
    """Hold the posture; on a GPU arrays stay there, as in benchmarks/fleet.py."""
    q, v = np.from_dlpack(state.q), np.from_dlpack(state.v)
    torque = 3000.0 * (held - q[:, 7:]) - 60.0 * v[:, 6:]
    return eq.Command(0.0 * torque, 0.0 * torque, torque)


fleet.reset(robot.standing)
start = np.array(np.from_dlpack(fleet.state.com))
results = fleet.run(joint_pd, SECONDS)
print(f"{len(results.stopped)} of {COUNT} fell", end=", ")
print(f"torques reached {results.torque_fraction.max():.2f} of their limits")

moved = np.linalg.norm(np.from_dlpack(fleet.state.com) - start, axis=1) > 0.05
usual = robot.description.link_by_name["torso"].inertial.mass
needed = -force[:, 0, 1] / (9.80665 * (robot.mass - usual + torso))
for low, high in ((0.0, 1.0), (1.0, 2.0), (2.0, 4.0), (4.0, np.inf)):
    group = (friction >= low * needed) & (friction < high * needed)
    share = 100.0 * moved[group].mean()
    print(f"friction {low:g} to {high:g} F / m g: {share:.0f} % blown away")
