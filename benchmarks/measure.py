"""Interleaved timing of one piece of work, done by Equipoise and by peers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Contender:
    """One way to do the work.

    Attributes:
        run: Does it.
        items: How many items a run handles; times are given for one.
    """

    run: Callable[[], object]
    items: int


@dataclass(frozen=True)
class Comparison:
    """The same work, done by us and by peers.

    Attributes:
        work: What is done, in a line.
        ours: Equipoise's way, as users call it.
        peers: Other ways, by name.
        difference: Returns the largest difference between the results.
        tolerance: Largest difference that counts as the same answer.
    """

    work: str
    ours: Contender
    peers: Mapping[str, Contender]
    difference: Callable[[], float]
    tolerance: float


@dataclass(frozen=True)
class Row:
    """One line of the table; times in µs for one item, medians over all rounds.

    Attributes:
        work: What was done.
        ours_us: Equipoise's time [µs].
        peer: What it is compared with.
        peer_us: The peer's time [µs].
        ratio: Peer's time over ours, taken round by round: above 1 we are faster.
        ratio_quartiles: First and third quartile of the ratio.
        first_call_s: Our first call, with kernels compiled or loaded [s].
        largest_difference: Between both results.
        same_answer: Whether that is within the tolerance.
    """

    work: str
    ours_us: float
    peer: str
    peer_us: float
    ratio: float
    ratio_quartiles: tuple[float, float]
    first_call_s: float
    largest_difference: float
    same_answer: bool


def measure(comparison: Comparison, rounds: int) -> list[Row]:
    """Let all take turns, round by round; return a row for each peer."""
    first_call_s = seconds(comparison.ours)
    difference = comparison.difference()
    contenders = {"ours": comparison.ours, **comparison.peers}
    for contender in contenders.values():
        seconds(contender)
    times = {name: np.empty(rounds) for name in contenders}
    for turn in range(rounds):
        for name, contender in contenders.items():
            times[name][turn] = 1e6 * seconds(contender) / contender.items
    rows = []
    for peer in comparison.peers:
        ratios = times[peer] / times["ours"]
        low, middle, high = np.percentile(ratios, [25, 50, 75])
        rows.append(
            Row(
                work=comparison.work,
                ours_us=float(np.median(times["ours"])),
                peer=peer,
                peer_us=float(np.median(times[peer])),
                ratio=float(middle),
                ratio_quartiles=(float(low), float(high)),
                first_call_s=first_call_s,
                largest_difference=difference,
                same_answer=difference <= comparison.tolerance,
            )
        )
    return rows


def seconds(contender: Contender) -> float:
    """Return how long one run takes [s]."""
    begin = time.perf_counter()
    contender.run()
    return time.perf_counter() - begin
