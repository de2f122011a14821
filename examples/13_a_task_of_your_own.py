"""A task of your own in whole-body control: the hands keep a distance while it walks.

A task says its error and its Jacobian; stiffness, damping and weight say the rest. Its
drift, dJ/dt v, comes from a difference unless the task knows better. Here the hands are
to be five centimetres farther apart than at the start, wherever they are; the posture
gives way to that.
"""

import numpy as np

import equipoise as eq
from equipoise.arrays import Array
from equipoise.balance.whole_body.diagnosis import task_errors
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.tasks import Task
from equipoise.simulation.feedback import whole_body_feedback
from equipoise.simulation.simulate import simulate
from equipoise.simulation.trials import trial_world


class HandsApart(Task):
    """Keeps two frames at a distance [m]."""

    name = "hands apart"

    def __init__(self, one: str, other: str, distance: float) -> None:
        super().__init__(weight=100.0, stiffness=400.0)
        self.one, self.other, self.distance = one, other, distance

    def between(self, dynamics: Dynamics) -> Array:
        """Return the vector from one hand to the other [m]."""
        one, other = (dynamics.frame(name) for name in (self.one, self.other))
        return dynamics.pose(other).translation - dynamics.pose(one).translation

    def error(self, dynamics: Dynamics) -> Array:
        """Return the distance that is wanted less the one that is."""
        return np.array([self.distance - np.linalg.norm(self.between(dynamics))])

    def jacobian(self, dynamics: Dynamics) -> Array:
        """Return how the distance changes with joint velocities."""
        one, other = (dynamics.frame(name) for name in (self.one, self.other))
        direction = self.between(dynamics) / np.linalg.norm(self.between(dynamics))
        moves = dynamics.jacobian(other)[:3] - dynamics.jacobian(one)[:3]
        return (direction @ moves)[None]


robot = eq.load("humanoid")
hands = [robot.limbs[f"{side}_arm"].end_link for side in ("left", "right")]
start = Dynamics(robot)
task = HandsApart(*hands, 0.0)
task.distance = float(np.linalg.norm(task.between(start))) + 0.05
world = trial_world(robot, None, "torque")
motion = eq.solve(robot, eq.fit_walk(robot, 2))
for name, tasks in (("posture alone", ()), ("with the task", (task,))):
    feedback = whole_body_feedback(world, tasks=tasks)
    run = simulate(world, motion, **feedback.blocks, dt=1e-3)
    apart = []
    for q in run.q[::20]:
        apart.append(np.linalg.norm(task.between(start.update(q, np.zeros(robot.nv)))))
    off = 1e3 * (np.array(apart[len(apart) // 4 :]) - task.distance)
    print(f"{name}: hands {off.min():+.1f} to {off.max():+.1f} mm from their distance")
controller = feedback.controller
missed = task_errors(controller.problem, controller.solution)["hands apart"]
print(f"last tick: the task missed {abs(missed[0]):.1e} m/s² of what it asked for")
