"""Solids: meshes of simple shapes, and the robot as solids that move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from equipoise.arrays import Array
from equipoise.robot.anatomy.geometry import plane_axes, upright_variant
from equipoise.robot.description import Colour, Shape
from equipoise.robot.mesh import Mesh, coarser, creased, join_meshes, read_mesh, weld
from equipoise.robot.model import Robot
from equipoise.robot.parts import Sole
from equipoise.rotations import rotation_from_quaternion, transform
from equipoise.show.palette import BODY, FOOT

# Capsules are as thick as their mass would be in water, within these fractions of their
# length [kg/m³].
DENSITY = 1000.0
THINNEST, THICKEST = 0.08, 0.3
# Joints nearer than this fraction of a limb are at the same place.
SAME_PLACE = 0.01
SOLE_THICKNESS = 0.02
# Triangles of a whole robot that are enough for the eye.
MOST_TRIANGLES = 40_000
# A mesh keeps at least this many, however many others there are.
LEAST_TRIANGLES = 200
AROUND = 24
CAP_RINGS = 6


@dataclass(frozen=True, eq=False)
class Body:
    """What moves with one joint, in one colour.

    Attributes:
        name: Name of the joint, with a number if there are several of one joint.
        joint: Pinocchio's index of the joint.
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
    to joint, as thick as its mass requires.

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
    """Return position [m] and quaternion xyzw of each joint's frame in the world.

    Rows are by Pinocchio's index, shape (njoints, 7); q has shape (nq,).
    """
    pin.forwardKinematics(robot.model, robot.data, np.asarray(q))
    return np.array([pin.SE3ToXYZQUAT(pose) for pose in robot.data.oMi])


def rotation_matrices(quaternions: Array) -> Array:
    """Return rotation matrices (n, 3, 3) of quaternions xyzw, shape (n, 4)."""
    matrices: Array = Rotation.from_quat(np.reshape(quaternions, (-1, 4))).as_matrix()
    return matrices


def pose_matrix(pose: Array) -> Array:
    """Return the matrix (4, 4) of a position [m] and a quaternion xyzw, shape (7,)."""
    return transform(rotation_from_quaternion(pose[3:]), pose[:3])


def _budgets(meshes: Sequence[Mesh], most: int) -> list[int]:
    """Return how many triangles each mesh may keep, in proportion to its size.

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
        fair = round(left * sizes[at] / max(size_left, 1e-9))
        budgets[at] = max(min(needs[at], fair), LEAST_TRIANGLES)
        left, size_left = max(left - int(budgets[at]), 0), size_left - sizes[at]
    return [int(budget) for budget in budgets]


def _shaped(robot: Robot) -> Iterator[_Piece]:
    """Yield the shapes that can be drawn."""
    model = robot.model
    turned = _meant_upright(robot)
    for link in robot.description.links:
        frame = model.frames[model.getBodyId(link.name)]
        place = np.array(frame.placement.homogeneous)
        for shape in link.visuals or link.collisions:
            upright = upright_variant(shape) if turned else None
            mesh = shape_mesh(upright or shape)
            if mesh is not None and len(mesh.triangles):
                # COLLADA files bring colours of their own, which viewers prefer
                own = shape.mesh is not None and shape.mesh.suffix.lower() == ".dae"
                colour = BODY if own else shape.colour or BODY
                yield _Piece(int(frame.parentJoint), mesh.moved(place), colour)


def _meant_upright(robot: Robot) -> bool:
    """Return whether COLLADA meshes are meant to be turned to their up axis.

    Files do not say, and viewers differ. The way is meant in which meshes lie around
    their links' centres of mass.
    """
    as_filed = turned = 0.0
    for link in robot.description.links:
        for shape in link.visuals or link.collisions:
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
    solid = prism(sole.polygon_in_sole, 0.0, SOLE_THICKNESS * robot.longest_limb)
    yield _Piece(joint, solid.moved(pose), FOOT)
    height = float(np.linalg.norm(pose[:3, 3]))
    if height > SAME_PLACE * robot.longest_limb:
        radius = _radius(mass, height)
        # its round end stays above the ground
        end = pose[:3, 3] * max(1.0 - radius / height, 0.0)
        yield _Piece(joint, capsule_between(np.zeros(3), end, radius), FOOT)


def _bones(robot: Robot, joint: int, near: float) -> Iterator[tuple[Array, Array]]:
    """Yield the straight pieces that a body without a shape is drawn as."""
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


def box(size: ArrayLike) -> Mesh:
    """Return a box about the origin with these edges [m], shape (3,)."""
    x, y, z = 0.5 * np.asarray(size)
    return prism(np.array([[x, y], [-x, y], [-x, -y], [x, -y]]), -z, z)


def revolved(profile: ArrayLike, around: int = AROUND) -> Mesh:
    """Return the solid that a line makes when it turns about the z-axis.

    Its profile is radius and z of its points [m], from the lowest to the highest, shape
    (k, 2); a radius of zero closes the end.
    """
    radius, z = np.asarray(profile, dtype=np.float64).T
    angle = 2.0 * np.pi * np.arange(around) / around
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(around)], axis=1)
    vertices = radius[:, None, None] * ring + z[:, None, None] * np.array([0, 0, 1.0])
    here, there = np.arange(around), np.roll(np.arange(around), -1)
    first = around * np.arange(len(z) - 1)[:, None]
    lower = np.stack([first + here, first + there, first + there + around], axis=-1)
    upper = np.stack(
        [first + here, first + there + around, first + here + around], axis=-1
    )
    # where a ring is a point, one of both triangles has no area
    sides = [*lower[radius[:-1] > 0.0], *upper[radius[1:] > 0.0]]
    return as_mesh(vertices.reshape(-1, 3), np.concatenate(sides))


def sphere(radius: float) -> Mesh:
    """Return a ball about the origin."""
    return capsule(radius, 0.0)


def capsule(radius: float, length: float) -> Mesh:
    """Return a capsule along z about the origin; ``length`` is its straight part [m].

    A radius of zero gives nothing.
    """
    if radius <= 0.0:
        return as_mesh(np.zeros((0, 3)), np.zeros((0, 3)))
    angle = np.linspace(-0.5 * np.pi, 0.0, CAP_RINGS + 1)
    half = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    half[0, 0] = 0.0
    lower = half - [0.0, 0.5 * length]
    upper = half[::-1] * [1.0, -1.0] + [0.0, 0.5 * length]
    return revolved(np.concatenate([lower, upper if length > 0.0 else upper[1:]]))


def cylinder(radius: float, length: float) -> Mesh:
    """Return a cylinder along z about the origin."""
    half = 0.5 * length
    return revolved([[0.0, -half], [radius, -half], [radius, half], [0.0, half]])


def capsule_between(start: Array, end: Array, radius: float) -> Mesh:
    """Return a capsule from one point to another [m], shape (3,)."""
    along = end - start
    length = float(np.linalg.norm(along))
    if length < 1e-9:
        return sphere(radius).moved(transform(None, start))
    axis = along / length
    pose = transform(np.column_stack([*plane_axes(axis), axis]), 0.5 * (start + end))
    return capsule(radius, length).moved(pose)


def prism(polygon: Array, low: float, high: float) -> Mesh:
    """Return a prism over a convex polygon (k, 2), between two heights [m]."""
    count = len(polygon)
    here, there = np.arange(count), np.roll(np.arange(count), -1)
    sides = [
        np.stack([here, there, there + count], axis=1),
        np.stack([here, there + count, here + count], axis=1),
    ]
    lid = fan(count)
    corners = np.concatenate([on_plane(polygon, low), on_plane(polygon, high)])
    return as_mesh(corners, np.concatenate([lid[:, ::-1], lid + count, *sides]))


def fan(corners: int) -> NDArray[np.int32]:
    """Return the triangles of a convex polygon, shape (corners - 2, 3)."""
    return np.array([[0, at, at + 1] for at in range(1, corners - 1)], dtype=np.int32)


def on_plane(polygon: Array, level: float) -> Array:
    """Return points (k, 2) at a height [m], shape (k, 3)."""
    return np.hstack([polygon, np.full((len(polygon), 1), level)])


def shape_mesh(shape: Shape) -> Mesh | None:
    """Return the mesh of a robot's shape in link coordinates; None if not found."""
    match shape.kind:
        case "mesh":
            found = None if shape.mesh is None else read_mesh(shape.mesh)
            if found is None:
                return None
            return found.moved(shape.transform_shape_to_link, shape.size)
        case "box":
            solid = box(shape.size)
        case "sphere":
            solid = sphere(shape.size[0])
        case "capsule":
            solid = capsule(*shape.size)
        case "cylinder":
            solid = cylinder(*shape.size)
    return solid.moved(shape.transform_shape_to_link)


def as_mesh(vertices: Array, triangles: Array) -> Mesh:
    """Return a mesh of vertices [m], shape (n, 3), and triangles, shape (m, 3)."""
    return Mesh(vertices.astype(np.float32), triangles.astype(np.int32))
