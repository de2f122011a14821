"""The true robot and its world at a point of a study.

Masses, contact, actuators and ground are changed as parameters say; planner and
controller go on with the model of the robot's file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.kinematics.terrain import Terrain
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot
from equipoise.simulation.contacts import Material
from equipoise.simulation.terrain_names import terrain_named
from equipoise.simulation.world import World, pushed_link, with_friction
from equipoise.study.parameters import AXES, massive_links

Settings = Mapping[str, Any]
LINKS, GAIT, GAINS = "links.", "gait.", "gains."


def of_group(settings: Settings, group: str) -> dict[str, Any]:
    """Return the settings whose names begin with a group's, by the rest of them."""
    return {
        name[len(group) :]: value
        for name, value in settings.items()
        if name.startswith(group)
    }


def true_inertials(
    robot: Robot,
    settings: Settings,
    drawn: Mapping[str, Inertial] | None = None,
    payload_link: str | None = None,
) -> dict[str, Inertial]:
    """Return the mass distribution of each link that differs from the model's.

    Args:
        robot: The model.
        settings: Values of parameters by name.
        drawn: Mass distributions that it has before, by link.
        payload_link: Link that carries the payload; the torso unless given.
    """
    found = dict(drawn or {})
    links = robot.description.link_by_name

    def change(link: str, factor: float, away: Array) -> None:
        old = found.get(link, links[link].inertial)
        assert old is not None  # only links with mass are parameters
        found[link] = Inertial(
            factor * old.mass, old.com_in_link + away, factor * old.inertia_in_link
        )

    zero = np.zeros(3)
    if settings.get("mass", 1.0) != 1.0:
        for link in massive_links(robot):
            change(link, settings["mass"], zero)
    for prefix, link in _varied_links(robot, settings):
        away = [settings.get(f"{prefix}.com.{axis}", 0.0) for axis in AXES]
        change(link, settings.get(f"{prefix}.mass", 1.0), np.array(away))
    payload = settings.get("payload.mass", 0.0)
    if payload > 0.0:
        link = pushed_link(robot, payload_link)
        old = found.get(link, links[link].inertial) or Inertial(
            0.0, zero, np.zeros((3, 3))
        )
        found[link] = replace(old, mass=old.mass + payload)
    return found


def _varied_links(robot: Robot, settings: Settings) -> list[tuple[str, str]]:
    """Return links with parameters of their own, and the beginning of their names."""
    found: dict[str, str] = {}
    for name in settings:
        if name.startswith("torso."):
            found["torso"] = pushed_link(robot)
        elif name.startswith(LINKS):
            for ending in ("mass", *(f"com.{axis}" for axis in AXES)):
                if name.endswith(f".{ending}"):
                    prefix = name[: -len(ending) - 1]
                    found[prefix] = prefix[len(LINKS) :]
    return list(found.items())


def true_world(
    world: World, settings: Settings, inertials: Mapping[str, Inertial]
) -> World:
    """Return the world at a point.

    Args:
        world: The world of the model.
        settings: Values of parameters by name.
        inertials: Mass distributions that differ from the model's.

    Raises:
        EquipoiseError: If something is impossible.
    """
    if inertials:
        world = replace(world, robot=world.robot.with_inertials(inertials))
    if "friction" in settings:
        world = with_friction(world, settings["friction"])
    if "contact.stiffness" in settings:
        factor = settings["contact.stiffness"]
        world = replace(world, material=_stiffer(world.material, factor))
    changed: dict[str, Any] = {}
    for name in ("stiffness", "damping"):
        if f"servo.{name}" in settings:
            factor = settings[f"servo.{name}"]
            changed[name] = factor * getattr(world.actuation, name)
    if "actuator.delay" in settings:
        changed["delay"] = settings["actuator.delay"]
    if changed:
        world = replace(world, actuation=world.actuation.with_parameters(**changed))
    return world


def _stiffer(material: Material, factor: float) -> Material:
    """Return a material with the same fraction of critical damping."""
    return replace(
        material,
        stiffness=factor * material.stiffness,
        damping=math.sqrt(factor) * material.damping,
    )


def true_terrain(robot: Robot, settings: Settings) -> Terrain | None:
    """Return ground that nothing knows of; None where it is as planned.

    Raises:
        EquipoiseError: If there is no such ground.
    """
    if "terrain.slope" in settings:
        return terrain_named(f"slope:{settings['terrain.slope']!r}", robot)
    height, seed = settings.get("terrain.roughness"), settings.get("terrain.seed")
    if height == 0.0 or (height is None and seed is None):
        return None
    words = "rough" if height is None else f"rough:{height!r}"
    return terrain_named(words, robot, seed or 0)


def refuse_servo_gains(world: World, settings: Settings) -> None:
    """Refuse factors on a stiffness that the joints do not have."""
    if "servo.stiffness" in settings and not world.actuation.stiffness.any():
        raise EquipoiseError(
            "servo.stiffness is for servos: joints of this robot are told torques"
        )
