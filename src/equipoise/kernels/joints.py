"""Joint kinds as kernels number them."""

REVOLUTE, CONTINUOUS, PRISMATIC, HELICAL, SPHERICAL, FLOATING = range(6)
