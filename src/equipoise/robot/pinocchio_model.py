"""A Description into a Pinocchio model with a floating base.

Joint order, joint models, frames and limits are those of
``pinocchio.buildModelFromUrdf(file, JointModelFreeFlyer())`` for the same URDF, so
that configurations can be passed between both.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.errors import NameNotFoundError, RobotFileError
from equipoise.robot.description import STANDARD_GRAVITY, Description, Joint
from equipoise.robot.inertias import Inertial

AXIS_TOLERANCE = 1e-12
# Pinocchio's world, and the joint that lets the base float.
RESERVED_JOINT_NAMES = ("universe", "root_joint")

_local = threading.local()


def build_model(description: Description) -> pin.Model:
    """Build the Pinocchio model of a robot whose base floats freely.

    Masses on the root and behind fixed joints are added to the moving body that
    carries them.

    Raises:
        RobotFileError: If a moving joint has a name that the model needs itself.
    """
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -STANDARD_GRAVITY])
    model.name = description.name
    root_id = model.addJoint(
        0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint"
    )
    model.addJointFrame(root_id, 0)
    frame_of_link = {
        description.root: _add_body(model, description, description.root, root_id)
    }
    for joint in description.joints_depth_first():
        parent_frame = frame_of_link[joint.parent]
        parent = model.frames[parent_frame]
        # placement of the joint in the moving body that carries its parent link
        placement = parent.placement * pin.SE3(joint.transform_joint_to_parent)
        if joint.kind == "fixed":
            joint_id, kind = parent.parentJoint, pin.FrameType.FIXED_JOINT
            frame = pin.Frame(joint.name, joint_id, parent_frame, placement, kind)
            frame_id = model.addFrame(frame)
        else:
            if joint.name in RESERVED_JOINT_NAMES:
                raise RobotFileError(
                    f"{description.name}: a moving joint cannot be named "
                    f"'{joint.name}': the floating base has this name in the model"
                )
            joint_id = _add_joint(model, joint, parent.parentJoint, placement)
            placement = pin.SE3.Identity()
            frame_id = model.addJointFrame(joint_id, parent_frame)
        frame_of_link[joint.child] = _add_body(
            model, description, joint.child, joint_id, placement, frame_id
        )
    return model


def moving_joint_id(model: pin.Model, name: str, owner: str) -> int:
    """Return Pinocchio's index of a joint other than the floating base.

    Raises:
        NameNotFoundError: If there is no such joint; the message lists all.
    """
    if name in RESERVED_JOINT_NAMES or not model.existJointName(name):
        raise NameNotFoundError("joint", name, list(model.names)[2:], owner)
    return int(model.getJointId(name))


def _joint_model(joint: Joint) -> pin.JointModel:
    """Return Pinocchio's joint model for a moving joint."""
    axis = joint.axis
    units = zip("XYZ", np.eye(3), strict=True)
    aligned_with = (
        name for name, unit in units if np.allclose(axis, unit, atol=AXIS_TOLERANCE)
    )
    letter = next(aligned_with, None)
    # aligned and unaligned models, and the arguments of both
    models: dict[str, tuple[str, Callable[..., pin.JointModel], tuple[float, ...]]] = {
        "revolute": ("R", pin.JointModelRevoluteUnaligned, ()),
        "continuous": ("RUB", _unbounded_about, ()),
        "prismatic": ("P", pin.JointModelPrismaticUnaligned, ()),
        "helical": ("H", pin.JointModelHelicalUnaligned, (joint.pitch,)),
    }
    if joint.kind == "spherical":
        return pin.JointModelSpherical()
    if joint.kind not in models:
        return pin.JointModelFreeFlyer()
    aligned, unaligned, pitch = models[joint.kind]
    if letter:
        return getattr(pin, f"JointModel{aligned}{letter}")(*pitch)
    return unaligned(axis, *pitch)


def _unbounded_about(axis: Array) -> pin.JointModel:
    """Return a continuous joint about any axis.

    The Python bindings cannot set this joint model's axis, their URDF parser can.
    """
    x, y, z = (repr(float(value)) for value in axis)
    model = pin.buildModelFromXML(
        '<robot name="r"><link name="a"/><link name="b"/>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        f'<axis xyz="{x} {y} {z}"/></joint></robot>'
    )
    return model.joints[1]


def _spatial_inertia(inertial: Inertial) -> pin.Inertia:
    """Return a link's mass distribution as Pinocchio's spatial inertia.

    The constructor of ``pin.Inertia`` refuses principal moments that rounding put
    at -1e-35; its fields do not.
    """
    inertia = pin.Inertia.Zero()
    inertia.mass = inertial.mass
    inertia.lever = np.array(inertial.com_in_link)
    inertia.inertia = np.array(inertial.inertia_in_link)
    return inertia


def _add_joint(
    model: pin.Model, joint: Joint, parent_id: int, placement: pin.SE3
) -> int:
    moving = _joint_model(joint)
    nq, nv = moving.nq, moving.nv
    lower: Array = np.full(nq, -np.inf)
    upper: Array = np.full(nq, np.inf)
    if joint.kind == "continuous" or joint.kind == "spherical":
        lower, upper = np.full(nq, -1.01), np.full(nq, 1.01)  # as Pinocchio's parser
    elif joint.kind == "floating":
        lower[3:], upper[3:] = -1.01, 1.01
    else:
        lower[:], upper[:] = joint.lower, joint.upper
    joint_id: int = model.addJoint(
        parent_id,
        moving,
        placement,
        joint.name,
        np.full(nv, -joint.effort_limit),
        np.full(nv, joint.effort_limit),
        np.full(nv, -joint.velocity_limit),
        np.full(nv, joint.velocity_limit),
        lower,
        upper,
        np.full(nv, -joint.friction),
        np.full(nv, joint.friction),
        np.full(nv, joint.damping),
    )
    # element assignment on model.armature would act on a copy in some bindings
    armature = np.array(model.armature)
    start = model.idx_vs[joint_id]
    armature[start : start + nv] = joint.armature
    model.armature = armature
    return joint_id


def _add_body(
    model: pin.Model,
    description: Description,
    link: str,
    joint_id: int,
    placement: pin.SE3 | None = None,
    frame_id: int | None = None,
) -> int:
    placement = pin.SE3.Identity() if placement is None else placement
    inertial = description.link_by_name[link].inertial
    if inertial is not None:
        model.appendBodyToJoint(joint_id, _spatial_inertia(inertial), placement)
    previous = model.nframes - 1 if frame_id is None else frame_id
    body_frame: int = model.addBodyFrame(link, joint_id, placement, previous)
    return body_frame


def workspace(model: pin.Model) -> pin.Data:
    """Return this thread's workspace of a model; any function may overwrite it.

    A ``pin.Data`` takes memory with the cube of the degrees of freedom, so the steps
    of loading share one instead of making their own.
    """
    if not hasattr(_local, "known"):
        _local.known = WeakKeyDictionary()
    known: WeakKeyDictionary[pin.Model, pin.Data] = _local.known
    data = known.get(model)
    if data is not None and len(data.oMf) != model.nframes:
        del known[model]
        data = None  # freed before the next is made
    if data is None:
        data = known[model] = model.createData()
    return data


def mass_and_moment(
    model: pin.Model, data: pin.Data, bodies: Iterable[int]
) -> tuple[float, Array]:
    """Return the mass of bodies [kg], and mass times CoM in the world [kg m].

    Bodies are given by Pinocchio's joint index; forward kinematics is up to date in
    ``data``.
    """
    mass, moment = 0.0, np.zeros(3)
    for body in bodies:
        inertia = model.inertias[body]
        mass += float(inertia.mass)
        moment += inertia.mass * data.oMi[body].act(inertia.lever)
    return mass, moment
