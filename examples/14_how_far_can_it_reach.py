"""How far a standing robot can reach, and what limits it.

The path is planned by kinematics: feet stay, the centre of mass stays above the soles,
joints stay within their stops. ``equipoise reach`` follows such a path by torques.
"""

import numpy as np

import equipoise as eq
from equipoise.balance.whole_body.reaching import plan_reach
from equipoise.simulation.feedback import known_joints
from equipoise.simulation.push import pushed_stance
from equipoise.simulation.trials import trial_world

robot = eq.load("humanoid")
world = trial_world(robot, mode="torque")
standing = pushed_stance(world)

for goal in ((0.4, -0.2, 1.0), (0.8, -0.2, 1.0), (1.5, -0.3, 0.9)):
    path = plan_reach(robot, standing, {"right": np.array(goal)}, known_joints(world))
    lean = path.com[-1, 0] - path.com[0, 0]
    words = (
        f"{goal}: {1e3 * path.remaining:.0f} mm remain, CoM {1e3 * lean:.0f} mm ahead"
    )
    print(words, *path.limited_by[:1], sep="; ")
