"""A biped: a Pinocchio model and the parts that Pinocchio has no notion of."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import LegsNotFoundError, NameNotFoundError, ShapeError
from equipoise.notebook import html_table
from equipoise.robot.description import Description, check_inertials
from equipoise.robot.inertias import Inertial
from equipoise.robot.parts import Actuator, Limb, LimbKind, Side, Sole
from equipoise.robot.pinocchio_model import build_model, workspace

QUATERNION_TOLERANCE = 1e-6
# How warnings begin that say why legs, or one leg, are missing.
NO_LEGS, MISSING_LEG = "no legs found: ", "a leg is missing: "


@dataclass(frozen=True, eq=False)
class Robot:
    """A biped: Pinocchio model, limbs, soles, actuators, postures.

    Configurations ``q`` and velocities ``v`` are Pinocchio's: q = [base position,
    base quaternion xyzw, joints], v = [base linear, base angular (both in base
    axes), joints].

    Attributes:
        name: Robot name.
        model: Pinocchio model with a free-flyer base. Treat it as read-only.
        description: Links, joints and shapes as the file describes them.
        limbs: All limbs by name.
        soles: Soles by side; empty where none was found. They are frames of the
            model as well, ``l_sole`` and ``r_sole``, unless the file has frames of
            these names: then those are the file's own and may lie elsewhere.
        actuators: One for each joint of one degree of freedom.
        postures: Named configurations, read-only arrays of shape (nq,), each
            standing on z = 0 with the middle of the soles at x = y = 0, facing x.
            There is always ``"standing"``, with level soles unless a warning says
            otherwise.
        source: File that the robot came from, or None.
        assumptions: Choices made where the source gives nothing, a sentence each.
        warnings: What looks wrong in the file, a sentence each.
    """

    name: str
    model: pin.Model
    description: Description
    limbs: Mapping[str, Limb]
    soles: Mapping[Side, Sole]
    actuators: tuple[Actuator, ...]
    postures: Mapping[str, Array]
    source: Path | None = None
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    _local: threading.local = field(
        default_factory=threading.local, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Make the mappings read-only."""
        for name in ("limbs", "soles", "postures"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __repr__(self) -> str:
        """Name the robot and what it has, in a line."""
        return (
            f"Robot({self.name!r}, {self.mass:.3f} kg, {self.nv - 6} joint degrees of "
            f"freedom, limbs: {', '.join(self.limbs) or 'none'})"
        )

    def _repr_html_(self) -> str:
        limbs = [limb.name for limb in self.limbs.values()]
        return html_table(
            self.name,
            {
                "mass": f"{self.mass:.3f} kg",
                "joints": self.nv - 6,
                "limbs": ", ".join(limbs) or "none found",
                "soles": ", ".join(self.soles) or "none found",
                "postures": ", ".join(self.postures),
                "warnings": "; ".join(self.warnings) or "none",
            },
        )

    def __reduce__(self) -> tuple[type[Robot], tuple[Any, ...]]:
        """Pickle and copy without the workspace, which belongs to this thread."""
        values = [getattr(self, item.name) for item in fields(self) if item.repr]
        plain = (dict(v) if isinstance(v, MappingProxyType) else v for v in values)
        return Robot, tuple(plain)

    @cached_property
    def mass(self) -> float:
        """Total mass [kg]."""
        return float(pin.computeTotalMass(self.model))

    @property
    def nq(self) -> int:
        """Length of a configuration."""
        return int(self.model.nq)

    @property
    def nv(self) -> int:
        """Length of a velocity: degrees of freedom, the six of the base included."""
        return int(self.model.nv)

    @property
    def data(self) -> pin.Data:
        """Pinocchio's workspace for this robot and thread."""
        if not hasattr(self._local, "data"):
            self._local.data = workspace(self.model)
        data: pin.Data = self._local.data
        return data

    @property
    def standing(self) -> Array:
        """The configuration ``"standing"``, shape (nq,)."""
        return self.postures["standing"]

    def posture(self, name: str) -> Array:
        """Return a named configuration, shape (nq,), read-only."""
        if name not in self.postures:
            raise NameNotFoundError("posture", name, self.postures, self.name)
        return self.postures[name]

    def limb(self, name: str) -> Limb:
        """Return a limb by its name."""
        if name not in self.limbs:
            raise NameNotFoundError("limb", name, self.limbs, self.name)
        return self.limbs[name]

    @property
    def legs(self) -> dict[Side, Limb]:
        """The left and the right leg.

        Raises:
            LegsNotFoundError: If there are not two.
        """
        legs = self._pair("leg")
        if len(legs) != 2:
            starts = (NO_LEGS, MISSING_LEG)
            reasons = [w for w in self.warnings if w.startswith(starts)]
            why = reasons[0].partition(": ")[2] if reasons else f"found {len(legs)}"
            raise LegsNotFoundError(
                f"{self.source or self.name}: a biped needs a left and a right leg: "
                f"{why}; if it is one, name them in a TOML file beside the robot, "
                "under [limbs.left_leg] and [limbs.right_leg]"
            )
        return legs

    @property
    def leg_joints(self) -> frozenset[str]:
        """Names of the joints of all legs, none if there are no legs."""
        legs = (limb for limb in self.limbs.values() if limb.kind == "leg")
        return frozenset(joint for leg in legs for joint in leg.joints)

    @cached_property
    def sliding_joints(self) -> frozenset[str]:
        """Names of the joints that slide: their positions are lengths."""
        joints = self.description.joints
        return frozenset(item.name for item in joints if item.kind == "prismatic")

    @property
    def torque_controlled(self) -> bool:
        """Whether all joints of the legs are told torques, by the robot's file."""
        told = {item.joint for item in self.actuators if item.command == "torque"}
        return bool(self.leg_joints) and self.leg_joints <= told

    @property
    def arms(self) -> dict[Side, Limb]:
        """The arms that there are, by side."""
        return self._pair("arm")

    @property
    def longest_limb(self) -> float:
        """Length of the longest limb [m], one metre where there is none."""
        return max((limb.length for limb in self.limbs.values()), default=0.0) or 1.0

    @property
    def longest_leg(self) -> float:
        """Length of the longest leg [m], of the longest limb where there is no leg."""
        legs = (limb.length for limb in self.limbs.values() if limb.kind == "leg")
        return max(legs, default=0.0) or self.longest_limb

    def _pair(self, kind: LimbKind) -> dict[Side, Limb]:
        return {
            limb.side: limb
            for limb in self.limbs.values()
            if limb.kind == kind and limb.side is not None
        }

    def with_inertials(self, inertials: Mapping[str, Inertial]) -> Robot:
        """Return the same robot with other masses in the links named.

        Args:
            inertials: Mass distribution by link name.

        Raises:
            NameNotFoundError: If there is no link of a name.
            RobotFileError: If a mass or inertia is not possible.
        """
        check_inertials(self.description, inertials, self.name)
        description = self.description.with_inertials(inertials)
        model = self.model.copy()
        for body, inertia in enumerate(build_model(description).inertias):
            model.inertias[body] = inertia
        return replace(
            self, model=model, description=description, _local=threading.local()
        )

    def write_urdf(self, path: Path | str) -> None:
        """Write as URDF: :func:`~equipoise.robot.formats.write.write_urdf`."""
        from equipoise.robot.formats.write import write_urdf

        write_urdf(self, path)

    def write_mjcf(self, path: Path | str) -> None:
        """Write as MJCF: :func:`~equipoise.robot.formats.write.write_mjcf`."""
        from equipoise.robot.formats.write import write_mjcf

        write_mjcf(self, path)

    def frame_id(self, frame: str) -> int:
        """Return Pinocchio's index of a frame: a link, a joint or a sole.

        Where the robot has no frame of that name, the names of REP-120 are understood
        as well: ``base_link``, ``l_ankle``, ``l_wrist``, ``torso``, ``head``.
        """
        if not self.model.existFrame(frame):
            frame = self._aliases.get(frame, frame)
        if not self.model.existFrame(frame):
            names = [f.name for f in self.model.frames]
            raise NameNotFoundError("frame", frame, names, self.name)
        if self.model.existBodyName(frame):  # a joint may have the same name
            return int(self.model.getBodyId(frame))
        return int(self.model.getFrameId(frame))

    @cached_property
    def _aliases(self) -> dict[str, str]:
        """Frame names of REP-120 that this robot's own frames stand for."""
        names = {"base_link": self.description.root}
        for limb in self.limbs.values():
            if limb.side is None:
                names[limb.name] = limb.end_link
            elif limb.kind in ("leg", "arm"):
                joint = {"leg": "ankle", "arm": "wrist"}[limb.kind]
                names[f"{limb.side[0]}_{joint}"] = limb.joints[-1]
        return names

    def joint_id(self, joint: str) -> int:
        """Return Pinocchio's index of a moving joint."""
        if not self.model.existJointName(joint):
            names = list(self.model.names)[1:]
            raise NameNotFoundError("joint", joint, names, self.name)
        return int(self.model.getJointId(joint))

    def check_q(self, q: ArrayLike) -> Array:
        """Return configurations as float64, shape (nq,) or (n, nq).

        Raises:
            ShapeError: For a wrong shape, values that are not finite, or
                quaternions that are not of unit length.
        """
        array = _check_shape(q, "q", self.nq, self.name)
        for part in self._unit_parts:
            length = np.ravel(np.linalg.norm(array[..., part], axis=-1))
            worst = length[np.argmax(np.abs(length - 1.0))] if len(length) else 1.0
            if abs(worst - 1.0) > QUATERNION_TOLERANCE:
                what = f"a unit quaternion (x, y, z, w), its length is {worst:.6g}"
                if part.stop - part.start == 2:
                    what = "(cos, sin) of a continuous joint, of unit length"
                raise ShapeError(f"q[{part.start}:{part.stop}] must be {what}")
        return array

    def check_v(self, v: ArrayLike, like: Array | None = None) -> Array:
        """Return velocities as float64, shape (nv,) or (n, nv), as many as ``like``."""
        array = _check_shape(v, "v", self.nv, self.name)
        if like is not None and array.shape[:-1] != like.shape[:-1]:
            raise ShapeError(
                f"v has shape {array.shape} but q has shape {like.shape}: "
                "both must be one row or equally many rows"
            )
        return array

    @cached_property
    def _unit_parts(self) -> list[slice]:
        """The quaternions, then the pairs (cos, sin), in q."""
        ends = [(int(j.idx_q + j.nq), int(j.nq)) for j in self.model.joints[1:]]
        quaternions = [slice(end - 4, end) for end, nq in ends if nq > 2]
        return quaternions + [slice(end - 2, end) for end, nq in ends if nq == 2]


def _check_shape(values: ArrayLike, name: str, width: int, robot: str) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be an array of numbers ({error})") from error
    if array.ndim not in (1, 2) or array.shape[-1] != width:
        raise ShapeError(
            f"{name} has shape {array.shape}; {robot} needs ({width},) for one "
            f"or (n, {width}) for many"
        )
    if not np.isfinite(array).all():
        raise ShapeError(f"{name} holds values that are not finite")
    return array
