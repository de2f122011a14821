"""Identify a G1 in a rehearsal and keep what is known of it, for ``push_map_g1.toml``.

``python identified_g1.py g1_29dof_rev_1_0.urdf`` lets a robot that is not as modelled
stand in ten poses in the simulator, measures it with noise, and writes the folder
``g1_identified``, as ``equipoise identify … --out g1_identified --export json`` does
with the log of a real robot.
"""

import sys
from pathlib import Path

import equipoise as eq
from equipoise.identification.identify import identify_poses
from equipoise.identification.posing.candidates import pose_candidates
from equipoise.identification.prior import default_prior
from equipoise.identification.randomisation_files import EXPORT_FILES
from equipoise.identification.rehearsal import (
    draw_truth,
    noise_of,
    stand_in_poses,
    usual_encoders,
    usual_feet,
)
from equipoise.log.folder import SUMMARY_NAME, summary_as_json

FOLDER = Path("g1_identified")

robot = eq.load(sys.argv[1])
prior = default_prior(robot)
feet, encoders = usual_feet(), usual_encoders()
truth = draw_truth(robot, prior, seed=1)
poses = pose_candidates(robot, 10, prior=prior)
stood = stand_in_poses(robot, truth, poses, feet, encoders, seed=2)
found = identify_poses(stood.poses, noise=noise_of(feet, encoders), prior=prior)

FOLDER.mkdir(exist_ok=True)
found.robot.write_urdf(FOLDER / "identified.urdf")
text = found.export("json", robot_file=FOLDER / "identified.urdf")
(FOLDER / EXPORT_FILES["json"]).write_text(text, encoding="utf-8")
summary = summary_as_json({"verb": "identify", **found.summary()})
(FOLDER / SUMMARY_NAME).write_text(summary, encoding="utf-8")
print(f"{found.mass:.2f} ± {found.mass_95:.2f} kg; {FOLDER} written")
