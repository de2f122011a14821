"""One recorded run of a robot, simulated or real."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array, frozen_array, plausible
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.log.folder import plain_summary, write_run
from equipoise.log.surroundings import Surroundings
from equipoise.notebook import html_table
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Logs count time in whole nanoseconds.
SHORTEST_INTERVAL = 1e-9
REFERENCE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
COMMANDS = ("position", "velocity", "torque")
BASE_DOF = 6
FootSensorPlace = Literal["sole", "ankle"]


@dataclass(frozen=True)
class Event:
    """Something that happened: its time [s], and a few words."""

    time: float
    text: str


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements at the n times of a run; arrays are copied, float64 and read-only.

    Attributes:
        time: Time of each measurement, not decreasing [s], shape (n,).
        position: Joint positions [rad or m], shape (n, nv - 6).
        velocity: Joint velocities [rad/s or m/s], shape (n, nv - 6).
        feet: Force and torque of each foot's sensor, in axes parallel to the sole's
            [N, Nm], shape (n, 6) each.
        feet_at: ``"sole"``: wrench of the ground on the foot, about the sole's origin.
            ``"ankle"``: wrench of the foot on the shank, about the last joint of the
            leg: the same, less weight and inertia of the foot.
        angular_velocity: Gyroscope of the IMU, in its own axes [rad/s], shape (n, 3).
        specific_force: Accelerometer of the IMU, acceleration less gravity, in its own
            axes [m/s²], shape (n, 3).
        orientation: Orientation of the IMU in the world, quaternion xyzw, (n, 4).
        imu_frame: Link, joint or fixed frame that carries the IMU.
        transform_imu_to_frame: Pose of the IMU there, shape (4, 4).
    """

    time: Array
    position: Array
    velocity: Array
    feet: Mapping[Side, Array]
    feet_at: FootSensorPlace
    angular_velocity: Array
    specific_force: Array
    orientation: Array
    imu_frame: str
    transform_imu_to_frame: Array

    def __post_init__(self) -> None:
        """Check, copy and freeze.

        Raises:
            ShapeError: If an array has the wrong shape or impossible values.
            EquipoiseError: If foot sensors are at another place.
        """
        rows = np.size(self.time)
        joints = np.shape(self.position)[-1] if np.ndim(self.position) else 0
        shapes: dict[str, tuple[int, ...]] = {
            "time": (rows,),
            "position": (rows, joints),
            "velocity": (rows, joints),
            "angular_velocity": (rows, 3),
            "specific_force": (rows, 3),
            "orientation": (rows, 4),
            "transform_imu_to_frame": (4, 4),
        }
        for name, shape in shapes.items():
            values = _checked(f"measured.{name}", getattr(self, name), shape)
            object.__setattr__(self, name, values)
        if np.any(self.time < 0.0) or np.any(np.diff(self.time) < 0.0):
            raise ShapeError("measured.time is negative or decreases")
        feet = {
            side: _checked(f"measured.feet['{side}']", wrench, (rows, 6))
            for side, wrench in self.feet.items()
        }
        object.__setattr__(self, "feet", MappingProxyType(feet))
        places = get_args(FootSensorPlace)
        if self.feet_at not in places:
            raise EquipoiseError(
                f"there are no foot sensors at '{self.feet_at}'; "
                f"the choices are: {', '.join(places)}"
            )

    def of_robot(self, robot: Robot, rows: int) -> Measured:
        """Return the same, with the robot's own name of the IMU's frame.

        Args:
            robot: The robot that carries the sensors.
            rows: Number of measurements that there must be.

        Raises:
            ShapeError: If the robot has another number of joints, or there are more or
                fewer measurements.
            NameNotFoundError: If the robot lacks a sole or the IMU's frame.
        """
        needed = (rows, robot.nv - BASE_DOF)
        if self.position.shape != needed:
            raise ShapeError(
                f"measured.position has shape {self.position.shape}; {needed} is needed"
            )
        for side in self.feet:
            if side not in robot.soles:
                raise NameNotFoundError("sole", side, robot.soles, robot.name)
        frame = robot.model.frames[robot.frame_id(self.imu_frame)].name
        return replace(self, imu_frame=frame)


@dataclass(frozen=True, eq=False)
class Run:
    """What a robot did at n times; arrays are copied, float64 and read-only.

    Attributes:
        robot: The robot.
        time: Increasing, from 0 or later [s], shape (n,).
        q: Configurations, shape (n, nq).
        v: Velocities, shape (n, nv).
        a: Accelerations, derivative of v, shape (n, nv).
        torque: Actuator torques, in the order of v[6:] [Nm or N], shape (n, nv - 6).
        contact_names: Names of the contact points, nc of them, all different.
        contact_position: Contact points in the world [m], shape (n, nc, 3).
        contact_force: Force of the world on each point, in world axes [N], (n, nc, 3).
        foot_wrench: Force and torque of the ground on each foot, about and in the
            sole's frame [N, Nm], shape (n, 6) each.
        com: Centre of mass in the world [m], shape (n, 3).
        zmp: Zero-moment point in the world [m], shape (n, 3).
        supported: Whether the robot has support, shape (n,). Where not, rows
            of ``zmp`` and ``zmp_margin`` mean nothing and are NaN.
        zmp_margin: Distance of the ZMP to the edge of the support polygon, positive
            inside [m], shape (n,).
        references: Desired values, n rows each, by name: for example ``"com"`` of
            shape (n, 3), ``"joint_position"`` of shape (n, nv - 6), ``"left_sole"``
            (position and quaternion xyzw) of shape (n, 7). NaN where there is none.
        boxes: Position and quaternion xyzw of each movable box, shape (n, nb, 7).
        events: Events, in order of time.
        summary: Results, for ``summary.json``: plain data, numbers finite.
        surroundings: Ground, walls and boxes, to look at.
        commands: Actuator commands in the step that led to each row:
            ``"position"``, ``"velocity"`` and ``"torque"``, in the order of v[6:],
            shape (n, nv - 6) each; empty where that is not known.
        measured: What the sensors measured; None where there were none. All of the
            above is the truth, whether there are sensors or not.
        estimates: State by an estimator: ``"q"`` of shape (n, nq) and ``"v"`` of
            shape (n, nv), finite or not; empty without an estimator.
    """

    robot: Robot
    time: Array
    q: Array
    v: Array
    a: Array
    torque: Array
    contact_names: tuple[str, ...]
    contact_position: Array
    contact_force: Array
    foot_wrench: Mapping[Side, Array]
    com: Array
    zmp: Array
    supported: NDArray[np.bool_]
    zmp_margin: Array
    references: Mapping[str, Array]
    boxes: Array
    events: tuple[Event, ...]
    summary: Mapping[str, Any]
    surroundings: Surroundings = field(default_factory=Surroundings)
    commands: Mapping[str, Array] = field(default_factory=dict)
    measured: Measured | None = None
    estimates: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check, copy and freeze.

        Raises:
            ShapeError: If an array has the wrong shape or impossible values.
            NameNotFoundError: If the robot lacks the sole of a foot's wrench.
            EquipoiseError: If a name, an event or the summary cannot be logged.
        """
        rows, joints = np.size(self.time), self.robot.nv - BASE_DOF
        points = len(self.contact_names)
        boxes = np.shape(self.boxes)[1] if np.ndim(self.boxes) > 1 else 0
        shapes: dict[str, tuple[int, ...]] = {
            "time": (rows,),
            "q": (rows, self.robot.nq),
            "v": (rows, self.robot.nv),
            "a": (rows, self.robot.nv),
            "torque": (rows, joints),
            "contact_position": (rows, points, 3),
            "contact_force": (rows, points, 3),
            "com": (rows, 3),
            "boxes": (rows, boxes, 7),
        }
        for name, shape in shapes.items():
            self._set(name, _checked(name, getattr(self, name), shape))
        self._check_time()
        self.robot.check_q(self.q)
        self._freeze_support(rows)
        self._freeze_mappings(rows, joints)
        self._freeze_signals(rows, joints)
        self._check_texts()

    def __repr__(self) -> str:
        """Return a line: whose run, how long, how many rows."""
        rows, last = len(self.time), float(self.time[-1])
        return f"Run({self.robot.name!r}, {last:.2f} s, {rows} rows)"

    def _repr_html_(self) -> str:
        shown = {
            "duration": f"{float(self.time[-1]):.2f} s",
            "rows": len(self.time),
            "engine": self.summary.get("engine", "–"),
            "achieved": self.summary.get("achieved", "–"),
            "references": ", ".join(self.references) or "none",
            "events": "; ".join(f"{e.time:.2f} s {e.text}" for e in self.events)
            or "none",
        }
        sentence = self.summary.get("sentence", f"Run of {self.robot.name}")
        return html_table(str(sentence), shown)

    def with_summary(
        self, summary: Mapping[str, Any], events: Iterable[Event] | None = None
    ) -> Run:
        """Return the same run with other results, and events if they are given.

        Arrays are shared, not copied.
        """
        run = copy(self)
        run._set("summary", summary)
        if events is not None:
            run._set("events", tuple(events))
        run._check_texts()
        return run

    def save(
        self, folder: Path | str, *, report: str | None = None, replace: bool = False
    ) -> Path:
        """Write a run folder: :func:`~equipoise.log.folder.write_run`."""
        return write_run(self, folder, report=report, replace=replace)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_time(self) -> None:
        if len(self.time) == 0:
            raise ShapeError("time is empty; a run has at least one row")
        if self.time[0] < 0.0:
            raise ShapeError(
                f"time begins at {self.time[0]:g} s; it must be 0 or later"
            )
        if np.any(np.diff(self.time) < SHORTEST_INTERVAL):
            row = int(np.argmin(np.diff(self.time))) + 1
            raise ShapeError(f"time does not increase at row {row}")

    def _freeze_support(self, rows: int) -> None:
        supported = np.array(self.supported)
        if supported.shape != (rows,) or supported.dtype != np.bool_:
            raise ShapeError(
                f"supported has shape {supported.shape} and type {supported.dtype}; "
                f"({rows},) and bool are needed"
            )
        supported.flags.writeable = False
        self._set("supported", supported)
        for name, shape in (("zmp", (rows, 3)), ("zmp_margin", (rows,))):
            values = np.array(_checked(name, getattr(self, name), shape, finite=False))
            values[~supported] = np.nan
            _check_finite(name, values[supported])
            self._set(name, frozen_array(values))

    def _freeze_mappings(self, rows: int, joints: int) -> None:
        wrenches = {}
        for side, wrench in self.foot_wrench.items():
            if side not in self.robot.soles:
                raise NameNotFoundError("sole", side, self.robot.soles, self.robot.name)
            wrenches[side] = _checked(f"foot_wrench['{side}']", wrench, (rows, 6))
        references = {}
        for name, values in self.references.items():
            if not REFERENCE_NAME.fullmatch(name):
                raise EquipoiseError(
                    f"reference '{name}': names are letters, digits and underscores"
                )
            tail = (joints,) if name.startswith("joint_") else np.shape(values)[1:]
            label, shape = f"references['{name}']", (rows, *tail)
            references[name] = _checked(label, values, shape, finite=False)
        self._set("foot_wrench", MappingProxyType(wrenches))
        self._set("references", MappingProxyType(references))

    def _freeze_signals(self, rows: int, joints: int) -> None:
        commands = {
            name: _checked(f"commands['{name}']", values, (rows, joints))
            for name, values in _all_or_none("commands", self.commands, COMMANDS)
        }
        self._set("commands", MappingProxyType(commands))
        if self.measured is not None:
            self._set("measured", self.measured.of_robot(self.robot, rows))
        sizes = {"q": self.robot.nq, "v": self.robot.nv}
        given = _all_or_none("estimates", self.estimates, tuple(sizes))
        estimates = {
            name: _checked(
                f"estimates['{name}']", own, (rows, sizes[name]), finite=False
            )
            for name, own in given
        }
        if estimates and self.measured is None:
            raise EquipoiseError("a run has estimates, but no measurements")
        self._set("estimates", MappingProxyType(estimates))

    def _check_texts(self) -> None:
        names = tuple(self.contact_names)
        if len(set(names)) < len(names):
            raise EquipoiseError("contact_names holds a name twice")
        self._set("contact_names", names)
        for event in self.events:
            if not (np.isfinite(event.time) and event.time >= 0.0):
                raise EquipoiseError(f"event '{event.text}' is at {event.time:g} s")
        ordered = sorted(self.events, key=lambda event: event.time)
        self._set("events", tuple(ordered))
        self._set("summary", MappingProxyType(plain_summary(self.summary)))


def _all_or_none(
    what: str, given: Mapping[str, Array], names: tuple[str, ...]
) -> list[tuple[str, Array]]:
    """Return all arrays of a mapping in the order of their names, if it has any."""
    if given and set(given) != set(names):
        raise EquipoiseError(
            f"{what} are of {', '.join(given)}; {', '.join(names)} are needed, or none"
        )
    return [(name, given[name]) for name in names if name in given]


def _checked(
    name: str, values: ArrayLike, shape: tuple[int, ...], *, finite: bool = True
) -> Array:
    """Return a read-only copy of numbers, or raise a ShapeError."""
    try:
        array = frozen_array(values)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be an array of numbers ({error})") from error
    if array.shape != shape:
        raise ShapeError(f"{name} has shape {array.shape}; {shape} is needed")
    if finite:
        _check_finite(name, array)
    return array


def _check_finite(name: str, values: Array) -> None:
    """Refuse NaN and infinity; the message names the first row that holds one.

    Numbers that no measurement can have count as infinite.
    """
    finite = np.isfinite(plausible(values))
    if not finite.all():
        row = int(np.argwhere(~finite)[0][0])
        raise ShapeError(f"{name} holds values that are not finite, first in row {row}")
