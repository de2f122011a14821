"""Closed-loop walks of many robots on a device, from plain arrays to plain results.

Simulation and control ticks take turns; nothing returns to the host until all walks
have ended. What the arrays mean is the business of the package that simulates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.kernels import assessment, estimation, sensing
from equipoise.kernels.monitor import RUNNING, WHY
from equipoise.kernels.once import lock
from equipoise.kernels.program import Floats
from equipoise.kernels.rollout import PARTS, Rollout
from equipoise.kernels.runtime import device_named, filled, record
from equipoise.kernels.scene import Ints
from equipoise.kernels.skeleton import SkeletonArrays, make_skeleton, upload_skeleton
from equipoise.kernels.stabiliser import types as stabiliser
from equipoise.kernels.walking import make_walking
from equipoise.kernels.watch import Measured

# Control periods between looks at whether anyone still walks.
LOOK = 100
# What is each robot's own, by the part of the arrays that it is in.
OWN = {
    "world": ("terrain_of", "delay"),
    "sensors": ("mass", "com", "inertia", "deviation", "seed"),
    "plan": ("gait", "ends", "gains"),
    "course": ("least_load",),
}


@dataclass(frozen=True, eq=False)
class WalkArrays:
    """All that walks of n robots need, by gait where gaits differ.

    Attributes:
        dt: Time step [s].
        hold: Time steps of a control period.
        every: Time steps between times at which walks are assessed.
        steps: Time steps of the longest walk.
        world: Arguments of :class:`~equipoise.kernels.rollout.Rollout` by name.
        truth: Bodies of the robots; all have the same geometry.
        model: Bodies as estimator and stabiliser know them.
        sensors: The struct ``Sensors`` by name.
        estimator: The struct ``Sensing`` by name.
        legs: The struct ``Legs`` by name.
        plan: The struct ``Plan`` by name.
        course: The struct ``Course`` by name, but for what ``plan`` has, too.
        start: At the start, of each gait: configuration ``q``, joint positions
            ``held``; memory of the estimator, ``estimate`` and ``rotations``, and of
            the stabiliser, ``vectors``, ``base`` and ``joints``; and ``contact``, what
            the estimator believes of contacts, the same for all.
        upright: What falls are measured against, shape (n, 4), see
            :meth:`~equipoise.kernels.watch.Watch.look_for_falls`.
        lowest_cosine: Cosine of the angle by which a base may tilt.
    """

    dt: float
    hold: int
    every: int
    steps: int
    world: dict[str, Any]
    truth: SkeletonArrays
    model: SkeletonArrays
    sensors: dict[str, Any]
    estimator: dict[str, Any]
    legs: dict[str, Any]
    plan: dict[str, Any]
    course: dict[str, Any]
    start: Mapping[str, Floats]
    upright: Floats
    lowest_cosine: float

    @property
    def robots(self) -> int:
        """How many robots there are."""
        return len(self.upright)

    def of_robots(self, rows: Ints) -> WalkArrays:
        """Return the same for some of the robots; one may be there many times."""

        def own(values: Any) -> Any:
            return values if values is None or len(values) == 1 else values[rows]

        parts = {
            part: getattr(self, part)
            | {name: own(getattr(self, part)[name]) for name in names}
            for part, names in OWN.items()
        }
        world = parts["world"]
        world["actuators"] = {
            slot: values if values.ndim == 2 else own(values)
            for slot, values in world["actuators"].items()
        }
        points, pushes = world["points"], world["pushes"]
        world["points"] = replace(points, material=own(points.material))
        world["pushes"] = replace(
            pushes, force=own(pushes.force), window=own(pushes.window)
        )
        if world["inertias"] is not None:
            world["inertias"] = type(world["inertias"])(*map(own, world["inertias"]))
        return replace(self, **parts, upright=self.upright[rows])


@dataclass(frozen=True, eq=False)
class Walked:
    """What came of n walks.

    Attributes:
        status: Why, when and where each robot was stopped, shape (n, 3), numbers of
            :mod:`equipoise.kernels.monitor`.
        found: What was found of it, shape (n, FOUND), columns of
            :mod:`equipoise.kernels.assessment`.
        measured: What was measured of it.
    """

    status: NDArray[np.int32]
    found: NDArray[np.float64]
    measured: Measured


class Walks:
    """Walks of robots of one kind, from their start to their ends.

    Attributes:
        arrays: What it was made of.
        rollout: The robots in motion.
    """

    def __init__(self, arrays: WalkArrays, scalar: Any, device: str) -> None:
        """Lay everything out on a device, all robots at the start of their walks.

        Args:
            arrays: What walks need.
            scalar: Warp's number type.
            device: Where to compute.
        """
        self.arrays = arrays
        self._scalar, self._device = scalar, device_named(device)
        robots, own = arrays.robots, arrays.start
        gait = np.asarray(arrays.plan["gait"])
        self.rollout = Rollout(
            robots=robots,
            dt=arrays.dt,
            scalar=scalar,
            device=self._device,
            hold=arrays.hold,
            **arrays.world,
        )
        q = own["q"][gait]
        self.rollout.reset(
            q, np.zeros((robots, self.rollout.program.tree.nv)), own["held"][gait]
        )
        self.rollout.write_start()
        watch = self.rollout.watch
        watch.look_for_falls(arrays.upright, arrays.lowest_cosine)
        watch.measure(None, 1)
        with lock:
            self._lay_out(gait)

    def _lay_out(self, gait: Ints) -> None:
        """Prepare both kernels."""
        arrays, scalar, device = self.arrays, self._scalar, self._device
        types, walking = make_skeleton(scalar), make_walking(scalar)
        vec3, mat33 = types.vec3, types.mat33
        feel, believe = (
            sensing.make_sensing(scalar),
            estimation.make_estimation(scalar),
        )
        own = stabiliser.make_types(scalar)
        rollout, start, memory = self.rollout, arrays.start, self._memory
        model = upload_skeleton(arrays.model, scalar, device)
        truth = upload_skeleton(arrays.truth, scalar, device)
        joints, bodies = model.joints, len(arrays.model.parent)
        q, v, a, _, position, force, com, _ = rollout.rows.first()
        sensors = filled(feel.Sensors, arrays.sensors, device)
        listed, kept = len(arrays.sensors["body"]), int(arrays.sensors["delay"]) + 2
        moving = filled(
            feel.Moving,
            {
                name: memory(mat33 if name == "rotation" else vec3, listed)
                for name in feel.Moving.vars
            },
            device,
        )
        self._found = memory(scalar, assessment.FOUND)
        walk = filled(
            walking.Walk,
            {
                "hold": arrays.hold,
                "clock": rollout.watch.clock,
                "status": rollout.watch.status,
                **{
                    f"command_{part}": array
                    for part, array in zip(PARTS, rollout.command, strict=True)
                },
                "command_row": rollout.first,
                "position": self._ring(kept, joints),
                "measured": self._ring(kept, joints + sensing.BESIDE_JOINTS),
            },
            device,
        )
        contact = np.tile(start["contact"], (arrays.robots, 1))
        estimate = filled(
            believe.Estimation,
            {
                "vectors": self._laid(start["estimate"][gait], vec3),
                "rotations": self._laid(start["rotations"][gait], mat33),
                "contact": self._laid(contact, scalar),
                "deviation": memory(scalar, joints),
                "joint_velocity": memory(scalar, joints),
                "body_rotations": memory(mat33, bodies),
                "body_origins": memory(vec3, bodies),
                "body_omegas": memory(vec3, bodies),
                "body_velocities": memory(vec3, bodies),
            },
            device,
        )
        given = filled(
            own.Given,
            {
                "told": memory(vec3, estimation.TOLD),
                "told_rotations": memory(mat33, estimation.TOLD_ROTATIONS),
                "wanted": memory(vec3, stabiliser.WANTED),
                "wanted_rotations": memory(mat33, stabiliser.WANTED_ROTATIONS),
                "supports": memory(wp.int32),
                **{part: memory(scalar, joints) for part in PARTS},
            },
            device,
        )
        remembered = filled(
            own.Memory,
            {
                "vectors": self._laid(start["vectors"][gait], vec3),
                "base": self._laid(start["base"][gait], mat33),
                "numbers": memory(scalar, stabiliser.NUMBERS),
                "joints": self._laid(start["joints"][gait], scalar),
                "body_rotations": memory(mat33, bodies),
                "body_origins": memory(vec3, bodies),
                "moments": memory(vec3, bodies),
                "rows": memory(
                    scalar, stabiliser.MOST_ROWS, stabiliser.MOST_UNKNOWNS + 2
                ),
                "solution": memory(scalar, stabiliser.MOST_UNKNOWNS, 2),
                "corners": memory(vec3, 2 * np.shape(arrays.legs["corners"])[1]),
            },
            device,
        )
        commanded = filled(
            own.Commanded,
            {part: memory(scalar, joints) for part in PARTS}
            | {"said": memory(vec3, stabiliser.SAID)},
            device,
        )
        plan = filled(walking.Plan, arrays.plan, device)
        state = filled(feel.Truth, {"q": q, "v": v, "a": a, "force": force}, device)
        self._control = record(
            walking.control,
            arrays.robots,
            [
                truth,
                model,
                sensors,
                filled(believe.Sensing, arrays.estimator, device),
                filled(own.Legs, arrays.legs, device),
                plan,
                state,
                walk,
                moving,
                estimate,
                given,
                remembered,
                commanded,
            ],
            device,
        )
        judge = assessment.make_assessment(scalar)
        course = arrays.course | {
            "every": arrays.every,
            "gait": plan.gait,
            "ends": plan.ends,
        }
        findings = {
            "com": com,
            "position": position,
            "found": self._found,
            "flags": memory(wp.int32, assessment.FLAGS),
            "corners": memory(vec3, 2 * np.shape(course["corners"])[1]),
        }
        self._assess = record(
            judge.assess,
            arrays.robots,
            [
                truth,
                sensors,
                filled(judge.Course, course, device),
                state,
                rollout.watch.clock,
                rollout.watch.status,
                moving,
                filled(judge.Findings, findings, device),
            ],
            device,
        )

    def run(self) -> Walked:
        """Let all robots walk to their ends, and return what came of it."""
        arrays, rollout, at = self.arrays, self.rollout, 0
        while at < arrays.steps:
            since = at % arrays.hold
            if since == 0:
                if at % (LOOK * arrays.hold) == 0 and not self.walking:
                    break
                self._control.run()
            until = min(
                arrays.steps,
                at - since + arrays.hold,
                at - at % arrays.every + arrays.every,
            )
            assessed = until % arrays.every == 0
            rollout.step(until - at, contacts=assessed, forces=True, since=since)
            if assessed:
                self._assess.run()
            if until % arrays.hold == 0:
                rollout.shift(copied=False)
            at = until
        return Walked(
            rollout.watch.status.numpy().copy(),
            np.array(self._found.numpy(), dtype=np.float64),
            rollout.watch.measured(),
        )

    @property
    def walking(self) -> bool:
        """Whether any robot still walks."""
        return bool((self.rollout.watch.status.numpy()[:, WHY] == RUNNING).any())

    def _memory(self, dtype: Any, *shape: int) -> wp.array[Any]:
        """Return zeros indexed [robot, …].

        On a GPU robots, one a thread, lie side by side in memory, so that threads read
        together.
        """
        robots, device = self.arrays.robots, self._device
        if not device.is_cuda or not shape:
            return wp.zeros((robots, *shape), dtype=dtype, device=device)
        zeros = wp.zeros((*shape, robots), dtype=dtype, device=device)
        return zeros.transpose([len(shape), *range(len(shape))])

    def _ring(self, kept: int, width: int) -> wp.array[Any]:
        """Return zeros indexed [tick, robot, …], laid out likewise."""
        robots, scalar, device = self.arrays.robots, self._scalar, self._device
        if not device.is_cuda:
            return wp.zeros((kept, robots, width), dtype=scalar, device=device)
        zeros = wp.zeros((kept, width, robots), dtype=scalar, device=device)
        return zeros.transpose([0, 2, 1])

    def _laid(self, values: Floats, dtype: Any) -> wp.array[Any]:
        """Return values (robots, k, …) indexed [robot, k], laid out likewise."""
        number, device = wp.dtype_to_numpy(self._scalar), self._device
        if not device.is_cuda:
            rows = np.ascontiguousarray(values, dtype=number)
            return wp.array(rows, dtype=dtype, device=device)
        rows = np.ascontiguousarray(np.moveaxis(values, 0, 1), dtype=number)
        return wp.array(rows, dtype=dtype, device=device).transpose([1, 0])
