"""The tree of moving bodies in one posture, as limb detection needs it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.robot.anatomy.geometry import link_shapes, shape_is_known, support_point
from equipoise.robot.description import Description, Shape
from equipoise.robot.pinocchio_model import workspace

# Bodies from a limb's first joint outwards, by Pinocchio's joint index.
Path = tuple[int, ...]

REACH_SAMPLES = 13
REACH_SWEEPS = 2

# Words in joint names that hint at limbs; a robot may be named in any language.
HAND_WORDS = frozenset({"hand", "finger", "gripper", "thumb"})
ARM_WORDS = HAND_WORDS | {
    *("arm", "arms", "clavicle", "elbow", "forearm", "larm", "lowerarm", "palm"),
    *("rarm", "shoulder", "upperarm", "wrist"),
}
LEG_WORDS = frozenset(
    {
        *("ankle", "calf", "feet", "foot", "hip", "knee", "leg", "legs", "lleg"),
        *("lowerleg", "rleg", "shin", "sole", "thigh", "toe", "upperleg"),
    }
)
HEAD_WORDS = frozenset({"cervical", "gaze", "head", "neck", "skull"})


def words(name: str) -> frozenset[str]:
    """Return the words of a name: ``"LHipPitch_2"`` has l, hip and pitch."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return frozenset(word.lower() for word in found)


def sideless(name: str) -> str:
    """Return a name without the part that distinguishes left from right."""
    name = re.sub(r"left|right", "@", name, flags=re.IGNORECASE)
    return re.sub(r"(?<![A-Za-z])[lrLR](?![a-z])", "@", name)


def side_vote(first: str, second: str) -> int:
    """Return 1 if the first name is the left one of two, -1 if right, 0 if neither.

    The first letter in which they differ decides: l against r.
    """
    for a, b in zip(first.lower(), second.lower(), strict=False):
        if a != b:
            return {("l", "r"): 1, ("r", "l"): -1}.get((a, b), 0)
    return 0


class LinkShape(NamedTuple):
    """A shape, the link that it is fixed to, and which geometry it is of."""

    link: str
    shape: Shape
    kind: str


class Skeleton:
    """Moving bodies by Pinocchio's joint index; 1 is the base, 0 the universe.

    Attributes:
        model: Pinocchio model with a free-flyer base.
        description: Links and shapes.
        q: Configuration, base at the origin, shape (nq,).
        names: Joint names.
        parents: Parent body of each body.
        children: Bodies that hang directly on each body.
        poses: Pose of each body in base coordinates.
        positions: Joint origins in base coordinates [m], shape (njoints, 3).
        com: Centre of mass in base coordinates [m], shape (3,).
        up: Direction against gravity in base axes, unit vector of shape (3,).
    """

    def __init__(
        self, model: pin.Model, description: Description, q: Array, up: Array
    ) -> None:
        self.model = model
        self.description = description
        self.q = np.array(q)
        self.q[:7] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        self.names = list(model.names)
        self.parents = [int(parent) for parent in model.parents]
        self.count = int(model.njoints)
        self.children: list[list[int]] = [[] for _ in range(self.count)]
        for child in range(2, self.count):
            self.children[self.parents[child]].append(child)
        self.up = up
        # words that all names share, such as the robot's own name, mean nothing
        own = {name: words(name) for name in self.names[2:]}
        shared = frozenset.intersection(*own.values()) if len(own) > 1 else frozenset()
        self._words = {name: found - shared for name, found in own.items()}
        self._lowest: dict[int, float] = {}
        self._shapes: dict[int, list[LinkShape]] = {}
        data = workspace(model)
        self.com = np.array(pin.centerOfMass(model, data, self.q))
        pin.framesForwardKinematics(model, data, self.q)
        self.poses = [pin.SE3(pose) for pose in data.oMi]
        self._frame_poses = [pin.SE3(pose) for pose in data.oMf]
        self.positions = np.array([pose.translation for pose in self.poses])

    @cached_property
    def extent(self) -> float:
        """Size of the robot: the diagonal of the box around all joints [m]."""
        return float(np.linalg.norm(np.ptp(self.positions[1:], axis=0))) or 1.0

    def level_axes(self) -> list[int]:
        """Return the axes of the base that are level, the likely lateral one first."""
        return [axis for axis in (1, 0, 2) if abs(self.up[axis]) < 0.5]

    def has_word(self, words: frozenset[str], bodies: Iterable[int]) -> bool:
        """Whether the joint name of any of these bodies has one of the words."""
        return any(self._words[self.names[body]] & words for body in bodies)

    def leaves(self) -> list[int]:
        """Return the bodies that carry no other."""
        return [body for body in range(2, self.count) if not self.children[body]]

    def path(self, body: int) -> Path:
        """Return the bodies from the base (left out) to a body."""
        path: list[int] = []
        while body > 1:
            path.append(body)
            body = self.parents[body]
        return tuple(path[::-1])

    def below(self, body: int) -> set[int]:
        """Return a body and all that it carries."""
        return {int(index) for index in self.model.subtrees[body]}

    @cached_property
    def branch_masses(self) -> list[float]:
        """Mass of each body and all that it carries [kg]."""
        masses = [float(inertia.mass) for inertia in self.model.inertias]
        for body in range(self.count - 1, 0, -1):
            masses[self.parents[body]] += masses[body]
        return masses

    def height(self, body: int) -> float:
        """Return how far a joint's origin is above the base's origin [m]."""
        return float(self.positions[body] @ self.up)

    def lowest(self, body: int) -> float:
        """Return the height of the lowest point of a body [m].

        That is the bottom of its shapes, or its lowest frame where it has none.
        """
        if body not in self._lowest:
            if self.has_shapes(body):
                heights = [float(self._farthest(body, -self.up) @ self.up)]
            else:
                frames = self._frames_by_body.get(body, [])
                points = [self._frame_poses[index].translation for index in frames]
                heights = [self.height(body), *(float(p @ self.up) for p in points)]
            self._lowest[body] = min(heights)
        return self._lowest[body]

    def is_wheel(self, body: int) -> bool:
        """Whether a body spins freely about a level axis that its shape is round about.

        Round is: as wide as high within a tenth, and centred on the axis.
        """
        joint = self.description.joint_by_name[self.names[body]]
        turns = joint.kind == "continuous" or (
            joint.kind == "revolute" and joint.upper - joint.lower > 2 * np.pi
        )
        if not turns or not self.has_shapes(body):
            return False
        axis = np.array(self.poses[body].rotation @ joint.axis)
        if abs(axis @ self.up) > 0.5:
            return False
        across = np.cross(axis, self.up)
        centre = self.positions[body]
        reach = [
            float((self._farthest(body, direction) - centre) @ direction)
            for direction in (self.up, -self.up, across, -across)
        ]
        return min(reach) > 0.9 * max(reach)

    def _farthest(self, body: int, direction: Array) -> Array:
        points = []
        for item in self.shapes(body):
            pose = self._frame_poses[self.model.getBodyId(item.link)]
            points.append(
                pose.act(support_point(item.shape, pose.rotation.T @ direction))
            )
        return np.asarray(max(points, key=lambda point: float(point @ direction)))

    def has_shapes(self, body: int) -> bool:
        """Whether the geometry of a body is known."""
        return bool(self.shapes(body))

    def shapes(self, body: int) -> list[LinkShape]:
        """Return the shapes of a body that are known."""
        if body not in self._shapes:
            self._shapes[body] = [
                LinkShape(link, shape, kind)
                for link in self.links(body)
                for shapes, kind in [link_shapes(self.description.link_by_name[link])]
                for shape in filter(shape_is_known, shapes)
            ]
        return self._shapes[body]

    @cached_property
    def _frames_by_body(self) -> dict[int, list[int]]:
        frames: dict[int, list[int]] = {}
        for index, frame in enumerate(self.model.frames):
            if frame.type == pin.FrameType.BODY:
                frames.setdefault(int(frame.parentJoint), []).append(index)
        return frames

    def links(self, body: int) -> list[str]:
        """Return the names of the links that move with a body, nearest first."""
        frames = self._frames_by_body.get(body, [])
        return [self.model.frames[index].name for index in frames]

    def end_link(self, body: int) -> str:
        """Return the link that a chain to this body ends at."""
        return self.links(body)[0]

    def link_in_body(self, link: str) -> pin.SE3:
        """Return the pose of a link in the coordinates of the body it moves with."""
        return self.model.frames[self.model.getBodyId(link)].placement

    def in_link(self, body: int, pose_in_body: Array) -> tuple[str, Array]:
        """Express a pose in a body's first link; return the link and the pose."""
        link = self.end_link(body)
        placement = self.link_in_body(link).inverse().homogeneous @ pose_in_body
        return link, frozen_array(placement)

    def chain_length(self, path: Path) -> float:
        """Return the length of a chain along its joints, no less than its reach [m]."""
        steps = np.diff(self.positions[list(path)], axis=0)
        return float(np.linalg.norm(steps, axis=1).sum())

    def reach(self, path: Path, end_in_body: Array | None = None) -> float:
        """Return the longest distance from a chain's first joint to its end [m].

        Joints are swept one after the other within their limits, so that a bent
        posture does not make a limb look short. The end is a point in the last body's
        coordinates, its joint's origin if None.
        """
        end = np.zeros(3) if end_in_body is None else end_in_body
        data = workspace(self.model)
        q = np.array(self.q)
        first, last = path[0], path[-1]

        def distance() -> float:
            pin.forwardKinematics(self.model, data, q)
            tip = data.oMi[last].act(end)
            return float(np.linalg.norm(tip - data.oMi[first].translation))

        longest = distance()
        for _ in range(REACH_SWEEPS):
            for body in path[1:]:
                joint = self.model.joints[body]
                if joint.nv != 1:
                    continue
                own = slice(joint.idx_q, joint.idx_q + joint.nq)
                best = q[own].copy()
                for value in self._samples(joint):
                    q[own] = value
                    if (trial := distance()) > longest + 1e-12:
                        longest, best = trial, value
                q[own] = best
        return longest

    def _samples(self, joint: pin.JointModel) -> Array:
        """Return positions all over a joint's range, shape (k, its part of q)."""
        if joint.nq == 2:  # cosine and sine of a continuous joint
            angle = np.linspace(-np.pi, np.pi, REACH_SAMPLES)
            return np.column_stack([np.cos(angle), np.sin(angle)])
        lower = self.model.lowerPositionLimit[joint.idx_q]
        upper = self.model.upperPositionLimit[joint.idx_q]
        samples = np.linspace(max(lower, -np.pi), min(upper, np.pi), REACH_SAMPLES)
        return np.append(samples, np.clip(0.0, lower, upper))[:, None]


def neutral_within_limits(model: pin.Model) -> Array:
    """Return the neutral configuration with every joint moved into its limits."""
    q: Array = pin.neutral(model)
    for joint in model.joints[1:]:
        if joint.nq == 1:
            index = joint.idx_q
            lower = model.lowerPositionLimit[index]
            upper = model.upperPositionLimit[index]
            q[index] = np.clip(0.0, lower, upper)
    return q
