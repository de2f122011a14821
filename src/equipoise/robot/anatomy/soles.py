"""The flat under each foot, from geometry or as a stated estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.robot.anatomy.geometry import (
    area,
    contact_points,
    convex_hull,
    plane_axes,
    simplify,
    upright_variant,
)
from equipoise.robot.anatomy.skeleton import Path, Skeleton
from equipoise.robot.description import Shape
from equipoise.robot.parts import Side, Sole
from equipoise.rotations import transform

# Points this far above the lowest still belong to the sole, as a fraction of the
# foot's size (rounded edges of meshes); toes and foot are on the ground together
# within the same fraction of the leg.
SLAB = 0.025
# A foot whose level slab covers this fraction of its outline stands flat.
FLAT_FRACTION = 0.5
# A tilted face replaces the level slab when it is larger by this factor.
FACE_IS_LARGER = 1.3
FACE_TILT = np.cos(np.radians(60.0))
FACE_SPREAD = np.cos(np.radians(5.0))
# Toes are this far ahead of the joint above them, as a fraction of the leg's length.
TOES_AHEAD = 0.05
# Joints of the ankle are this near to the height of the last one, likewise.
ANKLE_NEAR = 0.3
# A joint turns about a direction if its axis is within 60 degrees of it.
ALONG = 0.5
MOST_CORNERS = 8
AREA_LOSS = 0.005
# Segment lengths of a standing adult as fractions of body height (Winter 2009, Fig.
# 4.1): foot length 0.152, foot breadth 0.055, ankle height 0.039, hip height 0.530.
FOOT_LENGTH_PER_LEG = 0.152 / 0.530
FOOT_WIDTH_PER_LEG = 0.055 / 0.530
ANKLE_HEIGHT_PER_LEG = 0.039 / 0.530
HEEL_FRACTION = 0.25
# How the origin begins of a sole that the file does not determine.
GUESSED = "estimate (guessed)"


@dataclass(frozen=True, eq=False)
class Foot:
    """The shapes of one body that may stand on the ground.

    Attributes:
        body: Pinocchio joint index of the body.
        shapes: Each with the pose of its link in the body.
        origin: Which geometry they are.
    """

    body: int
    shapes: tuple[tuple[Shape, pin.SE3], ...]
    origin: str

    def points(self, up: Array) -> Array:
        """Return the points that can touch a plane with this normal, (k, 3) [m]."""
        return np.vstack(
            [
                contact_points(shape, -pose.rotation.T @ up) @ pose.rotation.T
                + pose.translation
                for shape, pose in self.shapes
            ]
        )


@dataclass(frozen=True, eq=False)
class Flat:
    """The part of a foot that is flat on the ground, in the body's coordinates.

    Attributes:
        points: Shape (k, 3), k ≥ 1 [m].
        up: Normal of their plane, pointing away from the ground, shape (3,).
    """

    points: Array
    up: Array

    @property
    def area(self) -> float:
        """Area of the convex hull of the points in their plane [m²]."""
        return area(convex_hull(self.points @ plane_axes(self.up).T))


def find_sole(
    skeleton: Skeleton, side: Side, path: Path, forward: Array
) -> tuple[Sole, int]:
    """Find the sole at the end of a leg, and the body that carries it.

    Feet are near their standing attitude in the skeleton. The last body of the path is
    the foot or its toes; ``forward`` is the walking direction in base axes. Where these
    have no geometry, the sole is an estimate: shins and thighs carry none.
    """
    ends = _foot_and_toes(skeleton, path, forward)
    with_shapes = [body for body in ends if skeleton.has_shapes(body)]
    if not with_shapes:
        to_foot = path[: path.index(ends[0]) + 1]
        return _estimate(skeleton, side, to_foot, forward), ends[0]
    ground = min(map(skeleton.lowest, with_shapes))
    slab = SLAB * skeleton.chain_length(path)
    feet = [
        _foot(skeleton, body)
        for body in with_shapes
        if skeleton.lowest(body) <= ground + slab
    ]
    # toes may have a joint of their own: the foot is the larger flat
    foot, flat = max(
        ((foot, _flat_of(skeleton, foot)) for foot in feet),
        key=lambda item: (item[1].area, item[0].body),
    )
    sole = _sole_of(skeleton, side, foot, flat, forward)
    turned = _turned_as_collada_asks(foot)
    if turned is not None and sole.size[0] < sole.size[1]:
        # feet are longer than wide: the file's up axis was meant
        flat = _flat_of(skeleton, turned)
        other = _sole_of(skeleton, side, turned, flat, forward)
        sole = other if other.size[0] >= other.size[1] else sole
    return sole, foot.body


def placement_in_body(model: pin.Model, sole: Sole) -> tuple[int, pin.SE3]:
    """Return the body that carries a sole, and the sole frame's pose in it.

    The body is given by Pinocchio's joint index, the pose in that joint's coordinates.
    """
    link = model.frames[model.getBodyId(sole.link)]
    pose = link.placement * pin.SE3(np.array(sole.transform_sole_to_link))
    return int(link.parentJoint), pose


def _foot_and_toes(skeleton: Skeleton, path: Path, forward: Array) -> Path:
    """Return the bodies at the end of a leg that may carry the sole, foot first.

    Toes are ahead of the joint above them, more than they are below it unless the foot
    is on the ground with them, and pitch on a foot that the ankle pitches: the shin's
    end does not, and neither does the second of two ankle joints, however far ahead.
    """
    first = len(path) - 1
    length = skeleton.chain_length(path)
    while first > 0:
        step = skeleton.positions[path[first]] - skeleton.positions[path[first - 1]]
        least = TOES_AHEAD * length
        if not _side_by_side(skeleton, path[first - 1], path[first], SLAB * length):
            least = max(least, abs(float(step @ skeleton.up)))
        above = [body for body in _ankle(skeleton, path) if body in path[:first]]
        if (
            float(step @ forward) <= least
            or not _pitches(skeleton, path[first], forward)
            or not any(_pitches(skeleton, body, forward) for body in above)
        ):
            break
        first -= 1
    return path[first:]


def _side_by_side(skeleton: Skeleton, one: int, other: int, slab: float) -> bool:
    """Whether the shapes of two bodies end at the same height, within a slab [m]."""
    if not (skeleton.has_shapes(one) and skeleton.has_shapes(other)):
        return False
    return abs(skeleton.lowest(one) - skeleton.lowest(other)) <= slab


def _ankle(skeleton: Skeleton, path: Path) -> Path:
    """Return the bodies whose joints are not much higher than the last one's."""
    top = skeleton.height(path[-1]) + ANKLE_NEAR * skeleton.chain_length(path)
    return tuple(body for body in path if skeleton.height(body) < top)


def _pitches(skeleton: Skeleton, body: int, forward: Array) -> bool:
    """Whether the joint of a body turns about the lateral axis."""
    joint = skeleton.description.joint_by_name[skeleton.names[body]]
    axis = skeleton.poses[body].rotation @ joint.axis
    turns = joint.kind in ("revolute", "continuous")
    return turns and abs(float(axis @ np.cross(skeleton.up, forward))) > ALONG


def _foot(skeleton: Skeleton, body: int) -> Foot:
    """Return the shapes of a body that has some."""
    found = skeleton.shapes(body)
    shapes = tuple((item.shape, skeleton.link_in_body(item.link)) for item in found)
    return Foot(body, shapes, " and ".join(sorted({item.kind for item in found})))


def _turned_as_collada_asks(foot: Foot) -> Foot | None:
    variants = [(upright_variant(shape), pose) for shape, pose in foot.shapes]
    if all(variant is None for variant, _ in variants):
        return None
    shapes = tuple(
        (shape if variant is None else variant, pose)
        for (shape, pose), (variant, _) in zip(foot.shapes, variants, strict=True)
    )
    return Foot(foot.body, shapes, f"{foot.origin}, turned to the mesh's up axis")


def _flat_of(skeleton: Skeleton, foot: Foot) -> Flat:
    """Return the part of a foot that is flat on the ground, or is when level."""
    up = np.array(skeleton.poses[foot.body].rotation.T @ skeleton.up)
    points = foot.points(up)
    depth = SLAB * float(np.linalg.norm(np.ptp(points, axis=0)))
    level = Flat(_slab(points, up, depth), up)
    if level.area >= FLAT_FRACTION * Flat(points, up).area > 0.0:
        return level
    normal = _face_normal(points, up)  # a tilted or rounded foot, or a point
    if normal is None:
        return level
    face = Flat(_slab(foot.points(normal), normal, depth), normal)
    return face if face.area > FACE_IS_LARGER * level.area else level


def _slab(points: Array, up: Array, depth: float) -> Array:
    heights = points @ up
    return np.asarray(points[heights <= heights.min() + depth])


def _face_normal(points: Array, up: Array) -> Array | None:
    """Return the upward normal of the largest face on a foot's underside."""
    centred = points - points.mean(axis=0)
    _, widths, axes = np.linalg.svd(centred, full_matrices=False)
    if len(points) < 3 or widths[1] < 1e-9:
        return None
    if len(points) == 3 or widths[2] < 1e-6 * widths[0]:  # all in one plane
        normal = np.cross(axes[0], axes[1])
        normal *= np.sign(normal @ up) or 1.0
        return np.asarray(normal) if normal @ up > FACE_TILT else None
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(points)
    except QhullError:
        return None
    normals = -hull.equations[:, :3]
    corners = points[hull.simplices]
    edges = corners[:, 1:] - corners[:, :1]
    areas = 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    below = normals @ up > FACE_TILT
    if not below.any():
        return None
    normals, areas = normals[below], areas[below]
    alike = normals @ normals.T > FACE_SPREAD
    largest = alike[int(np.argmax(alike @ areas))]
    mean = areas[largest] @ normals[largest]
    return np.asarray(mean / np.linalg.norm(mean))


def _sole_of(
    skeleton: Skeleton, side: Side, foot: Foot, flat: Flat, forward: Array
) -> Sole:
    pose = _sole_pose(skeleton, foot.body, flat.up, flat.points, forward)
    outline = convex_hull((flat.points - pose[:3, 3]) @ pose[:3, :2])
    polygon = simplify(outline, MOST_CORNERS, AREA_LOSS)
    link, transform_sole_to_link = skeleton.in_link(foot.body, pose)
    return Sole(side, link, transform_sole_to_link, frozen_array(polygon), foot.origin)


def _sole_pose(
    skeleton: Skeleton, body: int, up: Array, points: Array, forward: Array
) -> Array:
    """Return the sole frame in the body: below the joint, z up, x forward."""
    forward_in_body = skeleton.poses[body].rotation.T @ forward
    x = forward_in_body - up * (up @ forward_in_body)
    x /= np.linalg.norm(x)
    below_joint = up * float((points @ up).min())
    return transform(np.column_stack([x, np.cross(up, x), up]), below_joint)


def _estimate(skeleton: Skeleton, side: Side, path: Path, forward: Array) -> Sole:
    """Return a foot of human proportions where the file has no geometry."""
    body = path[-1]
    leg = skeleton.reach(path)
    up = np.array(skeleton.poses[body].rotation.T @ skeleton.up)
    drop = skeleton.height(body) - skeleton.lowest(body)
    plane = "at the foot's lowest frame"
    if drop < 0.01 * leg:
        lowest_joint = min(map(skeleton.height, path))
        drop = skeleton.height(body) - lowest_joint + ANKLE_HEIGHT_PER_LEG * leg
        plane = "at human ankle height"
    shapes = map(skeleton.lowest, filter(skeleton.has_shapes, _ankle(skeleton, path)))
    bottom = skeleton.height(body) - min(shapes, default=np.inf)
    if bottom > drop:
        drop, plane = bottom, "under the lowest shape of the ankle"
    leg += drop
    pose = _sole_pose(skeleton, body, up, -drop * up[None, :], forward)
    length, width = FOOT_LENGTH_PER_LEG * leg, FOOT_WIDTH_PER_LEG * leg
    heel, toe = -HEEL_FRACTION * length, (1.0 - HEEL_FRACTION) * length
    half = width / 2
    polygon = np.array([[heel, -half], [toe, -half], [toe, half], [heel, half]])
    link, transform_sole_to_link = skeleton.in_link(body, pose)
    origin = f"{GUESSED}: no foot geometry; human proportions of the leg, {plane}"
    return Sole(side, link, transform_sole_to_link, frozen_array(polygon), origin)
