"""Runs as MCAP files of ROS 2 messages."""
