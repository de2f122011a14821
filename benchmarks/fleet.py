"""Fleets under a joint PD controller on the device, beside MuJoCo Warp.

``python -m benchmarks.fleet --device cuda --dtype float32`` lets Unitree G1, each with
link masses of its own, stand under a controller that is a Warp kernel, called once in a
control period; nothing returns to the host while the clock runs. MuJoCo Warp, where it
is installed, steps as many robots of the same model with position actuators in a CUDA
graph, in turns with ours.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

import equipoise as eq
from benchmarks.com_jacobian import g1_urdf
from equipoise.control.signals import Command
from equipoise.simulation.fleet_states import FleetState
from equipoise.simulation.variation import Variation
from equipoise.simulation.world import World, make_world

DT = 1e-3
# Gains that stand and are stable as torques held for a period [Nm/rad, Nm s/rad].
STIFFNESS, DAMPING = 500.0, 10.0
ROTOR_INERTIA = 0.01
# Masses differ by up to this fraction.
SPREAD = 0.1
# Iterations of MuJoCo Warp's solver and its line search, where they are fixed.
ENOUGH = (4, 8)


def main() -> None:
    """Print steps a second."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fleet", description=__doc__
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--dtype", default="float64", help="float64 or float32")
    parser.add_argument("--robots", type=int, default=256, help="how many")
    parser.add_argument("--periods", type=int, default=200, help="of a round")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each")
    parser.add_argument("--no-peer", action="store_true", help="ours alone")
    parser.add_argument("--urdf", default=None, help="another G1 file")
    options = parser.parse_args()
    robot = eq.load(options.urdf or g1_urdf())
    world = make_world(
        robot,
        actuation=eq.actuation_of(robot, "torque", rotor_inertia=ROTOR_INERTIA),
    )
    works: dict[str, tuple[Callable[[], None], int]] = {}
    for steps in (1, 2):
        periods = max(options.periods // steps, 1)
        work = _closed_loop(world, options, steps, periods)
        works[f"equipoise, control every {steps} ms"] = work, periods * steps
    peer = _mujoco_warp(world, options)
    if peer is not None:
        works["MuJoCo Warp, position actuators"] = peer, options.periods
    device = wp.get_device(options.device)
    rates: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(options.rounds):
        for name, (work, steps) in works.items():
            wp.synchronize_device(device)
            began = time.perf_counter()
            work()
            wp.synchronize_device(device)
            took = time.perf_counter() - began
            rates[name].append(options.robots * steps / took)
    print(f"{options.robots} {robot.name} on {device.name}, {options.dtype}, dt 1 ms")
    for name, values in rates.items():
        print(f"  {name:36s} {np.median(values):.3g} steps/s, best {max(values):.3g}")


def _closed_loop(
    world: World, options: argparse.Namespace, steps: int, periods: int
) -> Callable[[], None]:
    """Return a round: so many control periods of a fleet whose masses differ."""
    robot, count = world.robot, options.robots
    rng = np.random.default_rng(0)
    masses = {
        link.name: link.inertial.mass * (1.0 + SPREAD * rng.uniform(-1.0, 1.0, count))
        for link in robot.description.links
        if link.inertial is not None and link.inertial.mass > 0.0
    }
    fleet = eq.Fleet(
        world,
        count,
        DT,
        variation=Variation(mass=masses),
        control_period=steps * DT,
        device=options.device,
        dtype=options.dtype,
    )
    fleet.reset(robot.standing)
    controller = joint_pd(robot, options.device, options.dtype)
    results = fleet.run(controller, round(1.0 / (steps * DT)) * steps * DT)
    most = results.torque_fraction.max()
    print(
        f"  control every {steps} ms: {len(results.stopped)} of {count} stopped in the "
        f"first second, torques up to {most:.2f} of their limit"
    )

    def work() -> None:
        for _ in range(periods):
            controller(fleet.state, fleet.command)
            fleet.step(contacts=False)

    return work


@wp.kernel(module="unique", enable_backward=False)
def _pd(
    q: wp.array2d[Any],
    v: wp.array2d[Any],
    wanted: wp.array[Any],
    stiffness: Any,
    damping: Any,
    torque: wp.array2d[Any],
) -> None:
    robot, joint = wp.tid()
    error = wanted[joint] - q[robot, 7 + joint]
    torque[robot, joint] = stiffness * error - damping * v[robot, 6 + joint]


def joint_pd(
    robot: eq.Robot, device: str, dtype: str
) -> Callable[[FleetState, Command], None]:
    """Return a controller: torques that hold the standing posture, as a Warp kernel."""
    scalar = {"float64": wp.float64, "float32": wp.float32}[dtype]
    held = eq.joint_positions(robot, robot.standing).astype(dtype)
    wanted: Any = wp.array(held, dtype=scalar, device=device)

    gains = scalar(STIFFNESS), scalar(DAMPING)

    def control(state: FleetState, command: Command) -> None:
        wp.launch(
            _pd,
            dim=command.torque.shape,
            inputs=[state.q, state.v, wanted, *gains, command.torque],
            device=device,
        )

    return control


def _mujoco_warp(
    world: World, options: argparse.Namespace
) -> Callable[[], None] | None:
    """Return a round of MuJoCo Warp on the same robot, or None where there is none."""
    if options.no_peer or not options.device.startswith("cuda"):
        return None
    try:
        import mujoco_warp as mjw
    except ImportError:
        return None
    import mujoco

    from benchmarks.steps import SETTLING, mujoco_model

    model, data = mujoco_model(world)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    mujoco.mj_step(model, data, SETTLING)
    height = float(data.qpos[2])
    with wp.ScopedDevice(options.device):
        # its solver stops early only in graphs with conditions; where these cannot be
        # made, it does as many iterations as are enough for this robot
        for conditional in (True, False):
            if not conditional:
                model.opt.iterations, model.opt.ls_iterations = ENOUGH
            on_device = mjw.put_model(model)
            on_device.opt.graph_conditional = conditional
            worlds = mjw.put_data(
                model, data, nworld=options.robots, nconmax=16, njmax=64
            )
            for _ in range(3):
                mjw.step(on_device, worlds)
            try:
                with wp.ScopedCapture() as capture:
                    mjw.step(on_device, worlds)
                wp.capture_launch(capture.graph)
                break
            except RuntimeError as error:
                print(f"  MuJoCo Warp, conditional graph: {error}")
        for _ in range(SETTLING):
            wp.capture_launch(capture.graph)
        lost = np.abs(worlds.qpos.numpy()[:, 2] - height) > 0.05
    print(f"  MuJoCo Warp: {int(lost.sum())} of {options.robots} fell in a second")

    def work() -> None:
        # what the graph works on must not go away
        assert worlds.nworld == options.robots
        with wp.ScopedDevice(options.device):
            for _ in range(options.periods):
                wp.capture_launch(capture.graph)

    return work


if __name__ == "__main__":
    main()
