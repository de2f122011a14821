"""Correct one link in a URDF; everything else stays as it was, byte for byte."""

import dataclasses
import tempfile
from pathlib import Path

import equipoise as eq
from equipoise.robot.formats.write import write_urdf

folder = Path(tempfile.mkdtemp())
mine = folder / "mine.urdf"
eq.export_robot(eq.load("humanoid"), mine)  # stands for your own file

robot = eq.load(mine)
name = robot.description.root
link = robot.description.link_by_name[name]
heavier = dataclasses.replace(link.inertial, mass=link.inertial.mass + 5.0)
write_urdf(robot, folder / "heavier.urdf", inertials={name: heavier})

before = mine.read_text().splitlines()
after = (folder / "heavier.urdf").read_text().splitlines()
changed = [(a.strip(), b.strip()) for a, b in zip(before, after, strict=True) if a != b]
print(f"{robot.mass:.1f} kg, then {eq.load(folder / 'heavier.urdf').mass:.1f} kg")
print(f"{len(changed)} of {len(before)} lines changed:")
for old, new in changed:
    print(f"  {old}\n  {new}")
