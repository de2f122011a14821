"""The three-link biped: from symbols to a stable walking gait.

``equations`` derives the model of [ThreeLink] with SymPy, and ``three_link`` evaluates
it; ``impact`` is the rigid impact with relabelling of the legs. On these stand
``virtual_constraints`` with their controllers, the ``zero_dynamics``, ``hybrid``
simulation, the ``gait`` found by optimisation, and its ``poincare`` map. ``classic``
has the walker of [Grizzle2001].
"""
