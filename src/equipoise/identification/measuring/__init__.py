"""From logs to poses in which a robot stood still."""
