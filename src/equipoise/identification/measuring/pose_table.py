"""A table of poses: a row each, with the joints and the wrenches of the feet."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.log.recordings.recording_of_csv import (
    BASE,
    JOINT,
    TIME,
    WRENCH,
    WRENCH_ORDER,
    csv_columns,
)

# The column that says of how many independent samples a row is the mean.
SAMPLES = "samples"
# Columns that number or name poses.
NUMBERS = ("pose", "row", "index", "name", "placement", "stance", "")
# More rows than this share without a number: the table is not one of poses.
MOST_BROKEN = 0.5


def read_pose_table(path: Path | str) -> Recording:
    """Read a CSV file that holds one measured pose a row.

    Columns are those of logs; a column of time is not needed, and ``samples`` may say
    how many independent samples a row is the mean of. Rows that lack a number are left
    out. Times are the numbers of the poses, from 0.

    Raises:
        EquipoiseError: If it is no such table; names the row or column at fault.
    """
    file = Path(path)
    columns, notices = csv_columns(file, may_be_cut_off=False, unread=NUMBERS)
    used = [name for name in columns if not BASE.fullmatch(name)]
    broken = np.any([~np.isfinite(columns[name]) for name in used], axis=0)
    lost = np.flatnonzero(broken)
    if len(lost) > MOST_BROKEN * len(broken):
        raise EquipoiseError(
            f"{file}: {len(lost)} of {len(broken)} rows lack a number, the first is "
            f"row {lost[0] + 2}"
        )
    if len(lost):
        rows = ", ".join(str(row + 2) for row in lost[:8])
        more = f" and {len(lost) - 8} more" if len(lost) > 8 else ""
        notices.append(
            f"{file.name}: {len(lost)} of {len(broken)} poses are left out: numbers "
            f"are missing in row {rows}{more}"
        )
    kept = {name: columns[name][~broken] for name in used}
    time = np.flatnonzero(~broken).astype(np.float64)
    wrenches, joints = _sorted_out(kept, notices, time)
    if not joints:
        raise EquipoiseError(
            f"{file}: holds no joint positions; its columns are: {', '.join(columns)}"
        )
    return Recording(
        source=file,
        time=time,
        joints=joints,
        velocity={},
        effort={},
        wrenches=wrenches,
        base_pose=None,
        base_source="",
        base_frame="",
        static_frames={},
        urdf=None,
        settings=None,
        notices=tuple(notices),
    )


def _sorted_out(
    columns: dict[str, Array], notices: list[str], time: Array
) -> tuple[dict[str, MeasuredWrench], dict[str, Array]]:
    """Return wrenches by the beginning of their columns, and joints by name."""
    wrenches: dict[str, dict[str, Array]] = {}
    joints: dict[str, Array] = {}
    for name, column in columns.items():
        wrench, joint = WRENCH.fullmatch(name), JOINT.fullmatch(name)
        if wrench:
            kind = (wrench.group(2) or wrench.group(4)[0]).lower().replace("t", "m")
            axis = (wrench.group(3) or wrench.group(5)).lower()
            wrenches.setdefault(wrench.group(1), {})[f"{kind}{axis}"] = column
        elif joint is None or TIME.fullmatch(name.lower()):
            continue
        elif joint.group(2) in (None, "position"):
            joints[joint.group(1)] = column
    found = {}
    for prefix, parts in wrenches.items():
        if parts.keys() != set(WRENCH_ORDER):
            notices.append(f"columns {prefix}.* are left out: six are a wrench")
            continue
        values = np.stack([parts[key] for key in WRENCH_ORDER], axis=1)
        found[prefix] = MeasuredWrench(prefix.split("/")[-1], time, values)
    return found, joints
