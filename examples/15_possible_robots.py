"""Robots that a measurement leaves possible: does a posture stand on all of them?

A true robot that is not as modelled stands in the simulator in ten poses, and its links
are identified. What is left unknown is drawn as two hundred robots, correlated as the
posterior says, and all of them stand in one fleet. Links drawn one by one from their
95 % intervals, as simulators for learning do, spread far more.
"""

import numpy as np

import equipoise as eq
from equipoise.identification.identify import identify_poses
from equipoise.identification.posing.candidates import pose_candidates
from equipoise.identification.prior import default_prior
from equipoise.identification.randomisation import link_ranges
from equipoise.identification.rehearsal import (
    draw_truth,
    noise_of,
    stand_in_poses,
    usual_encoders,
    usual_feet,
)

COUNT = 200

robot = eq.load("mahru-1")
prior = default_prior(robot)
feet, encoders = usual_feet(), usual_encoders()
truth = draw_truth(robot, prior, seed=1)
poses = pose_candidates(robot, 10, prior=prior)
stood = stand_in_poses(robot, truth, poses, feet, encoders, seed=2)
found = identify_poses(stood.poses, noise=noise_of(feet, encoders), prior=prior)
print(
    f"model {robot.mass:.2f} kg, identified {found.mass:.2f} ± {found.mass_95:.2f} kg"
)


def spread(robots: eq.Variation) -> str:
    """Return the standard deviations of the robots' masses and standing CoMs."""
    mass = np.sum([np.asarray(own) for own in robots.mass.values()], axis=0)
    com = robots.centres_of_mass(robot, np.tile(robot.standing, (COUNT, 1)))
    places = ", ".join(f"{mm:.1f}" for mm in 1e3 * com.std(axis=0))
    return f"mass ± {mass.std():.2f} kg, CoM ± {places} mm"


robots = found.sample(COUNT, seed=3)
print("drawn from the posterior:", spread(robots))
rng, ranges = np.random.default_rng(4), link_ranges(found)
alone = eq.Variation(
    mass={own.name: rng.uniform(*own.mass_range, COUNT) for own in ranges},
    com={
        own.name: own.com + rng.uniform(*own.com_range.T, (COUNT, 3)) for own in ranges
    },
)
print("drawn link by link:      ", spread(alone))

world = eq.make_world(found.robot)
fleet = eq.Fleet(world, COUNT, variation=robots)
fleet.reset(robot.standing)
held = np.tile(eq.joint_positions(robot, robot.standing), (COUNT, 1))
still = eq.Command(held, 0.0 * held, 0.0 * held)
results = fleet.run(lambda state, command: still, 1.0)
print(f"{len(results.stopped)} of {COUNT} fall when they stand as the model does")
