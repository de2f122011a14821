"""``equipoise identify --export``: files beside the corrected robot."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path

import numpy as np
import pytest
from cli.test_identify import write_table
from identification.true_robots import measure, random_poses, random_truth
from said import Say

import equipoise as eq


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve poses of a Mahru I."""
    rng = np.random.default_rng(51)
    truth = random_truth(eq.load("mahru-1"), rng, offsets=False)
    poses = measure(truth, random_poses(truth.model, 12, rng), rng)
    return write_table(tmp_path_factory.mktemp("table") / "poses.csv", poses)


def test_all_kinds_at_once(say: Say, table: Path, tmp_path: Path) -> None:
    """All files are written, compile and name the robot's links."""
    out = tmp_path / "found"
    words = ("identify", "mahru-1", table, "--table", "--out", out, "--export")
    kinds = ("mjlab", "isaaclab", "json", "mjcf")
    said = say(*words, *kinds)
    assert said.status in (0, 1), said.err
    assert sorted(os.listdir(out)) == [
        "identified.urdf",
        "identified.xml",
        "identified_isaaclab.py",
        "identified_mjlab.py",
        "identified_posterior.json",
        "report.html",
        "rows.csv",
        "summary.json",
    ]
    summary = json.loads((out / "summary.json").read_text())
    posterior = json.loads((out / "identified_posterior.json").read_text())
    assert sorted(posterior["links"]) == sorted(summary["links"])
    for name in ("identified_isaaclab.py", "identified_mjlab.py"):
        ast.parse((out / name).read_text())
    urdf, mjcf = (eq.load(out / f"identified.{end}") for end in ("urdf", "xml"))
    assert mjcf.mass == pytest.approx(urdf.mass, rel=1e-9)
    for name in posterior["links"]:
        one, other = (
            robot.description.link_by_name[name].inertial for robot in (urdf, mjcf)
        )
        np.testing.assert_allclose(one.com_in_link, other.com_in_link, atol=1e-9)
    assert say(*words, *kinds).status == 2


def test_without_a_folder(say: Say, table: Path) -> None:
    """There is nowhere to write to: said before anything is computed."""
    said = say("identify", "mahru-1", table, "--table", "--export", "json")
    assert said.status == 2
    assert "--out DIR is needed" in said.err
    assert len(said.err.splitlines()) == 1


def test_a_patched_mjcf(say: Say, table: Path, tmp_path: Path) -> None:
    """Of an MJCF file everything but inertial entries stays."""
    path = tmp_path / "mahru.xml"
    eq.export_robot(eq.load("mahru-1"), path)
    # a comment and an odd space, as people write them
    text = path.read_text().replace("<worldbody>", "<!-- mine -->\n  <worldbody >", 1)
    path.write_text(text)
    out = tmp_path / "found"
    words = ("identify", path, table, "--table", "--out", out)
    refused = say(*words, "--export", "mjcf")
    assert refused.status == 2
    assert "the robot's file is MJCF" in refused.err
    assert say(*words).status in (0, 1)
    old = path.read_text().splitlines()
    new = (out / "identified.xml").read_text().splitlines()
    assert len(new) == len(old)
    changed = [b for a, b in zip(new, old, strict=True) if a != b]
    assert changed
    assert all(line.strip().startswith("<inertial") for line in changed)
