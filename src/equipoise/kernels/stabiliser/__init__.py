"""One tick of the stabiliser, compiled: soles, ZMP, joints, torques."""
