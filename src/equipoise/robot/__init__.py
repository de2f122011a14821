"""What the robot is: links, joints, inertias, limbs, soles, actuators.

``formats`` reads and writes files, ``anatomy`` finds limbs and soles, ``catalogue``
holds the robots that are included; ``load`` puts them together.
"""
