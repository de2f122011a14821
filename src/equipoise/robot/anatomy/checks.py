"""Warnings of likely mistakes in a robot's file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.robot.anatomy.geometry import (
    shape_is_known,
    support_point,
    upright_variant,
    visuals_stand_in,
)
from equipoise.robot.anatomy.posture import Orientation
from equipoise.robot.description import (
    STANDING_IN,
    Description,
    Joint,
    Shape,
    first_few,
)
from equipoise.robot.parts import Limb, Side, Sole
from equipoise.robot.pinocchio_model import mass_and_moment, workspace

# Released files round inertias to few digits.
TRIANGLE_TOLERANCE = 1e-3
# A centre of mass this far outside the hull, as a fraction of the link's extent, is
# more than coarse geometry explains.
OUTSIDE_TOLERANCE = 0.05
HULL_STEPS = 100
HULL_TOLERANCE = 0.01
ASYMMETRY_TOLERANCE = 0.01
# Of a limb's mirrored centre of mass, as a fraction of the limb's length.
COM_ASYMMETRY_TOLERANCE = 0.005
# Limits of a left and a right joint differ widely by more than this [rad, or as a
# fraction of the larger range], if both joints turn about mirrored axes.
LIMIT_DIFFERENCE, LIMIT_FRACTION = 0.5, 0.25
MIRRORED_AXES = 0.9


def find_warnings(
    description: Description,
    model: pin.Model,
    limbs: Mapping[str, Limb],
    soles: Mapping[Side, Sole],
    postures: Sequence[Array],
    orientation: Orientation,
) -> list[str]:
    """Return a sentence for everything that looks wrong.

    ``postures`` are configurations of shape (nq,) in which left and right should mirror
    each other: a robot that does in any of them does. A DH table may have legs
    stretched out at zero, and the standing posture may have one arm raised.
    """
    mimics = [joint.name for joint in description.joints if joint.mimic is not None]
    return [
        *_named("mimic joints are not supported and move on their own", mimics),
        *_meshes(description),
        *_inertias(description),
        *_massless(description, model),
        *_outside(description),
        *_asymmetries(model, limbs, soles, postures, orientation),
        *_limit_asymmetries(description, model, limbs, postures, orientation),
    ]


def _named(sentence: str, names: Iterable[str]) -> list[str]:
    """Return ``["sentence (3: a, b, c)"]``, cut after a few names; none for none."""
    every = list(names)
    return [f"{sentence} ({len(every)}: {first_few(every)})"] if every else []


def _meshes(description: Description) -> list[str]:
    unreadable = {
        shape.mesh_name: None
        for link in description.links
        for shape in link.collisions
        if shape.mesh is not None and not shape_is_known(shape)
    }
    return [
        *_named("files that hold no mesh that can be read", unreadable),
        *_named(
            STANDING_IN, (x.name for x in description.links if visuals_stand_in(x))
        ),
    ]


def _inertias(description: Description) -> list[str]:
    point, broken, empty = [], [], []
    for link in description.links:
        if link.inertial is None:
            continue
        moments = np.linalg.eigvalsh(link.inertial.inertia_in_link)
        if link.inertial.mass == 0.0:
            if np.abs(moments).max() > 0.0:
                empty.append(link.name)
        elif moments[0] <= 0.0:
            point.append(link.name)
        elif moments[0] + moments[1] < moments[2] * (1.0 - TRIANGLE_TOLERANCE):
            broken.append(link.name)
    what = "non-physical inertia: "
    return [
        *_named(what + "a principal moment of zero or less (point masses)", point),
        *_named(
            what + "principal moments that no rigid body has (triangle inequality)",
            broken,
        ),
        *_named(what + "an inertia without a mass", empty),
    ]


def _massless(description: Description, model: pin.Model) -> list[str]:
    moving = {
        int(model.frames[model.getBodyId(joint.child)].parentJoint): joint.child
        for joint in description.joints
        if joint.kind != "fixed"
    }
    bodies = [link for body, link in moving.items() if model.inertias[body].mass == 0.0]
    bare = [
        link.name
        for link in description.links
        if (link.inertial is None or link.inertial.mass == 0.0)
        and link.collisions
        and link.name not in bodies
    ]
    return [
        *_named("zero-mass links that move", bodies),
        *_named("zero-mass links with collision shapes", bare),
    ]


def _outside(description: Description) -> list[str]:
    names = []
    for link in description.links:
        if link.inertial is None or link.inertial.mass == 0.0:
            continue
        # visual meshes are slow to read: only where the collision shapes, which may
        # cover a part of the link, do not decide it
        for shapes in (link.collisions, link.collisions + link.visuals):
            shapes += tuple(filter(None, map(upright_variant, shapes)))
            if not shapes or not all(shape_is_known(shape) for shape in shapes):
                distance, extent = 0.0, 0.0
                continue
            distance, extent = distance_outside(shapes, link.inertial.com_in_link)
            if distance == 0.0:
                break
        if distance > OUTSIDE_TOLERANCE * extent:
            names.append(f"{link.name} by {1000 * distance:.0f} mm")
    return _named("centre of mass outside the link's geometry", names)


def distance_outside(
    shapes: Sequence[Shape], point_in_link: Array
) -> tuple[float, float]:
    """Return how far a point is outside the convex hull of a link's shapes.

    Frank and Wolfe's iteration walks through the hull towards the point; every
    support point on the way bounds the distance from below.

    Returns:
        The distance, too small by at most a hundredth of the hull's size (so 0
        inside and close to the surface), and that size, both [m].
    """
    box = np.array(
        [
            [_farthest(shapes, sign * axis) @ axis for axis in np.eye(3)]
            for sign in (-1.0, 1.0)
        ]
    )
    size = float(np.linalg.norm(box[1] - box[0]))
    nearest = _farthest(shapes, np.array([0.0, 0.0, 1.0]))
    for _ in range(HULL_STEPS):
        towards = point_in_link - nearest
        remaining = float(np.linalg.norm(towards))
        if remaining <= HULL_TOLERANCE * size:
            return 0.0, size
        corner = _farthest(shapes, towards / remaining)
        outside = float((point_in_link - corner) @ towards) / remaining
        if outside > 0.0 and remaining - outside < HULL_TOLERANCE * size:
            return outside, size
        edge = corner - nearest
        length = float(edge @ edge)
        if length == 0.0:
            return remaining, size
        nearest = nearest + edge * min(1.0, float(towards @ edge) / length)
    return max(0.0, outside), size


def _farthest(shapes: Sequence[Shape], direction: Array) -> Array:
    points = [support_point(shape, direction) for shape in shapes]
    return max(points, key=lambda point: float(point @ direction))


def _asymmetries(
    model: pin.Model,
    limbs: Mapping[str, Limb],
    soles: Mapping[Side, Sole],
    postures: Sequence[Array],
    orientation: Orientation,
) -> list[str]:
    found = []
    for kind, left, right in _pairs(limbs):
        differences = []
        masses = [
            sum(float(model.inertias[model.getJointId(j)].mass) for j in joints)
            for joints in (left.subtree_joints, right.subtree_joints)
        ]
        if _differ(*masses):
            differences.append(f"mass {masses[0]:.3f} and {masses[1]:.3f} kg")
        if _differ(left.length, right.length):
            differences.append(f"length {left.length:.3f} and {right.length:.3f} m")
        apart = min(
            _mirrored_coms_apart(model, q, left, right, orientation) for q in postures
        )
        if apart > COM_ASYMMETRY_TOLERANCE * max(left.length, right.length):
            differences.append(f"mirrored centre of mass {1000 * apart:.1f} mm apart")
        if kind == "leg" and len(soles) == 2:
            sizes = [soles["left"].size, soles["right"].size]
            if any(_differ(*size) for size in zip(*sizes, strict=True)):
                differences.append("sole sizes")
        if differences:
            found.append(f"left and right {kind} differ: {'; '.join(differences)}")
    return found


def _pairs(limbs: Mapping[str, Limb]) -> Iterator[tuple[str, Limb, Limb]]:
    for kind in ("leg", "arm"):
        left, right = (limbs.get(f"{side}_{kind}") for side in ("left", "right"))
        if left is not None and right is not None:
            yield kind, left, right


def _mirrored_coms_apart(
    model: pin.Model, q: Array, left: Limb, right: Limb, orientation: Orientation
) -> float:
    """Return the distance of a limb's CoM from the other's mirror image [m]."""
    data = _in_base_axes(model, q)
    coms, firsts = [], []
    for limb in (left, right):
        bodies = map(model.getJointId, limb.subtree_joints)
        mass, moment = mass_and_moment(model, data, bodies)
        coms.append(moment / mass if mass > 0.0 else moment)
        firsts.append(data.oMi[model.getJointId(limb.joints[0])].translation)
    # the mirror is the plane midway between the first joints of both limbs
    one, other = (com - (firsts[0] + firsts[1]) / 2 for com in coms)
    to_left = orientation.left
    mirrored = other - 2.0 * to_left * float(to_left @ other)
    return float(np.linalg.norm(one - mirrored))


def _in_base_axes(model: pin.Model, q: Array) -> pin.Data:
    """Return the workspace with all poses of a posture in base coordinates."""
    data = workspace(model)
    posture = np.array(q)
    posture[:7] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    pin.forwardKinematics(model, data, posture)
    return data


def _limit_asymmetries(
    description: Description,
    model: pin.Model,
    limbs: Mapping[str, Limb],
    postures: Sequence[Array],
    orientation: Orientation,
) -> list[str]:
    found = []
    for _, left, right in _pairs(limbs):
        for names in zip(left.joints, right.joints, strict=False):
            one, other = (description.joint_by_name[name] for name in names)
            if one.kind != other.kind or one.kind not in ("revolute", "prismatic"):
                continue
            if all(_limits_differ(model, q, one, other, orientation) for q in postures):
                found.append(
                    " and ".join(
                        f"{joint.name} {joint.lower:.3g} to {joint.upper:.3g}"
                        for joint in (one, other)
                    )
                )
    return _named("left and right joint limits differ widely, mirrored", found)


def _limits_differ(
    model: pin.Model, q: Array, left: Joint, right: Joint, orientation: Orientation
) -> bool:
    """Whether the range of a joint is not the mirrored one's, by far.

    Ranges count from the posture: zero need not be the same on both sides.
    """
    data = _in_base_axes(model, q)
    axes, ranges = [], []
    for joint in (left, right):
        index = model.getJointId(joint.name)
        axes.append(data.oMi[index].rotation @ joint.axis)
        ranges.append(
            np.array([joint.lower, joint.upper]) - q[model.joints[index].idx_q]
        )
    turns = left.kind == "revolute"
    mirror = np.eye(3) - 2.0 * np.outer(orientation.left, orientation.left)
    # the mirror image of a rotation turns the other way
    alike = float(axes[1] @ mirror @ axes[0]) * (-1.0 if turns else 1.0)
    if abs(alike) < MIRRORED_AXES:
        return False
    mirrored = ranges[1] if alike > 0.0 else -ranges[1][::-1]
    return _ranges_differ(ranges[0], mirrored, turns)


def _ranges_differ(one: Array, other: Array, turns: bool) -> bool:
    if turns:  # a joint that turns round has no farther to go
        one, other = np.clip(one, -np.pi, np.pi), np.clip(other, -np.pi, np.pi)
    elif not np.isfinite([one, other]).all():
        return not np.array_equal(np.isfinite(one), np.isfinite(other))
    apart = float(np.abs(one - other).max())
    larger = max(float(np.ptp(one)), float(np.ptp(other)))
    return apart > LIMIT_FRACTION * larger and (not turns or apart > LIMIT_DIFFERENCE)


def _differ(a: float, b: float) -> bool:
    return abs(a - b) > ASYMMETRY_TOLERANCE * max(abs(a), abs(b))
