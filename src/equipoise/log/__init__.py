"""Run folders and MCAP, in and out: a simulated run and a real one are the same thing.

``run`` is what was recorded; ``folder`` writes it whole or not at all;
``mcap_writer`` and ``mcap_reader`` turn it into ROS 2 messages and back.
"""
