"""The flat under each foot, from geometry or as a stated estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.robot.anatomy.geometry import contact_points, link_shapes, shape_is_known
from equipoise.robot.anatomy.polygon import area, convex_hull, simplify
from equipoise.robot.anatomy.skeleton import Skeleton
from equipoise.robot.description import Array, Description, frozen_array, transform
from equipoise.robot.model import Side, Sole

# Points this far above the lowest still belong to the sole, as a share of the
# foot's extent: rounded edges of meshes.
SLAB = 0.025
# A foot whose level slab covers this share of its outline stands flat.
FLAT_SHARE = 0.5
# A tilted face replaces the level slab when it is larger by this factor.
FACE_IS_LARGER = 1.3
FACE_TILT = np.cos(np.radians(60.0))
FACE_SPREAD = np.cos(np.radians(5.0))
MOST_CORNERS = 8
AREA_LOSS = 0.005
# Segment lengths of a standing adult as shares of body height (Winter 2009, Fig.
# 4.1): foot length 0.152, foot breadth 0.055, ankle height 0.039, hip height 0.530.
FOOT_LENGTH_PER_LEG = 0.152 / 0.530
FOOT_WIDTH_PER_LEG = 0.055 / 0.530
ANKLE_HEIGHT_PER_LEG = 0.039 / 0.530
HEEL_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points of one body that are, or may be, on the ground.

    Attributes:
        body: Pinocchio joint index of the body.
        points: In the body's coordinates [m], shape (k, 3), k ≥ 1.
        up: Normal of the ground, or of the sole once that is known, in the body's
            axes, shape (3,).
        bottom: Height of the lowest point above the base's origin [m].
        origin: Which geometry they are from.
    """

    body: int
    points: Array
    up: Array
    bottom: float
    origin: str

    @property
    def flat_area(self) -> float:
        """Area of the convex hull of the points in their plane [m²]."""
        return area(convex_hull(self.points @ _plane_axes(self.up).T))


def find_sole(
    skeleton: Skeleton,
    description: Description,
    side: Side,
    path: Sequence[int],
    forward: Array,
) -> tuple[Sole, int]:
    """Find the sole at the end of a leg.

    Args:
        skeleton: The tree, feet near their standing attitude.
        description: Links and shapes.
        side: Which leg.
        path: Bodies of the leg, the last one being the foot or its toes.
        forward: Walking direction in base axes, shape (3,).

    Returns:
        The sole, and the body that carries it.
    """
    clouds = [_cloud(skeleton, description, body) for body in path[-2:]]
    known = [cloud for cloud in clouds if cloud is not None]
    if not known:
        return _estimate(skeleton, side, path, forward), path[-1]
    ground = min(cloud.bottom for cloud in known)
    contacts = [
        _contact(cloud)
        for cloud in known
        if cloud.bottom - ground < SLAB * skeleton.extent
    ]
    # toes may have a joint of their own: the foot is the larger flat
    contact = max(contacts, key=lambda contact: (contact.flat_area, contact.body))
    return _sole_of(skeleton, side, contact, forward), contact.body


def make_sole(
    side: Side,
    link: str,
    transform_sole_to_link: Array,
    polygon_in_sole: Array,
    origin: str,
) -> Sole:
    """Build a sole from points in its plane: their hull, with few corners."""
    polygon = simplify(convex_hull(polygon_in_sole), MOST_CORNERS, AREA_LOSS)
    return Sole(side, link, transform_sole_to_link, frozen_array(polygon), origin)


def _cloud(skeleton: Skeleton, description: Description, body: int) -> Cloud | None:
    """Return the points of one body's shapes, or None without geometry."""
    pose = skeleton.pose(body)
    up = np.array(pose.rotation.T @ skeleton.up)
    clouds: list[Array] = []
    kinds: set[str] = set()
    for name in skeleton.links(body):
        shapes, kind = link_shapes(description.link_by_name[name])
        placement = skeleton.link_in_body(name)
        for shape in filter(shape_is_known, shapes):
            points = contact_points(shape, placement.rotation.T @ -up)
            clouds.append(points @ placement.rotation.T + placement.translation)
            kinds.add(kind)
    if not clouds:
        return None
    points = np.vstack(clouds)
    bottom = float((points @ up).min() + pose.translation @ skeleton.up)
    return Cloud(body, points, up, bottom, " and ".join(sorted(kinds)))


def _contact(cloud: Cloud) -> Cloud:
    """Return the part of a cloud that touches the ground, with its normal."""
    points, up = cloud.points, cloud.up
    depth = SLAB * float(np.linalg.norm(np.ptp(points, axis=0)))
    best = _slab(points, up, depth)
    level = _hull_area(best, up)
    if level < FLAT_SHARE * _hull_area(points, up):  # a tilted or rounded foot
        for normal in _face_normals(points, up):
            face = _slab(points, normal, depth)
            if _hull_area(face, normal) > FACE_IS_LARGER * level:
                best, up = face, normal
    return Cloud(cloud.body, best, up, cloud.bottom, cloud.origin)


def _slab(points: Array, up: Array, depth: float) -> Array:
    heights = points @ up
    return np.asarray(points[heights <= heights.min() + depth])


def _hull_area(points: Array, up: Array) -> float:
    return area(convex_hull(points @ _plane_axes(up).T))


def _face_normals(points: Array, up: Array) -> Array:
    """Return upward normals of the large faces below a tilted foot, (k, 3)."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return np.zeros((0, 3))
    normals = -hull.equations[:, :3]
    corners = points[hull.simplices]
    areas = 0.5 * np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    below = normals @ up > FACE_TILT
    normals, areas = normals[below], areas[below]
    alike = normals @ normals.T > FACE_SPREAD
    if len(normals) == 0:
        return np.zeros((0, 3))
    largest = int(np.argmax(alike @ areas))
    mean = areas[alike[largest]] @ normals[alike[largest]]
    return np.asarray(mean / np.linalg.norm(mean))[None, :]


def _plane_axes(up: Array) -> Array:
    """Return two unit vectors that span the plane across ``up``, (2, 3)."""
    helper = np.eye(3)[int(np.argmin(np.abs(up)))]
    first = np.cross(up, helper)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(up, first)])


def _sole_of(skeleton: Skeleton, side: Side, contact: Cloud, forward: Array) -> Sole:
    pose = _sole_pose(skeleton, contact.body, contact.up, contact.points, forward)
    polygon = (contact.points - pose[:3, 3]) @ pose[:3, :2]
    link, transform_sole_to_link = skeleton.in_link(contact.body, pose)
    return make_sole(side, link, transform_sole_to_link, polygon, contact.origin)


def _sole_pose(
    skeleton: Skeleton, body: int, up: Array, points: Array, forward: Array
) -> Array:
    """Return the sole frame in the body: below the joint, z up, x forward."""
    forward_in_body = skeleton.pose(body).rotation.T @ forward
    x = forward_in_body - up * (up @ forward_in_body)
    x /= np.linalg.norm(x)
    below_joint = up * float((points @ up).min())
    return transform(np.column_stack([x, np.cross(up, x), up]), below_joint)


def _estimate(
    skeleton: Skeleton, side: Side, path: Sequence[int], forward: Array
) -> Sole:
    """Return a foot of human proportions where the file has no geometry."""
    body = path[-1]
    leg = skeleton.reach(path)
    up = np.array(skeleton.pose(body).rotation.T @ skeleton.up)
    drop = skeleton.height(body) - skeleton.lowest(body)
    plane = "at the foot's lowest frame"
    if drop < 0.01 * leg:
        drop = ANKLE_HEIGHT_PER_LEG * leg
        plane = "at human ankle height"
    leg += drop
    pose = _sole_pose(skeleton, body, up, -drop * up[None, :], forward)
    length, width = FOOT_LENGTH_PER_LEG * leg, FOOT_WIDTH_PER_LEG * leg
    heel, toe = -HEEL_SHARE * length, (1.0 - HEEL_SHARE) * length
    half = width / 2
    polygon = np.array([[heel, -half], [toe, -half], [toe, half], [heel, half]])
    link, transform_sole_to_link = skeleton.in_link(body, pose)
    origin = f"estimate: no foot geometry; human proportions of the leg, {plane}"
    return make_sole(side, link, transform_sole_to_link, polygon, origin)
