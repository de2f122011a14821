"""From logs to link centres of mass, with honest error bars."""
