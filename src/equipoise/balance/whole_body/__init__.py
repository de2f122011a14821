"""Torques of a whole body: tasks, contacts and limits in one quadratic programme."""
