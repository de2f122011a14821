"""What goes round the control loop when a three-link biped walks a gait.

The plant masks the swing foot, the controller is the gait's feedback linearisation, the
reference is the walk of the planar model; and states of one are those of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.control.signals import Command, State, Target
from equipoise.planar.equations import compiled
from equipoise.planar.gait import PlanarGait
from equipoise.planar.hybrid import Walk
from equipoise.planar.touchdown import FootTouchdown
from equipoise.planar.virtual_constraints import SwingTerms
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.simulation.engine import Engine
from equipoise.simulation.three_link_robot import left_out_inertia

# The walk begins on this foot.
FIRST: Side = "left"
OTHER: dict[Side, Side] = {"left": "right", "right": "left"}


class Touchdown(NamedTuple):
    """The end of a step.

    Attributes:
        time: [s].
        length: From the old stance foot to the new one [m].
    """

    time: float
    length: float


class SwingMask:
    """An engine whose swing foot touches nothing until it has passed the stance foot.

    A :class:`~equipoise.control.blocks.Plant`, which also knows the stance foot: legs
    exchange their roles when the swing foot, no longer masked, meets the ground.

    Attributes:
        name: That of the engine.
        world: The robot and what it walks on.
        robot: The robot.
        dt: Time step [s].
        notices: Those of the engine.
        stance: The foot that the biped stands on.
        touchdowns: The steps until now.
        masked_time: How long the swing foot was masked [s].
    """

    def __init__(self, engine: Engine, gait: PlanarGait) -> None:
        """Stand on the first foot.

        Args:
            engine: What moves the robot.
            gait: Whose touchdown says when the swing foot has passed the other.
        """
        self._engine, self._touchdown = engine, gait.touchdown
        self.name, self.world, self.notices = engine.name, engine.world, engine.notices
        self.robot, self.dt = engine.robot, engine.dt
        sides = np.array([point.side for point in engine.world.contacts])
        self._points = {side: sides == side for side in OTHER}
        self.stance: Side = FIRST
        self.touchdowns: list[Touchdown] = []
        self.masked_time = 0.0
        self._masked = True
        self._leg_length = gait.model.parameters.leg_length

    @property
    def state(self) -> State:
        """The state now."""
        return self._engine.state

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> State:
        """Put the robot somewhere at time zero, on its first foot."""
        self.stance, self.touchdowns = FIRST, []
        self.masked_time = 0.0
        state = self._engine.reset(q, v)
        self._begin_step()
        return state

    def step(self, command: Command, steps: int = 1) -> State:
        """Hold a command for some time steps, and return the state after them."""
        for _ in range(steps):
            state = self._engine.step(command)
            self.masked_time += self.dt * self._masked
            swing = self._points[OTHER[self.stance]]
            if self.touches(state, OTHER[self.stance]):
                at = state.contact_position[:, 0]
                length = at[swing].mean() - at[self._points[self.stance]].mean()
                self.touchdowns.append(Touchdown(state.time, float(length)))
                self.stance = OTHER[self.stance]
                self._begin_step()
            elif self._masked and self._has_passed(state):
                self._engine.mask_contacts(np.zeros_like(swing))
                self._masked = False
        return state

    def touches(self, state: State, side: Side) -> bool:
        """Return whether the ground pushes a foot."""
        return bool(state.contact_force[self._points[side], 2].sum() > 0.0)

    def points(self, side: Side) -> NDArray[np.bool_]:
        """Return which contact points are those of a foot, shape (nc,)."""
        return np.array(self._points[side])

    def said(self) -> tuple[str, ...]:
        """Return what of the planar model is kept here, a sentence each."""
        touchdown, leg = self._touchdown, self._leg_length
        when = (
            f"was {touchdown.shortest_step * leg:.3g} m ahead of the stance foot"
            if isinstance(touchdown, FootTouchdown)
            else f"had passed the stance foot, at θ₁ = {touchdown.stance_angle:.3g} rad"
        )
        return (
            f"the swing foot's contact was masked until the foot {when}: a leg without "
            "a knee scuffs",
            "the walk is planar: each foot is a bar across, so that the biped neither "
            "rolls nor yaws",
            "links are small spheres, not points: "
            f"{100.0 * left_out_inertia(self.robot):.2g} % more inertia about the hip "
            "than the controller knows",
        )

    def _begin_step(self) -> None:
        """Mask the swing foot."""
        self._engine.mask_contacts(self._points[OTHER[self.stance]])
        self._masked = True

    def _has_passed(self, state: State) -> bool:
        """Return whether the swing foot is past the other, and above the ground."""
        swing = self._points[OTHER[self.stance]]
        theta = planar_state(state, self.stance)[:3]
        if isinstance(self._touchdown, FootTouchdown):
            above = state.contact_position[swing, 2].min() > 0.0
            return bool(above and self._touchdown.armed(theta))
        return bool(self._touchdown.value(theta) >= 0.0)


class VirtualConstraintControl:
    """The feedback linearisation of a gait, as a controller of hip torques.

    A :class:`~equipoise.control.blocks.Controller` that is shown the true state. Its
    model stands on a pivot: while the ground does not push the stance foot, after a
    rebound say, there is no torque.
    """

    def __init__(self, gait: PlanarGait, plant: SwingMask) -> None:
        """Take the gait's controller.

        Args:
            gait: Its model, constraints and law.
            plant: Says which leg is the stance leg, as a switch in each foot would.
        """
        self._law, self._plant = gait.controller, plant
        self._terms = compiled("D bias", scalar=True)
        self._constants = gait.model.parameters.values()
        self._still = np.zeros(2)

    def reset(self, start: State) -> None:
        """Do nothing: it has no memory."""

    def control(self, known: State, target: Target) -> Command:
        """Return the torques of both hips."""
        stance = self._plant.stance
        if known.time > 0.0 and not self._plant.touches(known, stance):
            return Command(self._still, self._still, self._still)
        x = planar_state(known, stance).tolist()
        u = self._law(x, SwingTerms(*self._terms(*x, *self._constants)))
        # u leans the torso forwards, a joint's torque the leg
        torque = -np.array(u if stance == "left" else u[::-1])
        return Command(self._still, self._still, torque)


@dataclass(frozen=True, eq=False)
class ModelWalk:
    """The walk of the planar model, as a reference.

    A :class:`~equipoise.control.blocks.Reference` of joints and CoM; the controller
    does not look at it.

    Attributes:
        walk: The walk.
    """

    walk: Walk

    def __post_init__(self) -> None:
        walk = self.walk
        counts = [len(step.time) for step in walk.steps]
        theta = walk.state.copy()
        odd = np.repeat(np.arange(len(counts)) % 2 == 1, counts)
        # columns of left and right leg, the first step standing on the left
        theta[odd] = theta[odd][:, [1, 0, 2, 4, 3, 5]]
        rows = theta[:, [0, 1, 3, 4]] - theta[:, [2, 2, 5, 5]]
        com = walk.stance_foot + walk.model.com(walk.state[:, :3])
        # an impact is two rows of the same time; interpolation wants them apart
        time = np.maximum.accumulate(walk.time + 1e-12 * np.arange(len(rows)))
        object.__setattr__(self, "_time", time)
        object.__setattr__(self, "_rows", np.hstack([rows, com, odd[:, None]]))

    def reset(self) -> None:
        """Do nothing: it is the same walk."""

    def sample(self, time: float) -> Target:
        """Return joints, CoM and stance foot at a time [s]."""
        times, rows = self.__dict__["_time"], self.__dict__["_rows"]
        row = np.array([np.interp(time, times, column) for column in rows.T])
        com = np.array([row[4], 0.0, row[5]])
        support: Side = "left" if row[6] < 0.5 else "right"
        return Target(row[:2], row[2:4], np.zeros(2), com=com, support=support)


def planar_state(state: State, stance: Side) -> Array:
    """Return θ and θ̇ of a robot in the sagittal plane, shape (6,).

    Args:
        state: Of a robot made by
            :func:`~equipoise.simulation.three_link_robot.three_link_robot`.
        stance: Its stance leg.
    """
    q, v = state.q, state.v
    lean, rate = 2.0 * math.atan2(q[4], q[6]), v[4]
    left, right = (q[7], v[6]), (q[8], v[7])
    one, two = (left, right) if stance == "left" else (right, left)
    return np.array(
        [lean + one[0], lean + two[0], lean, rate + one[1], rate + two[1], rate]
    )


def robot_state(robot: Robot, x: ArrayLike, leg_length: float) -> tuple[Array, Array]:
    """Return q and v of a biped that stands on its first foot, at the origin.

    Args:
        robot: The robot.
        x: θ and θ̇ of the pinned model, shape (6,).
        leg_length: From foot to hip [m].
    """
    theta_1, theta_2, theta_3, rate_1, rate_2, rate_3 = np.asarray(x, dtype=np.float64)
    q, v = np.zeros(robot.nq), np.zeros(robot.nv)
    q[:3] = leg_length * np.array([math.sin(theta_1), 0.0, math.cos(theta_1)])
    q[4], q[6] = math.sin(0.5 * theta_3), math.cos(0.5 * theta_3)
    q[7:] = theta_1 - theta_3, theta_2 - theta_3
    along = leg_length * rate_1
    # of the hip, in axes of the base
    v[0] = along * math.cos(theta_1 - theta_3)
    v[2] = -along * math.sin(theta_1 - theta_3)
    v[4] = rate_3
    v[6:] = rate_1 - rate_3, rate_2 - rate_3
    return q, v
