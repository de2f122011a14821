"""The three-link biped as a robot of the simulator, and back.

The planar model has point masses and feet that are points. The simulator's robot is the
catalogue's ``three-link``, in three dimensions: its masses are small spheres, and each
foot is a bar across the walking direction, as planar walkers in laboratories have, so
that it neither rolls nor yaws. A bar resists no pitching: the ankle has no torque.
"""

from __future__ import annotations

import copy

import numpy as np

from equipoise.planar.parameters import PlanarModelError, ThreeLinkParameters
from equipoise.robot.assemble import assemble
from equipoise.robot.catalogue import read_catalogue_table
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.formats.robot_toml import split_robot_table
from equipoise.robot.formats.settings import parse_settings
from equipoise.robot.load import load
from equipoise.robot.model import Robot

ROBOT = "three-link"
# Radius of a point mass, in leg lengths: the catalogue's.
SPHERE = 0.02
# Half of the bar across a foot, in leg lengths.
HALF_WIDTH = 0.15
# Lengths that differ by less than this, in leg lengths, are the same.
SAME = 1e-6


def three_link_robot(parameters: ThreeLinkParameters) -> Robot:
    """Return the catalogue's three-link biped with other masses and lengths.

    Spheres and bars are in proportion to the leg, torque limits to weight and leg.

    Args:
        parameters: Masses and lengths; gravity is the world's, not the robot's.
    """
    table = copy.deepcopy(read_catalogue_table(ROBOT))
    usual = parameters_of(load(ROBOT))
    leg, half = parameters.leg_length, HALF_WIDTH * parameters.leg_length
    scale = leg / usual.leg_length
    masses = {
        "hip": parameters.hip_mass,
        "torso": parameters.torso_mass,
        "left_leg": parameters.leg_mass,
        "right_leg": parameters.leg_mass,
    }
    for link in table["links"]:
        link["mass"] = masses[link["name"]]
        link["inertia"] = {"sphere": [SPHERE * leg]}
        if link["name"] == "torso":
            link["com"] = [0.0, 0.0, parameters.torso_length]
        elif link["name"] != "hip":
            link["com"] = [0.0, 0.0, -0.5 * leg]
    for sole in table["soles"].values():
        sole["xyz"] = [0.0, 0.0, -leg]
        sole["polygon"] = [[0.0, -half], [0.0, half]]
    heavier = parameters.total_mass / usual.total_mass
    table["actuators"]["default"]["effort_limit"] *= heavier * scale
    table["assumptions"] = [
        f"The catalogue's {ROBOT} with the masses and lengths of a planar biped.",
        f"Point masses are spheres of {1e3 * SPHERE * leg:g} mm radius.",
        f"Each foot is a bar of {2.0 * half:g} m across the walking direction, so that "
        "the biped neither rolls nor yaws.",
    ]
    description, settings = split_robot_table(table, f"{ROBOT}.toml")
    return assemble(description, parse_settings(settings, f"catalogue ({ROBOT})"), None)


def parameters_of(
    robot: Robot, gravity: float = STANDARD_GRAVITY
) -> ThreeLinkParameters:
    """Return masses and lengths of a robot that is a three-link biped.

    The inertia of its links about their own centres of mass is left out: the model has
    point masses. :func:`left_out_inertia` says how much that is.

    Args:
        robot: A base and two legs of one joint each, like the catalogue's
            ``three-link``.
        gravity: g [m/s²].

    Raises:
        PlanarModelError: If it is not such a robot; says why.
    """
    legs = robot.legs
    if robot.nv != 8 or any(len(leg.joints) != 1 for leg in legs.values()):
        raise _refusal(robot, "two legs of one joint each, and no other joints")
    joints = [robot.description.joint_by_name[leg.joints[0]] for leg in legs.values()]
    across = [np.abs(joint.axis) for joint in joints]
    hips = [joint.transform_joint_to_parent[:3, 3] for joint in joints]
    lengths, masses = [], []
    for side, joint in zip(legs, joints, strict=True):
        sole, link = robot.soles[side], robot.description.link_by_name[joint.child]
        length = -float(sole.transform_sole_to_link[2, 3])
        own = link.inertial
        middle = np.array([0.0, 0.0, -0.5 * length])
        if own is None or not np.allclose(own.com_in_link, middle, atol=SAME * length):
            raise _refusal(robot, "legs that carry their mass half-way")
        lengths.append(length)
        masses.append(own.mass)
    leg = lengths[0]
    if not (
        np.allclose(across, [0.0, 1.0, 0.0])
        and np.allclose(hips, 0.0, atol=SAME * leg)
        and np.allclose(lengths, leg)
        and np.allclose(masses, masses[0])
    ):
        raise _refusal(robot, "two equal legs that turn about one axis at the hip")
    hip, torso, moment = 0.0, 0.0, 0.0
    for joint_child, height in _base_links(robot):
        own = robot.description.link_by_name[joint_child].inertial
        if own is None:
            continue
        above = height + float(own.com_in_link[2])
        if abs(above) < SAME * leg:
            hip += own.mass
        else:
            torso, moment = torso + own.mass, moment + own.mass * above
    if hip <= 0.0 or torso <= 0.0:
        raise _refusal(robot, "masses at the hip and above it")
    return ThreeLinkParameters(leg, moment / torso, masses[0], hip, torso, gravity)


def _base_links(robot: Robot) -> list[tuple[str, float]]:
    """Return the links of the base, and how high their frames are above the hip [m]."""
    found = [(robot.description.root, 0.0)]
    for parent, height in found:
        for joint in robot.description.joints_below[parent]:
            if joint.kind == "fixed":
                up = float(joint.transform_joint_to_parent[2, 3])
                found.append((joint.child, height + up))
    return found


def left_out_inertia(robot: Robot) -> float:
    """Return the inertia that point masses leave out, as a fraction of the whole.

    It is the largest, over torso and legs, of the moment of inertia of their links
    about their own centres of mass over that of the point masses about the hip.
    """
    p = parameters_of(robot)
    own = {
        link.name: float(link.inertial.inertia_in_link[1, 1])
        for link in robot.description.links
        if link.inertial is not None
    }
    base = sum(own.get(name, 0.0) for name, _ in _base_links(robot))
    legs = [own[limb.end_link] for limb in robot.legs.values()]
    return max(
        base / (p.torso_mass * p.torso_length**2),
        max(legs) / (0.25 * p.leg_mass * p.leg_length**2),
    )


def _refusal(robot: Robot, needed: str) -> PlanarModelError:
    return PlanarModelError(
        f"{robot.name} is not a three-link biped: it needs {needed}"
    )
