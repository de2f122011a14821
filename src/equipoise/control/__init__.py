"""What reference, estimator, controller and plant tell each other.

``signals`` has the data that goes round the control loop, ``blocks`` the protocols of
those who make it. A gait, a balancing controller, the simulator, a log and the driver
of a real robot share these types, so that a controller knows nothing of the simulator.
"""
