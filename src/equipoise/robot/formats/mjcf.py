"""MJCF files into a :class:`~equipoise.robot.description.Description`.

MuJoCo's own compiler resolves defaults, includes, angles and inferred inertias; what
it made is then rewritten as links and joints in the sense of URDF. Bodies with
several joints, and joints away from their body's origin, become chains of massless
links named ``{body}__{joint}``; the body's link keeps the body's name and frame.
Welds are fixed joints named ``{body}__fixed``. Joint positions are MuJoCo's own.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import RobotFileError
from equipoise.robot.description import (
    STANDING_IN,
    Description,
    Joint,
    JointCommand,
    JointKind,
    Link,
    check_tree,
    checked_name,
    first_few,
)
from equipoise.robot.formats.mjcf_compile import (
    CompiledMjcf,
    compile_mjcf,
    import_mujoco,
)
from equipoise.robot.formats.mjcf_references import check_references
from equipoise.robot.formats.mjcf_shapes import ShapeReader
from equipoise.robot.formats.mujoco_state import (
    BALL,
    FREE,
    HINGE,
    SLIDE,
    mujoco_body_name,
    mujoco_joint_name,
    rotation_from_mujoco,
)
from equipoise.robot.inertias import Inertial
from equipoise.rotations import rotation_from_quaternion, transform, xyzw_from_wxyz

# a free joint is the base and never gets here
KINDS: dict[int, JointKind]
KINDS = {BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}
# mjtTrn, mjtGain, mjtBias: the values of a plain motor on a joint
ON_JOINT = (0, 1)  # joint, joint in parent
ON_TENDON = 3
FIXED_GAIN = 0
NO_BIAS = 0
WRAP_JOINT = 1  # mjtWrap: a joint in a fixed tendon
COUPLED_JOINTS = 2  # mjtEq
TIES = (0, 1)  # mjtEq: connect, weld
SITE = 6  # mjtObj
DIVERGED = 1e10  # mjMAXVAL: what MuJoCo calls diverged


def read_mjcf(root: Element, path: Path) -> Description:
    """Read a parsed MJCF document.

    The robot is the one tree of bodies with joints below the world. Its base floats:
    the placement of its first body in the world, and joints of that body against the
    world, are left out. Springs, tendons and equality constraints are left out with
    a notice.

    Messages, includes and mesh files start from ``path``.

    Raises:
        RobotFileError: If MuJoCo refuses it, if it names files that it may not, or
            if it holds no robot or several.
    """
    check_references(root, path)
    compiled = compile_mjcf(root, path)
    _refuse_absurd_values(compiled.model, path)
    reader = _Reader(compiled, path)
    reader.read()
    notices = (*compiled.notices, *reader.notices, *_left_out(compiled.model, path))
    root_name = check_tree(reader.links, reader.joints, str(path))
    return Description(
        checked_name("robot", root.get("model") or path.stem, str(path)),
        tuple(reader.links),
        tuple(reader.joints),
        root_name,
        notices,
        reader.postures(),
        loops=reader.loops(),
    )


class _Reader:
    """Turns the bodies of one tree of a compiled model into links and joints."""

    def __init__(self, compiled: CompiledMjcf, path: Path) -> None:
        self.model: Any = compiled.model
        self.path = path
        self.notices: list[str] = []
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.efforts = _effort_limits(self.model)
        self.shapes = ShapeReader(compiled, path)
        self.without_collisions = compiled.without_collisions
        self.body_name = partial(mujoco_body_name, self.model)
        self.joint_name = partial(mujoco_joint_name, self.model)

    def read(self) -> None:
        root = self.root_body()
        for body in np.flatnonzero(self.model.body_rootid == root):
            if body != root:
                self.attach(int(body))
            self.links.append(self.link(int(body)))
        self.notices.extend(self.shapes.notices())
        bare = [
            link.name
            for link in self.links
            if link.name in self.without_collisions
            and link.visuals
            and not link.collisions
        ]
        if bare:
            self.notices.append(f"{STANDING_IN} ({len(bare)}: {first_few(bare)})")

    def root_body(self) -> int:
        """Find the child of the world that is the robot."""
        model = self.model
        children = [b for b in range(1, model.nbody) if not model.body_parentid[b]]
        jointed = {int(model.body_rootid[b]) for b in model.jnt_bodyid[: model.njnt]}
        trees = [body for body in children if body in jointed] or children
        if not trees:
            raise RobotFileError(f"{self.path}: has no bodies")
        if len(trees) > 1:
            names = ", ".join(self.body_name(body) for body in trees[:5])
            masses = model.body_subtreemass
            floating = [b for b in trees if self.is_free(b) and masses[b] > 0.0]
            if len(floating) != 1:
                raise RobotFileError(
                    f"{self.path}: holds {len(trees)} separate robots or objects "
                    f"({names}); one is needed"
                )
            trees = floating
            self.notices.append(
                f"of the bodies {names}, '{self.body_name(trees[0])}' is the robot: "
                "it alone floats freely; the others are left out"
            )
        root: int = trees[0]
        if not self.is_free(root):
            names = ", ".join(f"'{self.joint_name(j)}'" for j in self.joints_of(root))
            left_out = f"; its joints to the world ({names}) are left out"
            self.notices.append(
                f"body '{self.body_name(root)}' has no free joint and is taken as the "
                f"floating base{left_out if names else ''}"
            )
        return root

    def is_free(self, body: int) -> bool:
        return any(self.model.jnt_type[j] == FREE for j in self.joints_of(body))

    def attach(self, body: int) -> None:
        """Add the joints, and the links between them, that carry a body.

        MuJoCo places a body by T_body · J₁ · J₂ …, each J moving about its own anchor
        by the joint's position less its reference.
        """
        model, name = self.model, self.body_name(body)
        parent = self.body_name(int(model.body_parentid[body]))
        rotation = rotation_from_mujoco(model.body_quat[body])
        placement = transform(rotation, model.body_pos[body])
        joints = self.joints_of(body)
        anchor_before = np.zeros(3)
        for index in joints:
            kind = int(model.jnt_type[index])
            anchor = anchor_before if kind == SLIDE else np.array(model.jnt_pos[index])
            at_body = index == joints[-1] and not anchor.any()
            child = name if at_body else f"{name}__{self.joint_name(index)}"
            placement = placement @ transform(None, anchor - anchor_before)
            placement = placement @ self.pose_at_zero(index, kind)
            self.joints.append(self.joint(index, kind, parent, child, placement))
            if not at_body:
                self.links.append(Link(child))
            parent, placement, anchor_before = child, np.eye(4), anchor
        if parent != name:
            pose = frozen_array(placement @ transform(None, -anchor_before))
            self.joints.append(Joint(f"{name}__fixed", "fixed", parent, name, pose))

    def pose_at_zero(self, index: int, kind: int) -> Array:
        """Return the joint's own motion at position zero, where ``ref`` is not."""
        if kind == BALL:
            return transform()
        model = self.model
        back = -float(model.qpos0[model.jnt_qposadr[index]])
        axis = np.array(model.jnt_axis[index])
        if kind == SLIDE:
            return transform(None, back * axis)
        half = 0.5 * back
        quaternion = np.append(np.sin(half) * axis, np.cos(half))
        return transform(rotation_from_quaternion(quaternion))

    def joint(
        self, index: int, kind: int, parent: str, child: str, placement: Array
    ) -> Joint:
        model = self.model
        dof = int(model.jnt_dofadr[index])
        lower, upper = -np.inf, np.inf
        if model.jnt_limited[index] and kind != BALL:
            lower, upper = (
                _unlimited_if_huge(bound) for bound in model.jnt_range[index]
            )
        armature, damping = _reflected(model, index)
        axis = np.array(model.jnt_axis[index]) if kind != BALL else [1.0, 0.0, 0.0]
        return Joint(
            *(self.joint_name(index), KINDS[kind], parent, child),
            *(frozen_array(placement), frozen_array(axis), lower, upper),
            effort_limit=float(self.efforts[index]),
            damping=float(model.dof_damping[dof]) + damping,
            friction=float(model.dof_frictionloss[dof]),
            armature=float(model.dof_armature[dof]) + armature,
            command=_command(model, index),
        )

    def link(self, body: int) -> Link:
        model = self.model
        mass, moments = float(model.body_mass[body]), model.body_inertia[body]
        inertial = None
        if mass > 0.0 or moments.any():
            rotation = rotation_from_mujoco(model.body_iquat[body])
            inertia = rotation @ np.diag(moments) @ rotation.T
            inertial = Inertial(
                mass,
                frozen_array(model.body_ipos[body]),
                frozen_array(0.5 * (inertia + inertia.T)),
            )
        collisions, visuals = self.shapes.of_body(body)
        return Link(self.body_name(body), inertial, collisions, visuals)

    def postures(self) -> dict[str, dict[str, Array]]:
        """Return the keyframes, joint by joint; quaternions as (x, y, z, w)."""
        model = self.model
        names = {joint.name for joint in self.joints}
        postures: dict[str, dict[str, Array]] = {}
        for key in range(model.nkey):
            positions = {}
            for index in range(model.njnt):
                if self.joint_name(index) not in names:
                    continue
                ball = model.jnt_type[index] == BALL
                start = int(model.jnt_qposadr[index])
                values = model.key_qpos[key, start : start + (4 if ball else 1)]
                values = xyzw_from_wxyz(values) if ball else values
                positions[self.joint_name(index)] = frozen_array(values)
            name = model.key(key).name or f"key_{key}"
            postures[checked_name("keyframe", name, str(self.path))] = positions
        return postures

    def loops(self) -> tuple[tuple[str, str], ...]:
        """Return the bodies of the robot that connections and welds tie together."""
        model, names = self.model, {link.name for link in self.links}
        found = []
        for equality in np.flatnonzero(model.eq_active0):
            if model.eq_type[equality] not in TIES:
                continue
            ends = np.array([model.eq_obj1id[equality], model.eq_obj2id[equality]])
            if model.eq_objtype[equality] == SITE:
                ends = model.site_bodyid[ends]
            one, other = (self.body_name(int(body)) for body in ends)
            if {one, other} <= names and one != other:
                found.append((one, other))
        return tuple(found)

    def joints_of(self, body: int) -> list[int]:
        start, count = self.model.body_jntadr[body], self.model.body_jntnum[body]
        return list(range(int(start), int(start + count))) if count else []


def _unlimited_if_huge(bound: float) -> float:
    return float(bound) if abs(bound) < DIVERGED else math.copysign(math.inf, bound)


def _refuse_absurd_values(model: Any, path: Path) -> None:
    """Refuse infinite and huge values, which MuJoCo's compiler lets pass."""
    fields_by_kind = {
        "body": ("pos", "quat", "ipos", "iquat", "mass", "inertia"),
        "jnt": ("pos", "axis"),
        "dof": ("armature", "damping", "frictionloss"),
        "geom": ("pos", "quat", "size"),
        "actuator": ("gear", "armature", "damping"),
    }
    for kind, fields in fields_by_kind.items():
        for field in fields:
            values = getattr(model, f"{kind}_{field}")
            # numbers that are too large or too small leave a quaternion of zeros
            no_turn = field.endswith("quat") and not values.any(axis=1).all()
            if no_turn or not (np.abs(values) < DIVERGED).all():
                raise RobotFileError(f"{path}: a {kind} has an impossible {field}")
    for values, what in (
        (model.qpos0, "a joint has an impossible ref"),
        (model.key_qpos, "a keyframe has an impossible qpos"),
    ):
        if not (np.abs(values) < DIVERGED).all():
            raise RobotFileError(f"{path}: {what}")
    for field in ("jnt_range", "jnt_actfrcrange", "actuator_forcerange"):
        if np.isnan(getattr(model, field)).any():
            raise RobotFileError(f"{path}: an entry of {field} is not a number")


def _left_out(model: Any, path: Path) -> list[str]:
    """Return a notice for each thing that a tree of links and joints cannot hold."""
    mujoco = import_mujoco(f"{path}: reading MJCF")
    notices = []
    kinds = Counter(mujoco.mjtEq(int(kind)).name for kind in model.eq_type)
    for kind, count in sorted(kinds.items()):
        word = kind.removeprefix("mjEQ_").lower()
        notices.append(
            f"closed loops and couplings are not supported: left open; "
            f"{count} equality constraints ({word}) ignored"
        )
    for number, what in (
        (int(model.ntendon), "tendons"),
        (int(np.count_nonzero(model.jnt_stiffness)), "joint springs"),
        (int(np.count_nonzero(model.body_gravcomp)), "gravity compensations"),
    ):
        if number:
            notices.append(f"{number} {what} ignored: they are not supported")
    return notices


def _effort_limits(model: Any) -> Array:
    """Return the largest torque or force of each joint [Nm or N], shape (njnt,).

    It is the sum over the joint's actuators (their force range, or for plain motors
    their control range times gain), at most the joint's own actuator force range;
    infinite where neither is limited.

    A joint without actuator is passive, its limit is zero. It counts as actuated,
    without a limit, if the file has no actuators at all (then it says nothing about
    them), if an actuated tendon pulls it, if an equality couples it to another joint,
    or if actuators act in ways that do not name joints (on sites, bodies, by cranks).
    """
    given: Array = np.zeros(model.njnt)
    actuated = np.zeros(model.njnt, dtype=bool)
    for actuator in range(model.nactuator):
        if model.actuator_trntype[actuator] in ON_JOINT:
            joint = int(model.actuator_trnid[actuator, 0])
            gear = abs(float(model.actuator_gear[model.actuator_outadr[actuator], 0]))
            given[joint] += gear * _largest_force(model, actuator)
            actuated[joint] = True
    given[~actuated & _may_be_actuated(model)] = np.inf
    own = np.where(
        model.jnt_actfrclimited.astype(bool),
        np.abs(model.jnt_actfrcrange).max(axis=1, initial=0.0),
        np.inf,
    )
    limits: Array = np.minimum(given, own)
    return limits


def _may_be_actuated(model: Any) -> NDArray[np.bool_]:
    """Return which joints something other than their own actuator may move."""
    may = np.zeros(model.njnt, dtype=bool)
    if not model.nactuator:
        return ~may
    for actuator in range(model.nactuator):
        kind = int(model.actuator_trntype[actuator])
        if kind in ON_JOINT:
            continue
        if kind != ON_TENDON:
            return np.ones(model.njnt, dtype=bool)
        tendon = int(model.actuator_trnid[actuator, 0])
        start = int(model.tendon_adr[tendon])
        wraps = slice(start, start + int(model.tendon_num[tendon]))
        joints = model.wrap_objid[wraps][model.wrap_type[wraps] == WRAP_JOINT]
        if not len(joints):  # a tendon through space
            return np.ones(model.njnt, dtype=bool)
        may[joints] = True
    for equality in np.flatnonzero(model.eq_type == COUPLED_JOINTS):
        coupled = (model.eq_obj1id[equality], model.eq_obj2id[equality])
        may[[joint for joint in coupled if joint >= 0]] = True
    return may


def _largest_force(model: Any, actuator: int) -> float:
    forces = [np.inf]
    if model.actuator_forcelimited[actuator]:
        forces.append(float(np.abs(model.actuator_forcerange[actuator]).max()))
    control = int(model.actuator_ctrladr[actuator])
    if _plain_motor(model, actuator) and model.actuator_ctrllimited[control]:
        gain = abs(float(model.actuator_gainprm[actuator, 0]))
        forces.append(gain * float(np.abs(model.actuator_ctrlrange[control]).max()))
    return min(forces)


def _plain_motor(model: Any, actuator: int) -> bool:
    """Return whether an actuator's force is its control times a gain, and no more."""
    return bool(
        model.actuator_ctrlnum[actuator] == 1
        and model.actuator_gaintype[actuator] == FIXED_GAIN
        and model.actuator_biastype[actuator] == NO_BIAS
    )


def _command(model: Any, joint: int) -> JointCommand | None:
    """Return what a joint's actuators are told; None if it has none of the known."""
    own = [
        actuator
        for actuator in range(model.nactuator)
        if model.actuator_trntype[actuator] in ON_JOINT
        and int(model.actuator_trnid[actuator, 0]) == joint
    ]
    if own and all(_plain_motor(model, actuator) for actuator in own):
        return "torque"
    # a servo: the force falls with the position
    if any(float(model.actuator_biasprm[actuator, 1]) < 0.0 for actuator in own):
        return "position"
    return None


def _reflected(model: Any, joint: int) -> tuple[float, float]:
    """Return armature and damping that an actuator adds to a joint, gear included."""
    actuator = int(model.jnt_actuatorid[joint])
    if actuator < 0:
        return 0.0, 0.0
    gear = float(model.actuator_gear[model.actuator_outadr[actuator], 0])
    return (
        float(model.actuator_armature[actuator]) * gear**2,
        float(model.actuator_damping[actuator]) * gear**2,
    )
