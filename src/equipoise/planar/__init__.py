"""The three-link biped: from symbols to a stable walking gait.

``equations`` derives the model of [ThreeLink] with SymPy, and ``three_link`` evaluates
it; ``impact`` is the rigid impact with relabelling of the legs. On these stand
``virtual_constraints`` with their controllers, the ``zero_dynamics``, ``hybrid``
simulation and the ``poincare`` map with its basin. A ``gait`` has all of these, and
``gait_search`` finds one by optimisation; ``classic`` has those of [Grizzle2001].
"""
