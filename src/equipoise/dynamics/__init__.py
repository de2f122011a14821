"""The equations of motion of a robot, to read and to inspect.

Two derivations of [Sariyildiz2015], ``newton_euler`` by unit accelerations and forces
and ``analytic`` by link Jacobians, give the same labelled ``EquationsOfMotion``. They
are written to be read, for one configuration at a time; they are not fast.
"""
