"""Whether a log has the joints that a robot's balance needs, under their names."""

from __future__ import annotations

from equipoise.errors import EquipoiseError, suggest
from equipoise.log.recordings.recording import Recording
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.model import Robot

LONGEST_LIST = 12


def check_joint_names(recording: Recording, robot: Robot) -> tuple[str, ...]:
    """Refuse a log that lacks a joint of a leg.

    Args:
        recording: What was measured.
        robot: The robot.

    Returns:
        Names of other joints that are likely misspelt, a sentence each.

    Raises:
        EquipoiseError: Naming the joints that are missing and the nearest that the
            log has.
    """
    names = degree_names(robot)
    strange = [name for name in recording.joints if name not in names]
    lacking = [name for name in names if name not in recording.joints]
    legs = {joint for leg in robot.legs.values() for joint in leg.joints}
    needed = [name for name in lacking if name in legs]
    if needed:
        listed = ", ".join(f"'{name}'{suggest(name, strange)}" for name in needed)
        shown = ", ".join(list(recording.joints)[:LONGEST_LIST])
        more = ", …" if len(recording.joints) > LONGEST_LIST else ""
        raise EquipoiseError(
            f"{recording.source}: has no {listed}: all leg joints of {robot.name} are "
            f"needed; its joints are: {shown}{more}"
        )
    return tuple(
        f"the log has no '{name}'{suggest(name, strange)}"
        for name in lacking
        if suggest(name, strange)
    )
