from __future__ import annotations

import pytest

from benchmarks.physics import CHECKS, STEPS, Row

# Largest relative error at 1 ms, and the least order at which it shrinks: 2 in flight
# (nearly, where the coarsest step is too coarse), 1 where dampers or friction act.
LIMITS = {
    ("torque-free block, 27 rad/s", "energy"): (1e-3, 1.9),
    ("torque-free block, 27 rad/s", "angular momentum"): (1e-3, 1.9),
    ("pendulum, 2 rad", "period"): (1e-6, 1.9),
    ("pendulum, 2 rad", "energy"): (1e-5, 1.9),
    ("block on an incline", "creep in 1 s [m]"): (1e-12, None),
    ("block on an incline", "acceleration"): (1e-4, 0.9),
    ("impact on spring and damper", "peak force"): (0.05, 0.8),
    ("impact on spring and damper", "rebound"): (0.05, 0.8),
    ("rocking on one sole", "frequency"): (1e-3, 0.9),
    ("rocking on one sole", "damping ratio"): (1e-3, 0.9),
}


@pytest.mark.parametrize("case", CHECKS)
def test_theory(case: str) -> None:
    """Closed forms hold, and errors shrink with the order that is documented."""
    found = [CHECKS[case]("native", dt) for dt in STEPS]
    for quantity in found[0]:
        row = Row(case, quantity, "native", tuple(item[quantity] for item in found))
        most, order = LIMITS[case, quantity]
        print(f"{case}, {quantity}: {row.errors}, order {row.order}")
        assert row.errors[1] < most
        if order is not None:
            assert row.order is not None
            assert row.order > order
