"""A controller that is shown the true state, for comparison with one that senses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from equipoise.balance.estimator import LIFT, TOUCH, Estimate
from equipoise.balance.skeleton import sole_placements
from equipoise.control.blocks import Controller
from equipoise.control.signals import Command, State, Target
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.model import Robot
from equipoise.simulation.world import World


class TrueState(Controller[State]):
    """Hands a controller what an estimator without any error would tell.

    That is base, CoM, velocities and ground forces as they are; joints are solved with
    the model that is known, whose CoM may be another than the true one.

    Args:
        world: The robot as it is.
        model: The robot as the controller knows it.
        controller: Makes commands of estimates.
    """

    def __init__(self, world: World, model: Robot, controller: Controller[Any]) -> None:
        from equipoise.kernels import estimation

        self._rows, self._controller = estimation, controller
        self._true, self._model = world.robot, model
        self._true_data = world.robot.model.createData()
        self._data = model.model.createData()
        self._soles = {
            side: (body, pin.SE3(pose))
            for side, (body, pose) in sole_placements(model).items()
        }
        sides = np.array([str(contact.side) for contact in world.contacts])
        self._own = [sides == side for side in SIDES]
        self._weight = world.robot.mass * world.gravity
        self._contact = np.ones(2)

    def reset(self, start: State) -> None:
        """Begin in the state at the start."""
        self._contact = np.ones(2)
        self._controller.reset(start)

    def control(self, known: State, target: Target) -> Command:
        """Return the controller's command."""
        return self._controller.control(self._estimate(known), target)

    def _estimate(self, state: State) -> Estimate:
        rows, q, v = self._rows, state.q, state.v
        told = np.zeros((rows.TOLD, 3))
        rotations = np.zeros((rows.TOLD_ROTATIONS, 3, 3))
        rotation = np.array(pin.Quaternion(q[3:7]).toRotationMatrix())
        true = np.array(pin.centerOfMass(self._true.model, self._true_data, q, v))
        moving = np.array(self._true_data.vcom[0])
        pin.forwardKinematics(self._model.model, self._data, q)
        centre = np.array(pin.centerOfMass(self._model.model, self._data, q, False))
        told[rows.TOLD_POSITION], told[rows.TOLD_VELOCITY] = q[:3], rotation @ v[:3]
        told[rows.TOLD_OMEGA] = v[3:6]
        told[rows.TOLD_COM], told[rows.TOLD_COM_VELOCITY] = centre, moving
        told[rows.TOLD_OFFSET] = (*(true - centre)[:2], 1.0)
        rotations[rows.TOLD_BASE] = rotation
        loads, pressure = np.zeros(2), np.zeros(3)
        for foot, side in enumerate(SIDES):
            body, pose = self._soles[side]
            sole = self._data.oMi[body] * pose
            forces = state.contact_force[self._own[foot]]
            loads[foot] = load = forces[:, 2].sum()
            point = np.array(sole.translation)
            if load > 0.0:
                point = forces[:, 2] @ state.contact_position[self._own[foot]] / load
                pressure += load * point
            told[rows.TOLD_FORCE + foot] = forces.sum(axis=0)
            told[rows.TOLD_PRESSURE + foot] = point
            told[rows.TOLD_SOLE + foot] = sole.translation
            rotations[rows.TOLD_SOLES + foot] = sole.rotation
            least = LIFT if self._contact[foot] else TOUCH
            self._contact[foot] = float(load > least * self._weight)
        total = float(loads.sum())
        zmp = pressure / total if total > 0.0 else np.array([*centre[:2], 0.0])
        told[rows.TOLD_CONTACT], told[rows.TOLD_ZMP] = (*self._contact, total), zmp
        return Estimate(
            state.time,
            q,
            v,
            com=centre,
            com_velocity=moving,
            com_offset=(true - centre)[:2],
            zmp=zmp,
            told=told,
            told_rotations=rotations,
        )
