"""Load a biped and see what was found: mass, legs, soles, where its CoM is.

Run it on your own robot: ``python examples/01_load_any_robot.py my_robot.urdf``.
"""

import sys

import equipoise as eq
from equipoise.kinematics.support import polygon_margin

robot = eq.load(sys.argv[1] if len(sys.argv) > 1 else "humanoid")
print(f"{robot.name}: {robot.mass:.1f} kg, {robot.nv - 6} joints")

for side, leg in robot.legs.items():
    sole = robot.soles[side]
    length, width = sole.size
    print(f"{side} leg: {len(leg.joints)} joints, {leg.length:.3f} m")
    print(f"  sole {length:.3f} x {width:.3f} m on {sole.link} ({sole.origin})")

com = eq.com(robot, robot.standing)
polygon = eq.support_polygon(robot, robot.standing)
margin = polygon_margin(polygon, com[:2])
print(f"standing: CoM at {com.round(4)} m, {margin:.3f} m inside the support polygon")

for sentence in robot.assumptions:
    print("assumed:", sentence)
for sentence in robot.warnings:
    print("warning:", sentence)
