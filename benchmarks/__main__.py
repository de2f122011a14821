"""Measure everything, print a table and write ``build/bench.json``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import platform
import sys
from pathlib import Path

from benchmarks import com_jacobian, legs, steps
from benchmarks.measure import Row, measure
from equipoise.errors import EquipoiseError
from equipoise.simulation.summary import versions

# Each module gives a function comparisons(device, seed); add new ones here.
WORKS = (com_jacobian, steps, legs)


def main() -> int:
    """Run from the command line; 0: measured, 1: answers differ, 2: bad input."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument(
        "--rounds", type=int, default=25, help="turns of each contender"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the configurations")
    parser.add_argument("--out", type=Path, default=Path("build/bench.json"))
    options = parser.parse_args()
    core = stay_on_one_core()
    try:
        rows = [
            row
            for work in WORKS
            for comparison in work.comparisons(options.device, options.seed)
            for row in measure(comparison, options.rounds)
        ]
    except (EquipoiseError, FileNotFoundError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    record = {
        "rows": [dataclasses.asdict(row) for row in rows],
        "rounds": options.rounds,
        "seed": options.seed,
        "machine": {"cpu": cpu_name(), "core": core, "system": platform.platform()},
        "versions": versions(),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=2) + "\n")
    print_table(rows)
    print(f"{record['machine']['cpu']}; {options.rounds} rounds; {options.out}")
    return 0 if all(row.same_answer for row in rows) else 1


def stay_on_one_core() -> int | None:
    """Pin this process to its last core; return which, or None where impossible."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def cpu_name() -> str:
    """Return the processor's name."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def print_table(rows: list[Row]) -> None:
    """Print one block for each row."""
    for row in rows:
        low, high = row.ratio_quartiles
        verdict = "" if row.same_answer else "  ANSWERS DIFFER"
        print(row.work)
        print(f"  ours {row.ours_us:8.3f} µs   first call {row.first_call_s:.1f} s")
        print(f"  peer {row.peer_us:8.3f} µs   {row.peer}")
        print(f"  ratio {row.ratio:7.2f}      quartiles {low:.2f} to {high:.2f}")
        print(f"  largest difference {row.largest_difference:.1e}{verdict}")


if __name__ == "__main__":
    sys.exit(main())
