"""A robot pushes a box with one hand and a wall with the other.

The box slides along; the wall does not, and the robot's own joints give way.
"""

import dataclasses

import numpy as np

import equipoise as eq

robot = eq.load("humanoid")
hands = tuple(
    eq.contact_point(robot, f"{side}_hand", (0.0, 0.0, 0.0))
    for side in ("left", "right")
)
x, y, z = eq.frame_pose(robot, robot.standing, "left_hand")[:3, 3]
smooth = dataclasses.replace(
    eq.default_material(robot), static_friction=0.3, dynamic_friction=0.25
)
world = eq.make_world(
    robot,
    contacts=(*eq.sole_points(robot), *hands),
    material=smooth,
    boxes=(eq.Box(centre=(x + 0.35, y, 0.5), size=(0.6, 0.3, 1.0), mass=8.0),),
    walls=(eq.Wall(centre=(x + 0.30, -y, 0.5), size=(0.4, 0.3, 1.0)),),
)


class Reach:
    """A reference: both arms swing forward within two seconds."""

    def __init__(self) -> None:
        self.position = eq.joint_positions(robot, robot.standing)
        self.arms = [
            robot.model.joints[robot.joint_id(f"{side}_shoulder_pitch")].idx_v - 6
            for side in ("left", "right")
        ]

    def sample(self, time: float) -> eq.Target:
        """Return what is wanted at a time [s]."""
        part = np.clip(time / 2.0, 0.0, 1.0)
        position, still = self.position.copy(), np.zeros_like(self.position)
        position[self.arms] -= 0.5 * part * part * (3.0 - 2.0 * part)
        return eq.Target(position, still, still)


run = eq.simulate(world, Reach(), seconds=3.0)
hand = [run.contact_names.index(point.name) for point in hands]
moved = run.boxes[-1, 0, :2] - run.boxes[0, 0, :2]
push = -run.contact_force[:, hand, 0]
print(f"box: {1e3 * moved[0]:.0f} mm forward, {1e3 * moved[1]:.0f} mm to the left")
print(f"left hand pushes the box with up to {push[:, 0].max():.0f} N")
print(f"right hand pushes the wall with up to {push[:, 1].max():.0f} N")
print(f"robot fell: {run.summary['fell_at_s'] is not None}")
