"""Your own reference and your own controller, from noisy sensors to a run.

Someone leans against the robot for three seconds. A controller that sees only the force
sensors at its feet leans back until the ZMP is where it is wanted; without it the ZMP
moves five centimetres towards the toes. When the body leans, the ZMP first goes the
wrong way, so that the filter must be slower than gain / omega²: 0.3 s against 0.2 s.
"""

import tempfile
from pathlib import Path

import numpy as np

import equipoise as eq
from equipoise.simulation.noise import Noise
from equipoise.simulation.sensors import FootSensors


class Nod(eq.Reference):
    """A reference: stand, and nod the head."""

    def __init__(self, robot: eq.Robot) -> None:
        self.position = eq.joint_positions(robot, robot.standing)
        self.com = eq.com(robot, robot.standing)
        self.neck = robot.model.joints[robot.joint_id("neck_pitch")].idx_v - 6

    def sample(self, time: float) -> eq.Target:
        """Return what is wanted at a time [s]."""
        position, velocity = self.position.copy(), np.zeros_like(self.position)
        position[self.neck] += 0.2 * np.sin(np.pi * time)
        velocity[self.neck] = 0.2 * np.pi * np.cos(np.pi * time)
        return eq.Target(position, velocity, np.zeros_like(position), self.com)


class LeanBack(eq.Controller[eq.Measurement]):
    """A controller: turns the ankles until the ZMP is below the wanted CoM."""

    def __init__(self, robot: eq.Robot, period: float) -> None:
        self.period, self.height = period, eq.com(robot, robot.standing)[2]
        self.least_load = 0.5 * 9.80665 * robot.mass  # with less it does not stand yet
        self.ankles = [
            robot.model.joints[robot.joint_id(f"{side}_ankle_pitch")].idx_v - 6
            for side in ("left", "right")
        ]

    def reset(self, start: eq.State) -> None:
        """Forget; ``simulate`` calls it before each run."""
        self.zmp, self.lean = None, 0.0

    def control(self, known: eq.Measurement, target: eq.Target) -> eq.Command:
        """Return a command; ``known`` is what the sensors measure."""
        load = sum(foot.force[2] for foot in known.feet.values())
        moment = sum(foot.torque[1] for foot in known.feet.values())
        zmp = -moment / load if load > self.least_load else target.com[0]
        old = zmp if self.zmp is None else self.zmp
        self.zmp = old + (zmp - old) * self.period / 0.3
        error = target.com[0] - self.zmp
        self.lean += 2.0 * self.period * error / self.height
        position = target.position.copy()
        position[self.ankles] -= self.lean
        return eq.Command(position, target.velocity, target.torque)


robot, period = eq.load("humanoid"), 0.01
lean_on = eq.Push("torso", np.array([35.0, 0.0, 0.0]), start=1.0, duration=3.0)
world = eq.make_world(robot, pushes=(lean_on,))
noisy = FootSensors(Noise(deviation=5.0), Noise(deviation=0.5), at="sole")

runs = {}
for name, controller in (("servos alone", None), ("leaning", LeanBack(robot, period))):
    runs[name] = run = eq.simulate(
        world,
        Nod(robot),
        seconds=4.0,
        controller=controller,
        sensors=eq.SensorSuite(world, feet=noisy, seed=1),
        control_period=period,
    )
    late = run.time > 3.5
    print(f"{name}: ZMP {run.zmp[late, 0].mean():.3f} m", end="")
    print(f", {run.zmp_margin[late].mean():.3f} m from the edge of the soles")
print(f"wanted: ZMP {run.references['com'][-1, 0]:.3f} m")

with tempfile.TemporaryDirectory() as folder:
    saved = run.save(Path(folder) / "leaning")  # run.mcap opens in Foxglove too
    again = eq.open_run(saved)
print(f"read back: {len(again.time)} states, the same: {(again.q == run.q).all()}")
