"""Which clock a bag's measurements are told by: their headers', or the log's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.log.mcap_format.mcap_writer import NANOSECONDS
from equipoise.log.recordings.measured_series import Series

# A share of stamps that go back; more is no clock.
MOST_BACKWARD = 0.05
# Topics whose stamps lie farther apart than this were stamped by two clocks [ns].
MOST_APART = NANOSECONDS // 2


def with_log_time(series: Sequence[Series], notices: list[str]) -> bool:
    """Return whether log times must be used, because header stamps are no clock.

    One clock is used for all topics: two would shift them against each other.

    Args:
        series: All that is to be used together.
        notices: Gets the reason, if log times must be used.
    """
    for item in series:
        reason = _fault(item)
        if reason:
            notices.append(f"'{item.topic}': {reason}; times of the log are used")
            return True
    delays = [float(np.median(item.logged - item.stamps)) for item in series]
    if delays and max(delays) - min(delays) > MOST_APART:
        first, last = series[int(np.argmin(delays))], series[int(np.argmax(delays))]
        notices.append(
            f"'{first.topic}' and '{last.topic}' are stamped by two clocks "
            f"({(max(delays) - min(delays)) / NANOSECONDS:.3g} s apart); times of the "
            "log are used"
        )
        return True
    return False


def _fault(series: Series) -> str | None:
    stamps = series.stamps
    # a simulator's first stamps are zero, at its time zero
    if np.count_nonzero((stamps == 0) & (series.logged > MOST_APART)) > 1:
        return "its headers have no time"
    if len(stamps) > 1 and np.all(stamps == stamps[0]):
        return "its headers all have the same time"
    backward = np.count_nonzero(np.diff(stamps) < 0)
    if backward > max(1.0, MOST_BACKWARD * len(stamps)):
        return f"the time of its headers goes back {backward} times"
    return None
