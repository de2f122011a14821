"""Eq. (8) of [Choi2007] on its own robot: limbs and base move the CoM together.

ċ = ṙ_o + ω_o × (c − r_o) + Σ_i R_o °J_ci q̇_i
"""

import numpy as np

import equipoise as eq
from equipoise.kinematics.limb_com import limb_com_jacobian

robot = eq.load("mahru-1")
q = robot.posture("paper")
v = np.random.default_rng(seed=1).normal(size=robot.nv)

rotation = eq.frame_pose(robot, q, robot.description.root)[:3, :3]
base_velocity, base_rate = rotation @ v[:3], rotation @ v[3:6]

velocity = base_velocity + np.cross(base_rate, eq.com(robot, q) - q[:3])
for name in robot.limbs:
    share = rotation @ limb_com_jacobian(robot, q, name) @ v
    velocity += share
    print(f"{name:10s} moves the CoM at {share.round(4)} m/s")

print(f"CoM {eq.com(robot, q).round(4)} m, the paper's (0.034, 0, 0.687)")
print(f"sum     {velocity.round(6)} m/s")
print(f"overall {eq.com_velocity(robot, q, v).round(6)} m/s")
