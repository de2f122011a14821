"""Run folders and MCAP, in and out; any robot's bag or CSV file.

``run`` is what was recorded, simulated or real; ``folder`` writes it whole or not at
all, its results as a summary in JSON; ``open_run`` opens any log, and lists what is in
it. ``mcap_format`` has the ROS 2 messages of a run's log, ``recordings`` those of other
robots, and CSV files.
"""
