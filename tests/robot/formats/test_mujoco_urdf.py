"""MuJoCo's own URDF reader as an oracle for ours."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from equipoise.robot.formats.mujoco_state import to_mujoco
from equipoise.robot.formats.urdf import read_urdf
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.pinocchio_model import build_model

# MuJoCo welds a root link to the world and forgets its mass, unless it floats.
WORLD = """
<mujoco><compiler fusestatic="{fuse}" balanceinertia="false" boundmass="0"
  boundinertia="0" discardvisual="true"/></mujoco>
<link name="world"/>
<joint name="float" type="floating"><parent link="world"/><child link="{root}"/></joint>
"""
SHAPE = re.compile(r"<(visual|collision)\b.*?</\1>", re.DOTALL)


@pytest.mark.parametrize("fuse", ["false", "true"])
def test_com_of_g1_is_that_of_mujocos_urdf_reader(g1_urdf: Path, fuse: str) -> None:
    """Mass and centre of mass agree to 1e-9 m, fixed links merged or not."""
    description = read_urdf(parse_xml(read_bytes(g1_urdf), g1_urdf), g1_urdf)
    ours = build_model(description)
    text = SHAPE.sub("", g1_urdf.read_text(encoding="utf-8"))
    text = re.sub(r"<mujoco>.*?</mujoco>", "", text, flags=re.DOTALL)
    world = WORLD.format(fuse=fuse, root=description.root)
    text = text.replace("</robot>", f"{world}</robot>")
    theirs = mujoco.MjModel.from_xml_string(text)
    assert theirs.nv == ours.nv
    assert (theirs.nbody == len(description.links) + 1) == (fuse == "false")
    data, their_data = ours.createData(), mujoco.MjData(theirs)
    assert pin.computeTotalMass(ours) == pytest.approx(theirs.body_mass.sum(), 1e-12)
    pin.seed(5)
    for _ in range(10):
        q = pin.randomConfiguration(ours, -np.ones(ours.nq), np.ones(ours.nq))
        v = pin.utils.rand(ours.nv)
        their_data.qpos[:], their_data.qvel[:] = to_mujoco(ours, theirs, q, v)
        mujoco.mj_forward(theirs, their_data)
        mujoco.mj_subtreeVel(theirs, their_data)
        pin.centerOfMass(ours, data, q, v)
        root = theirs.body(description.root).id
        np.testing.assert_allclose(data.com[0], their_data.subtree_com[root], atol=1e-9)
        np.testing.assert_allclose(
            data.vcom[0], their_data.subtree_linvel[root], atol=1e-9
        )
