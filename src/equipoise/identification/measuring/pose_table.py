"""A CSV table of measured poses, a row each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.log.recordings.recording import Recording
from equipoise.log.recordings.recording_of_csv import (
    BASE,
    JOINT,
    TIME,
    csv_columns,
    take_base,
    take_wrenches,
)

# Columns that number or name poses.
NUMBERS = ("pose", "row", "index", "name", "placement", "stance", "")
# More rows than this fraction without a number: it is not a table of poses.
MOST_BROKEN = 0.5


def read_pose_table(path: Path | str) -> Recording:
    """Read a CSV file that holds one measured pose a row.

    Columns are those of logs; a column of time is not needed, and ``samples`` may give
    the number of independent samples that a row is the mean of. Rows that lack a number
    are left out. Times are the numbers of the poses, from 0.

    Raises:
        EquipoiseError: If it is not such a table, naming the row or column at fault.
    """
    file = Path(path)
    columns, notices = csv_columns(file, may_be_cut_off=False, unread=NUMBERS)
    needed = [name for name in columns if not BASE.fullmatch(name)]
    broken = np.any([~np.isfinite(columns[name]) for name in needed], axis=0)
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
    kept = {name: columns[name][~broken] for name in columns}
    time = np.flatnonzero(~broken).astype(np.float64)
    base, prefix = take_base(kept, notices)
    if base is not None and not np.isfinite(base).all():
        notices.append(f"columns {prefix}.* are left out: numbers are missing")
        base = None
    wrenches = {
        name: own._replace(time=time)
        for name, own in take_wrenches(kept, notices).items()
    }
    found = ((JOINT.fullmatch(name), name) for name in kept)
    joints = {
        match.group(1): kept[name]
        for match, name in found
        if match
        and match.group(2) in (None, "position")
        and not TIME.fullmatch(name.lower())
    }
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
        base_pose=base,
        base_source="" if base is None else f"columns {prefix}.*",
        notices=tuple(notices),
    )
