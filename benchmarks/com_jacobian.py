"""CoM and its Jacobian of many Unitree G1 configurations, against Pinocchio."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pinocchio as pin

import equipoise as eq
from benchmarks.measure import Comparison, Contender
from equipoise.kinematics.com import ComAndJacobian, com_and_jacobian

CONFIGURATIONS = 10_000
CUDA_CONFIGURATIONS = 100_000
TOLERANCE = {"float64": 1e-10, "float32": 1e-4}


def g1_urdf() -> Path:
    """Return the robot file.

    Raises:
        FileNotFoundError: With one line on how to get it.
    """
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        raise FileNotFoundError(
            "the Unitree G1 file is missing: pip install example-robot-data"
        ) from None
    folder = "cmeel.prefix/share/example-robot-data/robots/g1_description/urdf"
    path = Path(str(package.locate_file(f"{folder}/g1_29dof_rev_1_0.urdf")))
    if not path.is_file():
        raise FileNotFoundError(f"the Unitree G1 file is missing: no {path}")
    return path


def random_configurations(robot: eq.Robot, count: int, seed: int) -> np.ndarray:
    """Return configurations within joint limits, shape (count, nq)."""
    rng = np.random.default_rng(seed)
    model = robot.model
    q = np.empty((count, robot.nq))
    q[:, :3] = rng.uniform(-1.0, 1.0, (count, 3))
    quaternion = rng.normal(size=(count, 4))
    q[:, 3:7] = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    lower, upper = model.lowerPositionLimit[7:], model.upperPositionLimit[7:]
    q[:, 7:] = rng.uniform(lower, upper, (count, robot.nq - 7))
    return q


def comparisons(device: str, seed: int) -> list[Comparison]:
    """Return what to compare on a device: on the CPU one core, in float64."""
    robot = eq.load(g1_urdf())
    model, data = robot.model, robot.model.createData()
    q = random_configurations(robot, CONFIGURATIONS, seed)
    com = np.empty((CONFIGURATIONS, 3))
    jacobian = np.empty((CONFIGURATIONS, 3, robot.nv))

    def bare_loop() -> None:
        for row in q:
            pin.jacobianCenterOfMass(model, data, row)

    def storing_loop() -> None:
        for i, row in enumerate(q):
            jacobian[i] = pin.jacobianCenterOfMass(model, data, row)
            com[i] = data.com[0]

    peers = {
        "Pinocchio, Python loop, results dropped": Contender(bare_loop, len(q)),
        "Pinocchio, Python loop, results stored": Contender(storing_loop, len(q)),
    }
    count = CONFIGURATIONS if device == "cpu" else CUDA_CONFIGURATIONS
    batch = np.resize(q, (count, robot.nq))

    def compare(dtype: str) -> Comparison:
        def ours() -> ComAndJacobian:
            return com_and_jacobian(robot, batch, device=device, dtype=dtype)

        def difference() -> float:
            storing_loop()
            result = ours()
            return max(
                float(np.abs(result.com[: len(q)] - com).max()),
                float(np.abs(result.jacobian[: len(q)] - jacobian).max()),
            )

        where = "one core" if device == "cpu" else device
        work = f"CoM + Jacobian, {count:,} G1 configurations, {where}, {dtype}"
        return Comparison(
            work, Contender(ours, count), peers, difference, TOLERANCE[dtype]
        )

    dtypes = ["float64"] if device == "cpu" else ["float64", "float32"]
    return [compare(dtype) for dtype in dtypes]
