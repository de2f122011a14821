"""The robot as solids that move: meshes where they are found, else capsules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.robot.anatomy.geometry import upright_variant
from equipoise.robot.description import Colour, Link, Shape
from equipoise.robot.mesh import Mesh, coarser, creased, join_meshes, weld
from equipoise.robot.model import Robot
from equipoise.robot.parts import Sole
from equipoise.show.space.primitives import capsule_between, plate, shape_mesh
from equipoise.show.space.scene_colours import BODY, FOOT

# Capsules are as thick as their mass would be in water, within these shares of their
# length [kg/m³].
DENSITY = 1000.0
THINNEST, THICKEST = 0.08, 0.3
# Joints nearer than this share of a limb are at the same place.
SAME_PLACE = 0.01
SOLE_THICKNESS = 0.02
# Triangles of a whole robot that are enough for the eye.
MOST_TRIANGLES = 40_000
# A mesh keeps at least this many, however many others there are.
LEAST_TRIANGLES = 200


@dataclass(frozen=True, eq=False)
class Body:
    """What moves with one joint, in one colour.

    Attributes:
        name: Of the joint, with a number if there are several of one joint.
        joint: Pinocchio's index.
        mesh: In the joint's coordinates.
        colour: Red, green, blue, from 0 to 255.
    """

    name: str
    joint: int
    mesh: Mesh
    colour: Colour


class _Piece(NamedTuple):
    joint: int
    mesh: Mesh
    colour: Colour


def robot_bodies(
    robot: Robot, most_triangles: int = MOST_TRIANGLES
) -> tuple[Body, ...]:
    """Return a robot's solids.

    Links with visual shapes show these, links without show their collision shapes.
    Where a body has neither, or a mesh is not on this machine, capsules run from joint
    to joint, as thick as its mass asks for.

    Args:
        robot: The robot.
        most_triangles: Meshes are made coarser until they have about as many.
    """
    pieces = [*_shaped(robot)]
    pieces += _capsules(robot, {piece.joint for piece in pieces})
    bodies, counts = [], dict.fromkeys(range(robot.model.njoints), 0)
    keys = list(dict.fromkeys((p.joint, p.colour) for p in pieces))
    solids = [
        weld(join_meshes(p.mesh for p in pieces if (p.joint, p.colour) == key))
        for key in keys
    ]
    budgets = _budgets(solids, most_triangles)
    for (joint, colour), solid, budget in zip(keys, solids, budgets, strict=True):
        mesh = creased(coarser(solid, budget))
        counts[joint] += 1
        number = f"-{counts[joint]}" if counts[joint] > 1 else ""
        bodies.append(Body(f"{robot.model.names[joint]}{number}", joint, mesh, colour))
    return tuple(bodies)


def joint_poses(robot: Robot, q: ArrayLike) -> Array:
    """Return where the joints' frames are in the world, by Pinocchio's index.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,).

    Returns:
        Position [m] and quaternion xyzw of each, shape (njoints, 7).
    """
    pin.forwardKinematics(robot.model, robot.data, np.asarray(q))
    return np.array([pin.SE3ToXYZQUAT(pose) for pose in robot.data.oMi])


def _budgets(meshes: Sequence[Mesh], most: int) -> list[int]:
    """Return how many triangles each mesh may keep: as many as it is large.

    What a mesh does not need goes to the others. Small parts are often the finest of
    a robot, and would take the triangles that its limbs are seen by.
    """
    needs = np.array([len(mesh.triangles) for mesh in meshes])
    sizes = np.array(
        [float(np.linalg.norm(np.ptp(mesh.vertices, axis=0))) for mesh in meshes]
    )
    budgets = np.zeros(len(meshes), dtype=np.int64)
    left, size_left = most, float(sizes.sum())
    for at in np.argsort(needs / np.maximum(sizes, 1e-9), kind="stable"):
        share = round(left * sizes[at] / max(size_left, 1e-9))
        budgets[at] = max(min(needs[at], share), LEAST_TRIANGLES)
        left, size_left = max(left - int(budgets[at]), 0), size_left - sizes[at]
    return [int(budget) for budget in budgets]


def _shaped(robot: Robot) -> Iterator[_Piece]:
    """Go through the shapes that can be drawn."""
    model = robot.model
    turned = _meant_upright(robot)
    for link in robot.description.links:
        frame = model.frames[model.getBodyId(link.name)]
        place = np.array(frame.placement.homogeneous)
        for shape in _shapes(link):
            upright = upright_variant(shape) if turned else None
            mesh = shape_mesh(upright or shape)
            if mesh is not None and len(mesh.triangles):
                # COLLADA files bring colours of their own, which viewers prefer
                own = shape.mesh is not None and shape.mesh.suffix.lower() == ".dae"
                colour = BODY if own else shape.colour or BODY
                yield _Piece(int(frame.parentJoint), mesh.moved(place), colour)


def _meant_upright(robot: Robot) -> bool:
    """Return whether COLLADA meshes are meant to be turned to their up axis.

    Files do not tell, and viewers differ. Links have their mass where they are: of both
    ways, the one is meant in which meshes lie around their links' centres of mass.
    """
    as_filed = turned = 0.0
    for link in robot.description.links:
        for shape in _shapes(link):
            variant = upright_variant(shape)
            mesh = None if variant is None else shape_mesh(shape)
            other = None if variant is None else shape_mesh(variant)
            if mesh is None or other is None or link.inertial is None:
                continue
            as_filed += _off(mesh, link.inertial.com_in_link)
            turned += _off(other, link.inertial.com_in_link)
    return turned < as_filed


def _off(mesh: Mesh, point: Array) -> float:
    """Return how far a point is from the middle of a mesh's bounding box [m]."""
    middle = 0.5 * (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0))
    return float(np.linalg.norm(middle - point))


def _shapes(link: Link) -> tuple[Shape, ...]:
    return link.visuals or link.collisions


def _capsules(robot: Robot, drawn: set[int]) -> Iterator[_Piece]:
    """Stand in for bodies that have no shape; soles get a plate."""
    model = robot.model
    soles = {
        int(model.frames[model.getBodyId(sole.link)].parentJoint): sole
        for sole in robot.soles.values()
        if len(sole.polygon_in_sole) > 2
    }
    near = SAME_PLACE * robot.longest_limb
    for joint in range(1, model.njoints):
        if joint in drawn:
            continue
        mass = float(model.inertias[joint].mass)
        if joint in soles:
            yield from _foot(robot, joint, soles[joint], mass)
            continue
        for start, end in _bones(robot, joint, near):
            radius = _radius(mass, float(np.linalg.norm(end - start)))
            yield _Piece(joint, capsule_between(start, end, radius), BODY)


def _foot(robot: Robot, joint: int, sole: Sole, mass: float) -> Iterator[_Piece]:
    """Stand in for a foot: a plate on the ground, and a shaft up to the ankle."""
    frame = robot.model.frames[robot.model.getBodyId(sole.link)].placement.homogeneous
    pose = np.array(frame) @ sole.transform_sole_to_link
    solid = plate(sole.polygon_in_sole, SOLE_THICKNESS * robot.longest_limb)
    yield _Piece(joint, solid.moved(pose), FOOT)
    height = float(np.linalg.norm(pose[:3, 3]))
    if height > SAME_PLACE * robot.longest_limb:
        radius = _radius(mass, height)
        # its round end stays above the ground
        end = pose[:3, 3] * max(1.0 - radius / height, 0.0)
        yield _Piece(joint, capsule_between(np.zeros(3), end, radius), FOOT)


def _bones(robot: Robot, joint: int, near: float) -> Iterator[tuple[Array, Array]]:
    """Go through the straight pieces that a body without a shape is drawn as."""
    model = robot.model
    here = np.zeros(3)
    com = np.array(model.inertias[joint].lever)
    ends = [
        np.array(model.jointPlacements[child].translation)
        for child in model.children[joint]
    ]
    if joint == 1:  # the base: its own frame may be anywhere
        here = com
    far = [end for end in ends if np.linalg.norm(end - here) > near]
    if not ends and np.linalg.norm(com) > near:
        far = [2.0 * com]  # a last link, as long as its centre of mass says
    yield from ((here, end) for end in far)


def _radius(mass: float, length: float) -> float:
    volume = mass / DENSITY
    radius = float(np.sqrt(volume / (np.pi * length)))
    return min(max(radius, THINNEST * length), THICKEST * length)
