"""Where is the centre of mass really? A rehearsal on a robot that is not as modelled.

A true robot is drawn whose links' CoMs are up to 30 mm and whose mass is some kilograms
off. It stands in the simulator in twenty chosen poses; feet measure with 0.5 N and
0.02 Nm, encoders have 14 bits. From that its masses are identified, and the CoM is
predicted in poses in which it never stood.
"""

import numpy as np

import equipoise as eq
from equipoise.identification.posing.candidates import pose_candidates
from equipoise.identification.prior import Prior, prior_belief
from equipoise.identification.rehearsal import (
    draw_truth,
    estimate_from_poses,
    noise_of,
    score,
    stand_in_poses,
    usual_encoders,
    usual_feet,
)
from equipoise.identification.statics import standing_frames

robot = eq.load("mahru-1")
prior = Prior(
    com_std=0.01,
    mass_std_fraction=0.17,
    lateral_force_std=0.0,
    vertical_force_std=0.0,
    torque_std=0.0,
)
feet, encoders = usual_feet(), usual_encoders()
noise = noise_of(feet, encoders)

candidates = pose_candidates(robot, 150, prior=prior)
new, candidates = candidates[:50], candidates[50:]
design = eq.choose_poses(robot, candidates, 20, noise=noise, prior=prior)
needed = design.random_count or len(candidates)
print(f"20 chosen poses determine the CoM as well as {needed} random ones")

truth = draw_truth(robot, prior, seed=1)
print(f"model {robot.mass:.2f} kg, true robot {truth.robot.mass:.2f} kg")
stood = stand_in_poses(robot, truth, design.q, feet, encoders, seed=2)
print(f"it stands still in {len(stood.rows)} of {len(design.q)} poses")

found = estimate_from_poses(stood.poses, noise, prior_belief(robot, prior))
result = score(standing_frames(robot, new), found, truth)
for name, errors in (("before", result.before), ("after", result.after)):
    error = np.sqrt(np.mean(np.sum(errors**2, axis=1)))
    flat = np.sqrt(np.mean(np.sum(errors[:, :2] ** 2, axis=1)))
    print(f"CoM {name}: off by {1e3 * error:.2f} mm, {1e3 * flat:.2f} horizontally")
fraction = result.covered["link com"].mean()
print(f"95 % intervals of the links' CoMs hold the truth in {100 * fraction:.0f} %")
