"""Work that would take very long is not begun without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from equipoise.cli.world_options import WorldOptions

# Work of more than this is done with --long only [s].
LONGEST_UNASKED = 600.0
# A time step of one robot on one core of a desk computer: a part that is the same for
# all robots and one for each degree of freedom [s]. Measured with `stand` on robots of
# 8 to 35 degrees of freedom; other machines are within a factor of three.
STEP_SECONDS = {"native": (10e-6, 0.4e-6), "mujoco": (50e-6, 0.7e-6)}
# A candidate of `poses`, and one more for each pose that is chosen [s].
CANDIDATE_SECONDS, CHOICE_SECONDS = 3e-3, 1.2e-5
# A picture of a film, and one of its pixels [s].
PICTURE_SECONDS, PIXEL_SECONDS = 5e-3, 5e-8
UNITS = (("years", 365.25 * 86_400.0), ("days", 86_400.0), ("hours", 3_600.0))


def simulation_seconds(steps: float, engine: str, degrees: int) -> float:
    """Return about how long a simulation takes [s].

    Args:
        steps: Number of time steps.
        engine: Which engine.
        degrees: Degrees of freedom of the robot.
    """
    same, each = STEP_SECONDS[engine]
    return steps * (same + each * degrees)


def refuse_long_run(options: WorldOptions, seconds: float, degrees: int) -> None:
    """Refuse a simulation that would take longer than anybody expects.

    Args:
        options: What the user asked for.
        seconds: How long to simulate [s].
        degrees: Degrees of freedom of the robot, or the least that it can have.

    Raises:
        EquipoiseError: If it would take more than ten minutes, without ``--long``.
    """
    steps = seconds / options.dt
    refuse_long(
        simulation_seconds(steps, options.engine, degrees),
        f"{steps:.3g} time steps ({seconds:g} s at {options.dt:g} s)",
        options.long,
    )


def poses_seconds(candidates: int, count: int) -> float:
    """Return about how long choosing poses among candidates takes [s]."""
    return candidates * (CANDIDATE_SECONDS + CHOICE_SECONDS * count)


def film_seconds(pictures: int, width: int, height: int) -> float:
    """Return about how long drawing a film takes [s]."""
    return pictures * (PICTURE_SECONDS + PIXEL_SECONDS * width * height)


def refuse_long(seconds: float, what: str, long: bool) -> None:
    """Refuse work that would take longer than anybody expects.

    Args:
        seconds: About how long it takes [s].
        what: What it is, for the message.
        long: Whether the user has said that it may be long.

    Raises:
        EquipoiseError: If it takes more than ten minutes and may not.
    """
    if seconds > LONGEST_UNASKED and not long:
        raise EquipoiseError(
            f"{what} would take about {_words(seconds)}; --long does it all the same"
        )


def _words(seconds: float) -> str:
    for unit, length in UNITS:
        if seconds >= 2.0 * length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds / 60.0:.0f} minutes"
