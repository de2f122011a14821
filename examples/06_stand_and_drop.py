"""Stand a robot on its feet, then drop it: forces, CoM and ZMP of both.

Run it on your own robot: ``python examples/06_stand_and_drop.py my_robot.urdf``. The
first run compiles the kernels, which takes some seconds, once.
"""

import sys

import numpy as np

import equipoise as eq

robot = eq.load(sys.argv[1] if len(sys.argv) > 1 else "humanoid")

run = eq.stand(robot, seconds=2.0)
print(run.summary["sentence"])
weight = run.summary["weight_n"]
for side, wrench in run.foot_wrench.items():
    print(f"{side} foot carries {wrench[-1, 2]:.2f} N of {weight:.2f} N")
corners = [n for n, name in enumerate(run.contact_names) if "left_sole" in name]
loads = ", ".join(f"{load:.1f}" for load in run.contact_force[-1, corners, 2])
print(f"corners of the left sole: {loads} N")
print(f"CoM {run.com[-1].round(4)} m")
print(f"ZMP {run.zmp[-1].round(4)} m, {run.zmp_margin[-1]:.3f} m inside the soles")

run = eq.drop(robot, seconds=2.0)
print(run.summary["sentence"])
total = run.contact_force[..., 2].sum(axis=1)
print(f"it lands at {run.summary['landed_at_s']:.2f} s", end="")
print(f" with up to {total.max() / weight:.1f} times its weight")
error = np.linalg.norm(run.com[-1] - run.references["com"][-1])
print(f"after 2 s the ground carries {total[-1]:.2f} N", end="")
print(f", and the CoM is {1e3 * error:.2f} mm from where the posture puts it")
