"""Ranges for domain randomisation: the posterior's, possible, and readable."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from identification.true_robots import (
    NOISE,
    PRIOR,
    measure,
    random_poses,
    random_truth,
)

import equipoise as eq
from equipoise.errors import NameNotFoundError
from equipoise.identification.identified import Identified
from equipoise.identification.identify import identify_poses
from equipoise.identification.randomisation import (
    fixed_groups,
    link_ranges,
    merged_ranges,
)
from equipoise.robot.inertias import Inertial

WIDTH = 1.959964


@pytest.fixture(scope="module")
def found(g1_urdf: Path) -> Identified:
    """G1, some of whose links are fixed to others, from ten poses."""
    robot = eq.load(g1_urdf)
    rng = np.random.default_rng(41)
    truth = random_truth(robot, rng)
    poses = measure(truth, random_poses(robot, 10, rng), rng)
    return identify_poses(poses, noise=NOISE, prior=PRIOR)


def stubs(names: dict[str, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Put modules in place whose functions are their own names."""
    for module, members in names.items():
        parts = module.split(".")
        for depth in range(1, len(parts) + 1):
            name = ".".join(parts[:depth])
            if name not in sys.modules:
                monkeypatch.setitem(sys.modules, name, ModuleType(name))
            if depth > 1:
                above = sys.modules[".".join(parts[: depth - 1])]
                monkeypatch.setattr(above, parts[depth - 1], sys.modules[name], False)
        for member in members:
            made: Any = member
            if member.endswith("Cfg"):
                made = _cfg
            monkeypatch.setattr(sys.modules[module], member, made, raising=False)


def _cfg(*args: Any, **given: Any) -> SimpleNamespace:
    return SimpleNamespace(args=args, **given)


def events_of(text: str) -> tuple[dict[str, Any], Callable[..., dict[str, Any]]]:
    """Return tables and function of an exported module."""
    ast.parse(text)
    space: dict[str, Any] = {}
    exec(compile(text, "exported", "exec"), space)
    return space, space["inertial_events"]


def test_ranges_are_the_posteriors(found: Identified) -> None:
    """±1.96 standard deviations; less only where mass or shape end."""
    whole = 0
    for link, own in zip(found.links, link_ranges(found), strict=True):
        assert own.name == link.link
        assert own.mass_range[1] - link.mass == pytest.approx(link.mass_95)
        assert own.mass_range[0] > 0.0999 * link.mass_before
        assert np.all(np.abs(own.com_range) <= link.com_95[:, None] + 1e-12)
        assert np.all(own.com_range[:, 0] <= 0.0)
        assert np.all(own.com_range[:, 1] >= 0.0)
        whole += int(np.sum(np.isclose(own.com_range[:, 1], link.com_95)))
    assert whole > 1.5 * len(found.links)


def test_merged_bodies_are_pinocchios(found: Identified) -> None:
    """Mass and CoM of links that are fixed together are those of Pinocchio's bodies."""
    robot = found.robot
    joints = {joint.child: joint.name for joint in robot.description.joints}
    bodies = merged_ranges(found)
    assert any(len(body.links) > 1 for body in bodies)
    assert {name for body in bodies for name in body.links} == {
        link.link for link in found.links
    }
    for body in bodies:
        at = 1
        if body.name != robot.description.root:
            at = int(robot.model.getJointId(joints[body.name]))
        inertia = robot.model.inertias[at]
        assert body.mass == pytest.approx(inertia.mass, rel=1e-9)
        np.testing.assert_allclose(body.com, inertia.lever, atol=1e-9)


def test_merged_ranges_are_those_of_samples(found: Identified) -> None:
    """Masses and CoMs of bodies made of normal draws spread as their ranges say."""
    size = 4 * len(found.links)
    drawn = np.random.default_rng(1).multivariate_normal(
        found.estimate.mean[:size], found.estimate.covariance[:size, :size], 4000
    )
    index = {link.link: at for at, link in enumerate(found.links)}
    _, places = fixed_groups(found.robot)
    for body in merged_ranges(found):
        if len(body.links) < 2:
            continue
        mass, moment = np.zeros(4000), np.zeros((4000, 3))
        for name in body.links:
            own = drawn[:, 4 * index[name] : 4 * index[name] + 4]
            mass += own[:, 0]
            moment += own[:, :1] * places[name][:3, 3]
            moment += own[:, 1:] @ places[name][:3, :3].T
        half = body.mass_range[1] - body.mass
        assert WIDTH * mass.std() == pytest.approx(half, rel=0.06)
        spread = WIDTH * (moment / mass[:, None]).std(axis=0)
        np.testing.assert_allclose(spread, body.com_range[:, 1], rtol=0.08)


def test_pseudo_inertias_stay_possible(found: Identified) -> None:
    """At the ends of α and t mass and CoM are at the ends of their ranges."""
    links = found.robot.description.link_by_name
    for own in link_ranges(found):
        inertial = links[own.name].inertial
        assert inertial is not None
        com, inertia = inertial.com_in_link, inertial.inertia_in_link
        second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
        pseudo = np.zeros((4, 4))
        pseudo[:3, :3] = second + own.mass * np.outer(com, com)
        pseudo[:3, 3] = pseudo[3, :3] = own.mass * com
        pseudo[3, 3] = own.mass
        for side in (0, 1):
            shift = np.eye(4)
            shift[:3, 3] = own.com_range[:, side]
            shift *= np.exp(own.alpha_range[side])
            new = shift @ pseudo @ shift.T
            assert new[3, 3] == pytest.approx(own.mass_range[side])
            np.testing.assert_allclose(
                new[:3, 3] / new[3, 3] - com, own.com_range[:, side], atol=1e-12
            )
            assert np.linalg.eigvalsh(new)[0] > 0.0
        assert own.definite


def test_mjlab_gets_every_link(
    found: Identified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module compiles, names each link of the written robot, and has its ranges."""
    stubs(
        {
            "mjlab.envs.mdp.dr": ("pseudo_inertia", "body_mass", "body_com_offset"),
            "mjlab.managers.event_manager": ("EventTermCfg",),
            "mjlab.managers.scene_entity_config": ("SceneEntityCfg",),
        },
        monkeypatch,
    )
    file = tmp_path / "identified.urdf"
    found.robot.write_urdf(file)
    text = found.export("mjlab", robot_file=file)
    assert hashlib.sha256(file.read_bytes()).hexdigest() in text.replace("\n# ", "")
    assert "correlated" in text
    tables, events = events_of(text)
    written = eq.load(file).description.links
    massive = [own.name for own in written if own.inertial and own.inertial.mass > 0.0]
    assert list(tables["LINKS"]) == massive
    terms = events("robot")
    assert len(terms) == len(massive)
    for term, own in zip(terms.values(), link_ranges(found), strict=True):
        assert (term.func, term.mode) == ("pseudo_inertia", "startup")
        assert term.params["asset_cfg"].body_names == (own.name,)
        ranges = [term.params[f"t{axis}_range"] for axis in (1, 2, 3)]
        np.testing.assert_allclose(ranges, own.com_range, rtol=1e-5)
        np.testing.assert_allclose(
            term.params["alpha_range"], own.alpha_range, rtol=1e-5
        )
    merged = [body.name for body in merged_ranges(found)]
    assert sorted(tables["BODIES"]) == sorted(merged)
    assert len(events(merged=True)) == len(merged)


def test_mjlab_without_a_definite_inertia(
    mahru: eq.Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that is a point has terms for mass and offset instead."""
    stubs(
        {
            "mjlab.envs.mdp.dr": ("pseudo_inertia", "body_mass", "body_com_offset"),
            "mjlab.managers.event_manager": ("EventTermCfg",),
            "mjlab.managers.scene_entity_config": ("SceneEntityCfg",),
        },
        monkeypatch,
    )
    link = next(iter(mahru.description.links))
    assert link.inertial is not None
    point = Inertial(link.inertial.mass, link.inertial.com_in_link, np.zeros((3, 3)))
    robot = mahru.with_inertials({link.name: point})
    rng = np.random.default_rng(42)
    poses = measure(random_truth(robot, rng), random_poses(robot, 4, rng), rng)
    found = identify_poses(poses, noise=NOISE, prior=PRIOR)
    tables, events = events_of(found.export("mjlab"))
    assert tables["SINGULAR"] == [link.name]
    own = link_ranges(found)[0]
    mass, com = list(events().values())[:2]
    assert (mass.func, com.func) == ("body_mass", "body_com_offset")
    np.testing.assert_allclose(mass.params["ranges"], own.mass_scale_range, rtol=1e-5)
    np.testing.assert_allclose(com.params["ranges"][2], own.com_range[2], rtol=1e-5)


def test_isaaclab_gets_every_body(
    found: Identified, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two terms a body: mass scaled, and com_range; links one by one if not merged."""
    functions = ("randomize_rigid_body_mass", "randomize_rigid_body_com")
    stubs(
        {
            "isaaclab.envs.mdp": functions,
            "isaaclab.managers": ("EventTermCfg", "SceneEntityCfg"),
        },
        monkeypatch,
    )
    _, events = events_of(found.export("isaaclab"))
    terms = list(events(merged=False).values())
    for mass, com, own in zip(terms[::2], terms[1::2], link_ranges(found), strict=True):
        assert (mass.func, com.func) == functions
        assert mass.params["asset_cfg"].body_names == [own.name]
        assert mass.params["operation"] == "scale"
        np.testing.assert_allclose(
            mass.params["mass_distribution_params"], own.mass_scale_range, rtol=1e-5
        )
        given = [com.params["com_range"][axis] for axis in "xyz"]
        np.testing.assert_allclose(given, own.com_range, rtol=1e-5)
    assert len(events()) == 2 * len(merged_ranges(found))


def test_json_has_the_covariance(found: Identified) -> None:
    """Mean, covariance and ranges come back as numbers."""
    plain = json.loads(found.export("json"))
    size = 4 * len(found.links)
    assert len(plain["parameters"]) == size
    np.testing.assert_array_equal(plain["mean"], found.estimate.mean[:size])
    np.testing.assert_array_equal(
        plain["covariance"], found.estimate.covariance[:size, :size]
    )
    assert plain["original_sha256"]
    link = found.links[0]
    given = plain["links"][link.link]
    assert given["mass_range_95_kg"][1] == pytest.approx(link.mass + link.mass_95)
    assert given["com_m"] == pytest.approx(link.com.tolist())


def test_an_unknown_kind_is_named(found: Identified) -> None:
    """With those that there are."""
    with pytest.raises(NameNotFoundError, match="mjlab"):
        found.export("gazebo")
