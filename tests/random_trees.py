"""Robots with joints of every kind, for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from hypothesis import strategies as st

from equipoise.arrays import Array, frozen_array
from equipoise.robot.description import JOINT_KINDS, Description, Joint, JointKind, Link
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot
from equipoise.robot.parts import Limb
from equipoise.robot.pinocchio_model import build_model
from equipoise.rotations import transform


def random_trees(max_joints: int = 9) -> st.SearchStrategy[Robot]:
    """Draw robots of 1 to ``max_joints`` joints, of all kinds, with two limbs."""
    kinds = st.lists(st.sampled_from(JOINT_KINDS), min_size=1, max_size=max_joints)
    return st.builds(random_tree, kinds, st.integers(0, 2**32 - 1))


def random_tree(kinds: Sequence[JointKind], seed: int) -> Robot:
    """Return a robot with one joint of each kind given, placed at random.

    Every fourth link or so has no mass. Limbs "a" and "b" share the bodies below the
    base at random.
    """
    rng = np.random.default_rng(seed)
    links = [Link("base", random_inertial(rng))]
    joints = []
    for k, kind in enumerate(kinds):
        massless = rng.random() < 0.25
        links.append(Link(f"link_{k}", None if massless else random_inertial(rng)))
        joints.append(
            Joint(
                name=f"joint_{k}",
                kind=kind,
                parent=links[rng.integers(len(links) - 1)].name,
                child=f"link_{k}",
                transform_joint_to_parent=transform(
                    pin.exp3(rng.normal(size=3)), rng.normal(size=3)
                ),
                axis=random_axis(rng),
                pitch=rng.normal() if kind == "helical" else 0.0,
            )
        )
    description = Description("random", tuple(links), tuple(joints), "base")
    moving = [j.name for j in description.joints_depth_first() if j.kind != "fixed"]
    in_a = rng.random(len(moving)) < 0.5
    limbs = {
        name: Limb(name, "other", None, (), "base", tuple(members), 0.0, "test")
        for name, members in (
            ("a", [joint for joint, a in zip(moving, in_a, strict=True) if a]),
            ("b", [joint for joint, a in zip(moving, in_a, strict=True) if not a]),
        )
    }
    model = build_model(description)
    return Robot("random", model, description, limbs, {}, (), {})


def random_axis(rng: np.random.Generator) -> Array:
    """Return a unit axis, in half of the cases along x, y or z."""
    if rng.random() < 0.5:
        return frozen_array(rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)])
    axis = rng.normal(size=3)
    return frozen_array(axis / np.linalg.norm(axis))


def random_inertial(rng: np.random.Generator) -> Inertial:
    """Return the mass distribution of a possible body."""
    points = rng.normal(size=(4, 3))
    inertia = sum(np.dot(p, p) * np.eye(3) - np.outer(p, p) for p in points)
    return Inertial(
        rng.uniform(0.1, 5.0),
        frozen_array(rng.normal(size=3)),
        frozen_array(0.1 * np.asarray(inertia)),
    )


def random_states(robot: Robot, count: int, seed: int = 0) -> tuple[Array, Array]:
    """Return configurations (count, nq) and velocities (count, nv)."""
    rng = np.random.default_rng(seed)
    neutral = pin.neutral(robot.model)
    steps = rng.uniform(-3.0, 3.0, (count, robot.nv))
    q = np.array([pin.integrate(robot.model, neutral, step) for step in steps])
    return q, rng.uniform(-2.0, 2.0, (count, robot.nv))
