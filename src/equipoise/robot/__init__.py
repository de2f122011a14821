"""What the robot is: links, joints, inertias, limbs, soles, actuators."""
