"""The CoM and its Jacobian of ten thousand configurations in one call.

The first call compiles the kernels, which takes some seconds, once.
"""

import time

import numpy as np

import equipoise as eq
from equipoise.kinematics.com import com_and_jacobian

robot = eq.load("humanoid")
rng = np.random.default_rng(seed=1)
q = np.tile(robot.standing, (10_000, 1))
q[:, 7:] += rng.uniform(-0.3, 0.3, size=(10_000, robot.nq - 7))

com_and_jacobian(robot, q)  # compiles
start = time.perf_counter()
com, jacobian = com_and_jacobian(robot, q)
microseconds = 1e6 * (time.perf_counter() - start) / len(q)

print("CoM", com.shape, "Jacobian", jacobian.shape)
print(f"spread of the CoM: {com.std(axis=0).round(4)} m")
print(f"{microseconds:.2f} µs for each configuration")

one = eq.com(robot, q[0])  # a single one goes through Pinocchio
print(f"batch and single differ by {np.abs(one - com[0]).max():.0e} m")
