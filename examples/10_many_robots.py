"""A hundred robots at once: how fast may the CoM move when the feet are to stay?

Each begins with another velocity of its CoM, its soles at rest. A point mass on legs
of constant height comes to rest above the edge of the feet if it starts with
omega · (distance to the edge), omega² = g / height; servos that hold a posture do a
little better or worse.
"""

import time

import numpy as np

import equipoise as eq

COUNT, SECONDS, DT = 100, 3.0, 1e-3

robot = eq.load("humanoid")
q = robot.standing
jacobian = np.vstack(
    [
        eq.com_jacobian(robot, q),
        *(eq.frame_jacobian(robot, q, sole) for sole in ("l_sole", "r_sole")),
    ]
)
forward = np.zeros(len(jacobian))
forward[0] = 1.0
speeds = np.linspace(0.0, 1.0, COUNT)
v = speeds[:, None] * (np.linalg.pinv(jacobian) @ forward)

fleet = eq.Fleet(eq.make_world(robot), COUNT, DT, threads=2)
steps = round(SECONDS / DT)
held = np.tile(eq.joint_positions(robot, q), (steps, 1))
told = eq.Command(held, np.zeros_like(held), np.zeros_like(held))

fleet.reset(q, v)
fleet.advance(told, every=100)  # compiles
fleet.reset(q, v)
began = time.perf_counter()
fleet.advance(told, every=100)
spent = time.perf_counter() - began

fell = [item.robot for item in fleet.stopped if item.reason == "fell"]
print(f"{COUNT * SECONDS:.0f} s of simulation in {spent:.2f} s")
print(f"{len(fell)} of {COUNT} fell, the first at {speeds[fell].min():.2f} m/s")

com = eq.com(robot, q)
toe = eq.support_polygon(robot, q)[:, 0].max()
limit = np.sqrt(9.80665 / com[2]) * (toe - com[0])
print(f"a point mass would from {limit:.2f} m/s on")
