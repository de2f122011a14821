"""Read a robot's equations of motion: M a + c + g = Sᵀ τ + Jᵀ f, block by block.

Two derivations of [Sariyildiz2015], by unit accelerations and by link Jacobians.
"""

import numpy as np

import equipoise as eq
from equipoise.dynamics.analytic import analytic
from equipoise.dynamics.newton_euler import newton_euler

robot = eq.load("humanoid")
v = np.random.default_rng(seed=1).normal(size=robot.nv)
equations = analytic(robot, robot.standing, v)

parts = ["base", *equations.limb_rows]
print("largest entry of each block of the mass matrix (. is zero)")
print(" " * 10 + "".join(f"{name:>10s}" for name in parts))
for row in parts:
    largest = [np.abs(equations.block(row, column)).max() for column in parts]
    cells = (f"{value:10.3f}" if value else f"{'.':>10s}" for value in largest)
    print(f"{row:10s}" + "".join(cells))

weight = equations.gravity[2]
print(f"weight on the base's z: {weight:.2f} N = {robot.mass:.1f} kg · 9.80665 m/s²")
knee = equations.coordinates.index("left_knee")
print(f"left knee: gravity {equations.gravity[knee]:.2f} Nm, ", end="")
print(f"Coriolis and centrifugal {equations.coriolis[knee]:.2f} Nm")

other = newton_euler(robot, robot.standing, v)
for part in ("mass_matrix", "coriolis", "gravity", "contact_jacobian"):
    difference = np.abs(getattr(equations, part) - getattr(other, part)).max()
    print(f"both derivations of {part} agree to 1e-9: {difference < 1e-9}")
