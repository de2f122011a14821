"""A world as a MuJoCo model: the same robot, soles, ground, blocks and material.

MuJoCo's ``discrete`` integrator solves contacts, friction and joint stops as one convex
problem a step, springs and dampers at the end of the step. Its contact is a
spring-damper scaled by an inertia 1/Â that the compiler estimates,

    force = (stiffness · depth + damping · speed) / ((1 - d) Â)

with stiffness and damping in the direct form of ``solref`` and a constant impedance d.
So ``solref`` = -(1 - d) Â (k, b) makes a spring-damper of k N/m and b N s/m, and a
small d keeps MuJoCo from adding mass to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.kinematics.terrain import HeightField
from equipoise.robot.description import Description
from equipoise.robot.formats.mjcf_compile import import_mujoco, one_line, quiet_mujoco
from equipoise.robot.formats.mjcf_export import to_mjcf
from equipoise.robot.inertias import Inertial
from equipoise.simulation.contacts import ContactPoint, Material
from equipoise.simulation.mujoco_ground import (
    ONLY_PAIRS,
    add_boxes,
    add_ground,
    box_name,
)
from equipoise.simulation.world import World

BASE = 1  # Pinocchio's index of the joint that floats
# Impedance of contacts: mjMINIMP, the least that MuJoCo allows.
IMPEDANCE = 1e-4
# MuJoCo's friction has no spring: a point within its cone is slowed down at a rate, and
# creeps by force / (FRICTION_RATIO · rate · dt · damping), all but still. But it also
# creeps at J̇ v / rate: MuJoCo does not count how Jacobians change, which is ω² r for a
# foot under a trunk that turns. So points of the robot are stopped in so many steps.
STICKING_STEPS = 1.0
FRICTION_RATIO = 1e4
# Its cone also lifts what slides, the more the faster it is stopped. Boxes slide and do
# not turn: at this rate [1/s] one that slides at 2 m/s hops by less than half a
# millimetre.
BOX_STICKING_RATE = 100.0
# Joint stops and joint friction.
HARD_IMPEDANCE = 0.999
HARD_STEPS = 2.0
# A point is a sphere too small to matter [m].
POINT_RADIUS = 1e-9
# On height fields a sphere of this fraction of the leg's length stands on its lowest
# point: MuJoCo's prisms push what is inside them horizontally where two of them meet.
LIFTED_RADIUS = 2.5e-3
# MuJoCo wants upper stops above lower ones; far ones are none.
NARROWEST, FAR = 1e-12, 1e6
# Mass [kg] and inertia [kg m²] of links that have none: the least that moves well, and
# what merely keeps the exporter from joining a link with the next.
NEGLIGIBLE = 1e-9, 1e-6
PRESENT = 1e-12, 1e-12


@dataclass(frozen=True, eq=False)
class MujocoWorld:
    """A compiled world, and where things are in it.

    Attributes:
        mujoco: The module.
        model: ``mujoco.MjModel``; motors are not part of it.
        body: Body of each joint of Pinocchio's model, shape (njoints,).
        qpos: Where the position of each joint degree of freedom is, shape (nv - 6,);
            0 for joints of three degrees of freedom.
        dof: Where its velocity is, shape (nv - 6,).
        sites: Sites of the contact points, shape (nc,).
        point_of_geom: Index of the contact point of each geom, or -1, shape (ngeom,).
        boxes: Where each box's pose is in qpos, shape (nboxes, 7).
        notices: What MuJoCo cannot express of this world, a sentence each.
    """

    mujoco: Any
    model: Any
    body: NDArray[np.int64]
    qpos: NDArray[np.int64]
    dof: NDArray[np.int64]
    sites: NDArray[np.int64]
    point_of_geom: NDArray[np.int64]
    boxes: NDArray[np.int64]
    notices: tuple[str, ...]


def compile_world(world: World, dt: float) -> MujocoWorld:
    """Build MuJoCo's model of a world.

    Args:
        world: The world.
        dt: Time step [s].

    Raises:
        EquipoiseError: If MuJoCo is not installed or cannot express the world.
    """
    mujoco = import_mujoco("the engine 'mujoco'", EquipoiseError)
    description, massless = _acceptable(world.robot.description)
    spec = mujoco.MjSpec.from_string(to_mjcf(description))
    spec.compiler.fusestatic = True
    option = spec.option
    option.timestep, option.gravity = dt, [0.0, 0.0, -world.gravity]
    option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    option.cone, option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, FRICTION_RATIO
    # no reset behind our back, and the material as given however stiff
    flags = mujoco.mjtDisableBit
    option.disableflags = int(flags.mjDSBL_AUTORESET | flags.mjDSBL_REFSAFE)
    _set_joints(spec, world, dt)
    points = [
        _add_point(mujoco, spec, world, *item) for item in enumerate(world.contacts)
    ]
    boxes = list(add_boxes(mujoco, spec, world))
    fixed = list(add_ground(mujoco, spec, world))
    loose = [*itertools.product(boxes, fixed), *itertools.combinations(boxes, 2)]
    own = {
        geom.name: box.material
        for geom, box in zip(boxes, world.boxes, strict=True)
        if box.material is not None
    }
    springs = {}
    rate = 1.0 / (STICKING_STEPS * dt)
    touching = [
        *((*pair, rate) for pair in itertools.product(points, (*fixed, *boxes))),
        *((*pair, BOX_STICKING_RATE) for pair in loose),
    ]
    for one, other, sticking_rate in touching:
        material = own.get(one.name, own.get(other.name, world.material))
        springs[frozenset((one.name, other.name))] = material
        friction = material.static_friction
        spec.add_pair(
            geomname1=one.name,
            geomname2=other.name,
            condim=3,
            friction=[friction, friction, 0.0, 0.0, 0.0],
            solimp=[IMPEDANCE, IMPEDANCE, 1e-3, 0.5, 2.0],
            solreffriction=[-1.0, -sticking_rate * IMPEDANCE],
        )
    try:
        with quiet_mujoco(mujoco):
            model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise EquipoiseError(
            f"{world.robot.name}: MuJoCo refuses it: {one_line(error)}"
        ) from error
    _set_material(model, springs)
    joints = [model.joint(name) for name in list(world.robot.model.names)[BASE + 1 :]]
    is_ball = [joint.type[0] == mujoco.mjtJoint.mjJNT_BALL for joint in joints]
    at = list(zip(joints, is_ball, strict=True))
    point_of_geom = np.full(model.ngeom, -1)
    for number in range(len(points)):
        point_of_geom[model.geom(_point(number)).id] = number
    base = model.body(description.root).id
    return MujocoWorld(
        mujoco,
        model,
        body=_array([0, base, *(joint.bodyid[0] for joint in joints)]),
        qpos=_array(i for j, b in at for i in ([0] * 3 if b else [j.qposadr[0]])),
        dof=_array(j.dofadr[0] + k for j, b in at for k in range(3 if b else 1)),
        sites=_array(model.site(_point(number)).id for number in range(len(points))),
        point_of_geom=point_of_geom,
        boxes=_array(
            model.joint(box_name(number)).qposadr[0] + k
            for number in range(len(boxes))
            for k in range(7)
        ).reshape(-1, 7),
        notices=(*massless, *_notices(world)),
    )


def _array(values: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(values, np.int64)


def _point(number: int) -> str:
    return f"equipoise/point/{number}"


def _acceptable(description: Description) -> tuple[Description, list[str]]:
    """Return a robot without shapes or postures that MuJoCo compiles, and notices."""
    links = {
        link.name: replace(link, collisions=(), visuals=())
        for link in description.links
    }
    massless = []
    moving = [joint.child for joint in description.joints if joint.kind != "fixed"]
    for name in (description.root, *moving):
        own = links[name].inertial or Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
        if any(_is_solid(links[other].inertial) for other in _rigid(description, name)):
            if own.mass > 0.0:
                continue
            mass, inertia = PRESENT
        else:
            mass, inertia = NEGLIGIBLE
            massless.append(name)
        whole = frozen_array(own.inertia_in_link + inertia * np.eye(3))
        more = Inertial(own.mass + mass, own.com_in_link, whole)
        links[name] = replace(links[name], inertial=more)
    notices = [
        f"links without mass or inertia have {NEGLIGIBLE[0]:g} kg and "
        f"{NEGLIGIBLE[1]:g} kg m² here: {', '.join(massless)}"
    ]
    changed = replace(description, links=tuple(links.values()), postures={})
    return changed, notices if massless else []


def _is_solid(inertial: Inertial | None) -> bool:
    if inertial is None or inertial.mass == 0.0:
        return False
    return bool(np.linalg.eigvalsh(inertial.inertia_in_link)[0] > NEGLIGIBLE[1] * 1e-6)


def _rigid(description: Description, name: str) -> Iterator[str]:
    """Yield a link and those fixed to it."""
    yield name
    for joint in description.joints_below[name]:
        if joint.kind == "fixed":
            yield from _rigid(description, joint.child)


def _set_joints(spec: Any, world: World, dt: float) -> None:
    """Give joints the actuators' inertia, friction and stops, but no motors."""
    drives = world.actuation
    for body in range(BASE + 1, world.robot.model.njoints):
        at = world.robot.model.joints[body].idx_v - 6
        joint = spec.joint(world.robot.model.names[body])
        joint.armature = drives.rotor_inertia[at]
        joint.frictionloss = drives.coulomb_friction[at]
        joint.damping = np.zeros_like(joint.damping)
        joint.actfrclimited = False
        stops = np.array([drives.lower[at], drives.upper[at]])
        # a joint in an ideal mode is where it is commanded to be
        joint.limited = bool(np.isfinite(stops).any() and drives.mode[at] < 2)
        lower, upper = np.clip(stops, -FAR, FAR)
        joint.range = [lower, upper + NARROWEST]
        joint.solref_limit = joint.solref_friction = [HARD_STEPS * dt, 1.0]
        hard = [HARD_IMPEDANCE, HARD_IMPEDANCE, 1e-3, 0.5, 2.0]
        joint.solimp_limit = joint.solimp_friction = hard


def _add_point(
    mujoco: Any, spec: Any, world: World, number: int, point: ContactPoint
) -> Any:
    body, position = world.in_body(point.link, point.position_in_link)
    names = world.robot.model.names
    root = spec.body(world.robot.description.root)
    parent = root if body == BASE else spec.joint(names[body]).parent
    parent.add_site(name=_point(number), pos=position)
    radius, centre = POINT_RADIUS, position
    if isinstance(world.terrain, HeightField):
        radius = LIFTED_RADIUS * world.robot.longest_limb
        up = _upward_in_body(world, body)
        centre = position + radius * up
    return parent.add_geom(
        name=_point(number),
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        size=[radius, 0.0, 0.0],
        pos=centre,
        mass=0.0,
        **ONLY_PAIRS,
    )


def _upward_in_body(world: World, body: int) -> Array:
    """Return the direction that is up when the robot stands, shape (3,)."""
    data = world.robot.model.createData()
    pin.forwardKinematics(world.robot.model, data, world.robot.standing)
    return np.array(data.oMi[body].rotation.T[:, 2])


def _set_material(model: Any, materials: dict[frozenset[str], Material]) -> None:
    """Give contacts stiffness and damping in N/m and N s/m.

    Args:
        model: The compiled world.
        materials: What touching is like, by the names of the two geoms.
    """
    rows = []
    for pair in zip(model.pair_geom1, model.pair_geom2, strict=True):
        material = materials[frozenset(model.geom(geom).name for geom in pair)]
        rows.append((material.stiffness, material.damping))
    spring = np.array(rows).reshape(-1, 2)
    # MuJoCo's own estimate of 1 / (mass that a contact moves)
    mobility = model.body_invweight0[model.geom_bodyid, 0]
    both = mobility[model.pair_geom1] + mobility[model.pair_geom2]
    model.pair_solref[:] = -(1.0 - IMPEDANCE) * both[:, None] * spring


def _notices(world: World) -> Iterator[str]:
    material, drives = world.material, world.actuation
    if material.dynamic_friction < material.static_friction:
        yield (
            "MuJoCo has one coefficient of friction: sliding too has the static one, "
            f"{material.static_friction:g}"
        )
    if (drives.static_friction > drives.coulomb_friction).any():
        yield "MuJoCo's joints have no Stribeck friction: at rest it is Coulomb's too"
    if isinstance(world.terrain, HeightField):
        yield "MuJoCo's height field is flat in triangles, not bilinear"
