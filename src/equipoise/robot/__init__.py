"""What the robot is: links, joints, inertias, limbs, soles, actuators.

``formats`` reads and writes files, ``anatomy`` finds limbs and soles, ``catalogue``
holds the robots that come along; ``load`` puts them together.
"""
