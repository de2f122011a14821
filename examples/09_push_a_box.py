"""A robot pushes a box with its left hand.

The box slides; pushed beside its middle, it also turns.
"""

import dataclasses

import numpy as np

import equipoise as eq
from equipoise.simulation.contacts import contact_point, default_material, sole_points
from equipoise.simulation.world import Box

robot = eq.load("humanoid")
hand = contact_point(robot, "left_hand", (0.0, 0.0, 0.0))
y = eq.frame_pose(robot, robot.standing, "left_hand")[1, 3]
toes = eq.support_polygon(robot, robot.standing)[:, 0].max()
smooth = dataclasses.replace(
    default_material(robot), static_friction=0.3, dynamic_friction=0.25
)
world = eq.make_world(
    robot,
    contacts=(*sole_points(robot), hand),
    material=smooth,
    boxes=(Box(centre=(toes + 0.32, y - 0.05, 0.6), size=(0.6, 0.5, 1.2), mass=20.0),),
)


class Reach(eq.Reference):
    """A reference: the left arm swings forward within two seconds."""

    def __init__(self) -> None:
        self.position = eq.joint_positions(robot, robot.standing)
        self.arm = robot.model.joints[robot.joint_id("left_shoulder_pitch")].idx_v - 6

    def sample(self, time: float) -> eq.Target:
        """Return what is wanted at a time [s]."""
        part = np.clip(time / 2.0, 0.0, 1.0)
        position, still = self.position.copy(), np.zeros_like(self.position)
        position[self.arm] -= 0.9 * part * part * (3.0 - 2.0 * part)
        return eq.Target(position, still, still)


run = eq.simulate(world, Reach(), seconds=3.0)
at = run.contact_names.index(hand.name)
moved = run.boxes[-1, 0, :2] - run.boxes[0, 0, :2]
push = -run.contact_force[:, at, 0]
print(f"box: {1e3 * moved[0]:.0f} mm forward, {1e3 * moved[1]:.0f} mm to the left")
turned = 2.0 * np.arctan2(run.boxes[-1, 0, 5], run.boxes[-1, 0, 6])
print(f"it turned by {np.degrees(turned):.0f}°")
print(f"the hand pushed with up to {push.max():.0f} N")
print(f"robot fell: {run.summary['fell_at_s'] is not None}")
