"""The three-link biped: what deriving, evaluating, searching and walking cost.

``python -m benchmarks.three_link`` derives all four models in this process, cold, with
their LaTeX; evaluates f and g of 1,000 states; finds a gait, walks 20 steps of it, and
50 steps from all 64 starts whose angles and rates are 10 % off; finds gaits of nine
speeds; and prints both gaits of the classic walker.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

STATES, ROUNDS = 1000, 200
SPEED, STEPS, MANY_STEPS, OFF = 0.8, 20, 50, 0.1
SPEEDS = tuple(round(0.1 * n, 1) for n in range(4, 13))


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def derive_all() -> None:
    """Derive the pinned and the unpinned model in both sets of coordinates."""
    from equipoise.planar.equations import derive

    for pinned in (True, False):
        derive("absolute", pinned=pinned).latex()
        derive("relative", pinned=pinned).latex()


def main() -> None:
    """Print the figures."""
    print(f"four derivations with LaTeX, cold: {seconds(derive_all):.1f} s")

    import equipoise as eq
    from equipoise.planar.classic import classic

    parameters = eq.ThreeLinkParameters.named("seed")
    model = eq.ThreeLink(parameters)
    x = np.random.default_rng(0).uniform(-2.0, 2.0, (STATES, 6))
    best = min(seconds(lambda: (model.f(x), model.g(x))) for _ in range(ROUNDS))
    print(f"f and g: {1e6 * best / STATES:.2f} µs a state, of {STATES} at a time")
    print(f"a gait: {seconds(lambda: eq.find_gait(parameters, SPEED)):.1f} s")
    gait = eq.find_gait(parameters, SPEED)
    gait.walk(1)
    print(f"{STEPS} steps: {seconds(lambda: gait.walk(STEPS)):.2f} s")
    largest = float(np.abs(gait.poincare.eigenvalues).max())
    print(f"largest eigenvalue of its Poincaré map, full model: {largest:.3f}")
    signs = np.array(list(np.ndindex(*(2,) * 6))) * 2 - 1
    starts = gait.start * (1.0 + OFF * signs)
    walked = sum(not gait.walk(MANY_STEPS, start).fall for start in starts)
    print(f"{MANY_STEPS} steps from {100 * OFF:.0f} % off: {walked} of {len(starts)}")
    began = time.perf_counter()
    gaits = eq.find_gaits(parameters, SPEEDS)
    print(f"gaits of {len(SPEEDS)} speeds: {time.perf_counter() - began:.1f} s")
    for speed, own in zip(SPEEDS, gaits, strict=True):
        zero = own.zero_dynamics
        print(
            f"  {speed:.1f} m/s: {zero.speed:.4f} m/s, steps of {zero.step_length:.3f} "
            f"m, slope {zero.slope:.3f}, cost of transport {zero.cost_of_transport:.4f}"
        )
    for known in classic():
        print(f"classic, {known.name}: full model, zero dynamics")
        for field in ("rate", "step_time", "speed", "slope", "torque_cost"):
            pair = (
                getattr(known.full_model, field),
                getattr(known.zero_dynamics, field),
            )
            print(f"  {field:12} {pair[0]:12.5f} {pair[1]:12.5f}")


if __name__ == "__main__":
    main()
