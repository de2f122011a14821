"""Many robots of one kind, each in its own copy of one world, stepped together."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, DTypeLike

from equipoise.control.signals import Command
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.kinematics.batch import check_target
from equipoise.kinematics.frames import frame_pose
from equipoise.robot.description import Array
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.simulation.delay import Delay
from equipoise.simulation.engine import DivergedError, Trace, check_dt
from equipoise.simulation.world import World
from equipoise.simulation.world_arrays import place_in_bodies, world_arrays

# So few configurations are not worth a launch.
FEW = 4


@dataclass(frozen=True, eq=False)
class FleetTrace:
    """States of n robots at m times; see :class:`~equipoise.simulation.engine.State`.

    Attributes:
        time: [s], shape (m,).
        q: Configurations, shape (n, m, nq).
        v: Velocities, shape (n, m, nv).
        a: Accelerations, shape (n, m, nv).
        torque: Of the actuators [Nm or N], shape (n, m, nv - 6).
        contact_position: In the world [m], shape (n, m, nc, 3).
        contact_force: In world axes [N], shape (n, m, nc, 3).
        boxes: Poses, shape (n, m, nboxes, 7).
    """

    time: Array
    q: Array
    v: Array
    a: Array
    torque: Array
    contact_position: Array
    contact_force: Array
    boxes: Array

    def of_robot(self, index: int) -> Trace:
        """Return the states of one robot."""
        rows = {item.name: getattr(self, item.name) for item in fields(self)}
        time = rows.pop("time")
        return Trace(time=time, **{name: rows[name][index] for name in rows})


class Fleet:
    """Many robots of one kind, each in its own copy of one world.

    Attributes:
        world: The robot and all that it meets.
        count: How many robots.
        dt: Time step [s].
    """

    def __init__(
        self,
        world: World,
        count: int,
        dt: float = 1e-3,
        *,
        device: str = "cpu",
        dtype: DTypeLike = np.float64,
        threads: int = 1,
        kernel_effect: Any = None,
    ) -> None:
        """Lay the world out on a device.

        Args:
            world: The robot and all that it meets.
            count: How many robots.
            dt: Time step [s].
            device: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.
            dtype: ``float64`` or ``float32``.
            threads: Of the CPU, among which the robots are shared out.
            kernel_effect: What is not modelled, as a Warp function of (time, joint,
                position, velocity) that returns a force of the joint (counted in the
                order of v[6:]); it is compiled into the kernel.

        Raises:
            EquipoiseError: For a bad time step, device, type, or a robot with joints
                of more than one degree of freedom.
        """
        numbers = check_target(device, dtype)
        from equipoise.kernels import runtime
        from equipoise.kernels.rollout import Rollout

        if count < 1:
            raise EquipoiseError(f"a fleet of {count} robots; it needs at least one")
        self.world, self.count, self.dt = world, count, check_dt(dt)
        arrays = world_arrays(world, self.dt)
        self._rollout = Rollout(
            arrays.tree,
            arrays.nq,
            count,
            arrays.drives,
            arrays.points,
            arrays.pushes,
            world.terrain.arrays(),
            dt=self.dt,
            gravity=world.gravity,
            scalar=runtime.SCALARS[numbers],
            device=runtime.device_named(device),
            effect=kernel_effect,
            threads=threads,
        )
        self._steps = -1  # not reset yet
        self._delay = Delay(world.actuation.delay, self.dt)
        bodies, places = place_in_bodies(
            world, [(point.link, point.position_in_link) for point in world.contacts]
        )
        self._contact_bodies, self._contact_places = bodies, places

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Put the robots somewhere at time zero.

        Args:
            q: Configurations, shape (nq,) for all or (n, nq).
            v: Velocities, shape (nv,) or (n, nv); at rest if not given.
        """
        robot, boxes = self.world.robot, self.world.boxes
        q = np.atleast_2d(robot.check_q(q))
        v = np.zeros(robot.nv) if v is None else robot.check_v(v)
        v = np.atleast_2d(v)
        for name, rows in (("q", q), ("v", v)):
            if len(rows) not in (1, self.count):
                raise ShapeError(
                    f"{name} has {len(rows)} rows; 1 or {self.count} are needed"
                )
        held = np.zeros((len(q), robot.nv - 6, 3))
        held[..., 0] = joint_positions(robot, q)
        self._delay.reset(held)
        poses = np.array([start_pose(box.centre, box.yaw) for box in boxes]).ravel()
        q = np.hstack(
            [
                np.broadcast_to(q, (self.count, robot.nq)),
                np.tile(poses, (self.count, 1)),
            ]
        )
        v = np.hstack(
            [
                np.broadcast_to(v, (self.count, robot.nv)),
                np.zeros((self.count, 6 * len(boxes))),
            ]
        )
        self._rollout.reset(q, v)
        self._steps = 0

    def advance(
        self, commands: Command, every: int = 1, *, added: Array | None = None
    ) -> FleetTrace:
        """Do one step for each row of commands, and return every n-th state.

        Args:
            commands: Arrays of shape (steps, nv - 6), the same for all robots, or
                (steps, n, nv - 6).
            every: How many steps lie between states; divides their number.
            added: Generalised forces that nobody commanded, the same in all steps,
                shape (n or 1, nv), the base's in world axes.

        Raises:
            DivergedError: If a world leaves all bounds: which robot, when and where.
        """
        robot = self.world.robot
        if self._steps < 0:
            raise EquipoiseError("reset the fleet before moving it")
        parts = [np.asarray(part, dtype=np.float64) for part in commands]
        if len({part.shape for part in parts}) != 1:
            raise ShapeError(
                "commands: position, velocity and torque have shapes "
                + ", ".join(str(part.shape) for part in parts)
            )
        told = np.stack(parts, axis=-1)
        if told.ndim == 3:
            told = told[:, None]
        steps = len(told)
        check_every(every, steps)
        if told.shape[1:] not in ((1, robot.nv - 6, 3), (self.count, robot.nv - 6, 3)):
            raise ShapeError(
                f"commands have shape {told.shape[:-1]}; (steps, {robot.nv - 6}) or "
                f"(steps, {self.count}, {robot.nv - 6}) is needed"
            )
        if not np.isfinite(told).all():
            row, who, joint, part = np.argwhere(~np.isfinite(told))[0]
            raise ShapeError(
                f"commands: {Command._fields[part]} of "
                f"'{degree_names(robot)[joint]}' is {told[row, who, joint, part]} in "
                f"row {row}"
            )
        told = self._delay.push(told)
        if steps > 1 and (told == told[:1]).all():
            told = told[:1]  # held: one row does for all steps
        table = np.zeros((len(told), told.shape[1], self._rollout.program.tree.nv, 3))
        table[:, :, 6 : robot.nv] = told
        record, failures = self._rollout.advance(table, steps, every, self._all(added))
        if failures:
            self._complain(failures[0])
        first = self._steps
        self._steps += steps
        done = np.arange(first + every, self._steps + 1, every, dtype=np.float64)
        return self._trace(done * self.dt, record)

    def _all(self, added: Array | None) -> Array | None:
        """Return added forces with rows for the boxes."""
        if added is None:
            return None
        rows = np.zeros((len(added), self._rollout.program.tree.nv))
        rows[:, : self.world.robot.nv] = added
        return rows

    def _trace(self, time: Array, record: Any) -> FleetTrace:
        robot, world = self.world.robot, self.world
        by_robot = {
            name: np.swapaxes(np.asarray(values, dtype=np.float64), 0, 1)
            for name, values in record._asdict().items()
        }
        q = by_robot["q"]
        contacts, blocks = len(world.contacts), len(world.walls) + len(world.boxes)
        force = by_robot["force"][:, :, : contacts * (1 + blocks)]
        shape = (*force.shape[:2], 1 + blocks, contacts, 3)
        return FleetTrace(
            time,
            q[..., : robot.nq],
            by_robot["v"][..., : robot.nv],
            by_robot["a"][..., : robot.nv],
            by_robot["effort"][..., 6 : robot.nv],
            self.contact_positions(q[..., : robot.nq]),
            force.reshape(shape).sum(axis=2),
            q[..., robot.nq :].reshape(*q.shape[:2], len(world.boxes), 7),
        )

    def contact_positions(self, q: Array) -> Array:
        """Return where contact points are, shape (…, nc, 3), in configurations."""
        robot = self.world.robot
        rows = q.reshape(-1, robot.nq)
        bodies, local = self._contact_bodies, self._contact_places
        places = np.zeros((len(rows), len(bodies), 3))
        if len(rows) > FEW:
            poses: dict[str, Array] = {}
            for number, point in enumerate(self.world.contacts):
                if point.link not in poses:
                    found = frame_pose(robot, rows, point.link)
                    poses[point.link] = np.asarray(found, dtype=np.float64)
                pose = poses[point.link]
                turned = pose[:, :3, :3] @ point.position_in_link
                places[:, number] = turned + pose[:, :3, 3]
        else:  # a launch costs more than Pinocchio
            for row, into in zip(rows, places, strict=True):
                pin.forwardKinematics(robot.model, robot.data, row)
                for body in set(bodies.tolist()):
                    placed = robot.data.oMi[body]
                    on_it = bodies == body
                    into[on_it] = local[on_it] @ placed.rotation.T + placed.translation
        return places.reshape(*q.shape[:-1], len(bodies), 3)

    def _complain(self, failure: Any) -> None:
        robot = self.world.robot
        time = self.dt * (self._steps + failure.step)
        body = failure.body
        if 0 < body < robot.model.njoints:
            links = [
                frame.name
                for frame in robot.model.frames
                if frame.parentJoint == body and frame.type == pin.FrameType.BODY
            ]
            where = (
                f"link '{links[0]}'" if links else f"joint '{robot.model.names[body]}'"
            )
        else:
            where = "a box"
        who = f"robot {failure.robot}: " if self.count > 1 else ""
        raise DivergedError(
            f"{who}the simulation diverged at {time:.4g} s: {where} accelerates beyond "
            f"all bounds; a smaller time step (now {self.dt:g} s), softer contact "
            f"({self.world.material.stiffness:.3g} N/m) or a command that is possible "
            "may help"
        )


def check_every(every: int, steps: int) -> None:
    """Refuse numbers of steps between states that do not divide all steps.

    Raises:
        ShapeError: If it does not.
    """
    if every < 1 or steps < 1 or steps % every:
        raise ShapeError(f"every {every} of {steps} steps: it must divide their number")


def start_pose(centre: Array, yaw: float) -> Array:
    """Return position and quaternion xyzw of an upright block, shape (7,)."""
    return np.array([*centre, 0.0, 0.0, np.sin(0.5 * yaw), np.cos(0.5 * yaw)])
