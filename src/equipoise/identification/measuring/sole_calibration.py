"""Soles that are never parallel: constant errors of ankles, taken out.

Encoders of ankles that were not zeroed, or feet that give way, turn a sole by the same
angle in all poses. What makes both soles flat is found over the whole log.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.statics import FEET, MOST_TILT, sole_tilt
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import configurations, degree_names
from equipoise.robot.model import Robot

# Soles farther apart than this are not calibrated [rad].
MOST_CALIBRATED = float(np.deg2rad(15.0))
# As many rows, and rounds of Gauss and Newton, are enough.
MOST_ROWS, ROUNDS = 60, 6
# Joints of a leg next to the foot that may be wrong.
JOINTS = 2
STEP = 1e-4
AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


class FlatSoles(NamedTuple):
    """Joint positions that make both soles flat.

    Attributes:
        positions: All rows, corrected, shape (n, nv - 6).
        notice: What was corrected.
        uncertain: Standard deviation of up that remains [rad]: which of the two soles
            was wrong is not known, unless up was measured.
    """

    positions: Array
    notice: str
    uncertain: float


def flat_soles(
    robot: Robot,
    positions: Array,
    calm: NDArray[np.bool_],
    up_in_base: Array | None,
) -> FlatSoles | None:
    """Return corrected joint positions where soles are some degrees apart, else None.

    The smallest constant errors of the joints next to the feet are looked for that make
    both soles parallel, or normal to a measured up. None, too, where soles are too far
    apart, or no constant error explains it.

    Args:
        robot: The robot.
        positions: Joint positions, shape (n, nv - 6).
        calm: Rows in which the robot is still, shape (n,).
        up_in_base: Measured direction against gravity, shape (n, 3), if it is to be
            believed.
    """
    if any(side not in robot.soles or side not in robot.legs for side in FEET):
        return None
    rows = np.flatnonzero(calm) if calm.any() else np.arange(len(positions))
    some = rows[np.unique(np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int))]
    before = float(np.median(_tilt(robot, positions[some])))
    if not MOST_TILT < before <= MOST_CALIBRATED:
        return None
    names = degree_names(robot)
    ankles = [
        names.index(name)
        for side in FEET
        for name in [j for j in robot.legs[side].joints if j in names][-JOINTS:]
    ]
    up = None if up_in_base is None else up_in_base[some]
    errors = np.zeros(len(ankles))

    def misfit(errors: Array) -> Array:
        moved = np.array(positions[some])
        moved[:, ankles] += errors
        left, right = (_normals(robot, moved)[side] for side in FEET)
        if up is None:
            return (left - right).ravel()
        return np.concatenate([(left - up).ravel(), (right - up).ravel()])

    for _ in range(ROUNDS):
        now = misfit(errors)
        slopes = [
            (misfit(errors + STEP * unit) - now) / STEP for unit in np.eye(len(errors))
        ]
        # the smallest change of those that are as good
        errors = errors - np.linalg.lstsq(np.stack(slopes, axis=1), now, rcond=1e-3)[0]
    corrected = np.array(positions)
    corrected[:, ankles] += errors
    if np.median(_tilt(robot, corrected[some])) > 0.5 * MOST_TILT:
        return None
    listed = ", ".join(
        f"'{names[at]}' {np.rad2deg(error):+.1f}°"
        for at, error in zip(ankles, errors, strict=True)
        if abs(error) > np.deg2rad(0.05)
    )
    uncertain = 0.0 if up is not None else 0.5 * before / float(np.sqrt(3.0))
    doubt = "both are normal to the measured up"
    if up is None:
        doubt = (
            "which foot is wrong is not known, so that up may be "
            f"{np.rad2deg(0.5 * before):.1f}° off (up='base' takes a measured one)"
        )
    return FlatSoles(
        corrected,
        f"the soles are {np.rad2deg(before):.1f}° apart: taken for constant errors of "
        f"the ankles and corrected ({listed}); {doubt}",
        uncertain,
    )


def _normals(robot: Robot, positions: Array) -> dict[str, Array]:
    at_origin = np.tile(AT_ORIGIN, (len(positions), 1))
    q = configurations(robot, at_origin, positions)
    return {side: sole_pose(robot, q, side)[:, :3, 2] for side in FEET}


def _tilt(robot: Robot, positions: Array) -> Array:
    at_origin = np.tile(AT_ORIGIN, (len(positions), 1))
    q = configurations(robot, at_origin, positions)
    return sole_tilt({side: sole_pose(robot, q, side) for side in FEET})
