"""Robots in random states, on their feet or not, for tests of whole-body control."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pinocchio as pin

import equipoise as eq
from equipoise.arrays import Array
from equipoise.balance.whole_body.dynamics import Dynamics, sole_frame
from equipoise.balance.whole_body.inverse_dynamics import Contact, Limits
from equipoise.balance.whole_body.tasks import (
    ComTask,
    FrameTask,
    PostureTask,
    Task,
)
from equipoise.kinematics.leg_freedom import SIDES

ROBOTS = ("humanoid", "mahru-1")


@functools.cache
def loaded(name: str) -> eq.Robot:
    """Return a robot of the catalogue."""
    return eq.load(name)


def random_state(
    robot: eq.Robot, seed: int, spread: float = 0.1
) -> tuple[Array, Array]:
    """Return a configuration near standing, and a velocity."""
    chance = np.random.default_rng(seed)
    step = spread * chance.normal(size=robot.nv)
    q = pin.integrate(robot.model, robot.standing, step)
    return np.asarray(q), chance.normal(scale=0.3, size=robot.nv)


def dynamics_of(name: str, seed: int, spread: float = 0.1) -> Dynamics:
    """Return the dynamics of a robot with rotor inertias, in a random state."""
    robot = loaded(name)
    rotors = np.random.default_rng(seed).uniform(0.0, 0.05, robot.nv - 6)
    return Dynamics(robot, rotors).update(*random_state(robot, seed, spread))


def foot_contacts(dynamics: Dynamics, damping: float = 20.0) -> list[Contact]:
    """Return both soles as contacts."""
    contacts = []
    for side in SIDES:
        corners = dynamics.robot.soles[side].polygon_in_sole
        points = np.column_stack([corners, np.zeros(len(corners))])
        contacts.append(Contact(sole_frame(side), points, 0.6, damping=damping))
    return contacts


def balance_tasks(dynamics: Dynamics, seed: int) -> list[Task]:
    """Return tasks of CoM, torso and posture that ask for something."""
    chance = np.random.default_rng(seed)
    robot = dynamics.robot
    com = ComTask(10.0)
    com.acceleration = chance.normal(scale=0.3, size=3)
    torso = robot.limbs.get("torso")
    link = robot.description.root if torso is None else torso.end_link
    upright = FrameTask(link, 1.0, 100.0, directions=(3, 4, 5))
    upright.pose = np.array(dynamics.pose(dynamics.frame(link)).homogeneous)
    posture = PostureTask(0.01, 50.0)
    posture.position = robot.standing[7:]
    return [com, upright, posture]


def wide_limits(dynamics: Dynamics, torque: float = 2000.0) -> Limits:
    """Return limits of torques that hardly matter."""
    return Limits(np.full(dynamics.model.nv - 6, torque))


def light(contact: Contact, most: float) -> Contact:
    """Return a contact that may carry little."""
    return replace(contact, most_force=most)
