"""Feedback: what a robot makes of its sensors, and what it does about it."""
