"""How far every quantity is from Pinocchio, MuJoCo and finite differences.

``python -m benchmarks.agreement`` prints the largest difference over random
configurations of every catalogue robot, and of any robot file given.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin

import equipoise as eq
from equipoise.arrays import Array, frozen_array
from equipoise.kinematics.com import com_and_jacobian, com_jacobian_rate
from equipoise.robot.catalogue import catalogue_names
from equipoise.robot.description import Description
from equipoise.robot.formats.mjcf_export import to_mjcf
from equipoise.robot.formats.mujoco_state import to_mujoco
from equipoise.robot.inertias import Inertial

STEP = 1e-6
COLUMNS = (
    "CoM",
    "J",
    "velocity",
    "J rate",
    "momentum",
    "frame J",
    "MuJoCo",
    "differences",
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agreement")
    parser.add_argument("robots", nargs="*", help="robot files beside the catalogue")
    parser.add_argument("--count", type=int, default=1000, help="configurations each")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{'robot':20}" + "".join(f"{name:>12}" for name in COLUMNS))
    for source in (*catalogue_names(), *options.robots):
        robot = eq.load(source)
        worst = largest_differences(robot, options.count, options.seed)
        print(f"{robot.name[:19]:20}" + "".join(f"{value:12.1e}" for value in worst))


def largest_differences(robot: eq.Robot, count: int, seed: int) -> Array:
    """Return the largest absolute difference of each quantity, in COLUMNS' order.

    Momentum is divided by the mass; the last column is the Jacobian against central
    differences of the CoM.
    """
    rng = np.random.default_rng(seed)
    model, data = robot.model, robot.model.createData()
    bound = np.clip(model.upperPositionLimit, -np.pi, np.pi)
    low = np.clip(model.lowerPositionLimit, -np.pi, np.pi)
    pin.seed(seed)
    q = np.array([pin.randomConfiguration(model, low, bound) for _ in range(count)])
    v = rng.normal(size=(count, robot.nv))
    foot = robot.soles["left"].link
    frame = robot.frame_id(foot)
    position, jacobian = com_and_jacobian(robot, q)
    velocity = eq.com_velocity(robot, q, v)
    rate = com_jacobian_rate(robot, q, v)
    momentum = eq.centroidal_momentum(robot, q, v)
    frame_jacobian = eq.frame_jacobian(robot, q, foot)
    worst = np.zeros(len(COLUMNS))
    for i in range(count):
        expected = pin.jacobianCenterOfMass(model, data, q[i])
        differences = [jacobian[i] - expected]
        pin.centerOfMass(model, data, q[i], v[i])
        differences.insert(0, position[i] - data.com[0])
        differences.append(velocity[i] - data.vcom[0])
        expected = pin.computeCentroidalMapTimeVariation(model, data, q[i], v[i])
        differences.append(rate[i] - expected[:3] / robot.mass)
        pin.computeCentroidalMomentum(model, data, q[i], v[i])
        differences.append((momentum[i] - data.hg.vector) / robot.mass)
        aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        expected = pin.computeFrameJacobian(model, data, q[i], frame, aligned)
        differences.append(frame_jacobian[i] - expected)
        worst[:6] = np.maximum(worst[:6], [np.abs(d).max() for d in differences])
    worst[6] = np.abs(mujoco_com(robot, q, v) - position).max()
    ends = [
        np.array([pin.integrate(model, a, b) for a, b in zip(q, s * v, strict=True)])
        for s in (STEP, -STEP)
    ]
    moved = (eq.com(robot, ends[0]) - eq.com(robot, ends[1])) / (2 * STEP)
    worst[7] = np.abs(moved - np.einsum("nij,nj->ni", jacobian, v)).max()
    return worst


def mujoco_com(robot: eq.Robot, q: Array, v: Array) -> Array:
    """Return MuJoCo's subtree_com of the exported robot, shape (n, 3)."""
    document = to_mjcf(acceptable_to_mujoco(robot.description))
    model = mujoco.MjModel.from_xml_string(document)
    data = mujoco.MjData(model)
    base = model.jnt_bodyid[int(np.flatnonzero(model.jnt_type == 0)[0])]
    found = []
    for qpos in to_mujoco(robot.model, model, q, v).qpos:
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        found.append(np.array(data.subtree_com[base]))
    return np.array(found)


def acceptable_to_mujoco(description: Description) -> Description:
    """Return a robot that MuJoCo compiles: no shapes, no link without mass or inertia.

    Fingers of Romeo have no mass and some links of iCub no inertia, which MuJoCo
    refuses; a picogram each moves no centre of mass by a picometre.
    """
    links = []
    for link in description.links:
        given = link.inertial or Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
        moments = np.linalg.eigvalsh(given.inertia_in_link)
        impossible = moments[0] <= 0.0 or moments[:2].sum() < moments[2]
        if given.mass == 0.0 or impossible:
            little = frozen_array(1e-6 * np.eye(3))
            given = Inertial(max(given.mass, 1e-12), given.com_in_link, little)
        links.append(replace(link, inertial=given, collisions=(), visuals=()))
    return replace(description, links=tuple(links))


if __name__ == "__main__":
    main()
