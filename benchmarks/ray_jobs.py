"""What Ray adds to the jobs of a study: its start, and the time of an empty job.

``python -m benchmarks.ray_jobs --jobs 2000 --workers 2`` starts a Ray cluster of this
machine, ``--on ray://HOST:PORT`` uses one that is there; ``--on processes`` measures
the workers of ``--on cores`` instead.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import wait

from equipoise.study.ray_workers import RayWorkers
from equipoise.study.workers import Workers

RAY, PROCESSES = "ray", "processes"
# Its list has about as many numbers as the answer of a job of 16 runs.
JOB = range(200)


def main() -> None:
    """Print times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--on", default=RAY, help="ray, ray://HOST:PORT or processes")
    options = parser.parse_args()
    began = time.perf_counter()
    with backend(options.on, options.workers) as workers:
        workers.submit(JOB).result()
        first = time.perf_counter() - began
        wait([workers.submit(JOB) for _ in range(20 * options.workers)])
        began = time.perf_counter()
        wait([workers.submit(JOB) for _ in range(options.jobs)])
        every = time.perf_counter() - began
        ended = time.perf_counter()
    print(f"start to the first answer: {first:.1f} s")
    print(f"end: {time.perf_counter() - ended:.1f} s")
    print(
        f"{options.jobs} jobs that do nothing, {options.workers} workers: "
        f"{every:.2f} s, {1e3 * every / options.jobs:.2f} ms a job"
    )


def backend(on: str, count: int) -> RayWorkers[range, list] | Workers[range, list]:
    """Return what makes lists of ranges."""
    if on == PROCESSES:
        return Workers(list, count)
    return RayWorkers(list, None if on == RAY else on, count)


if __name__ == "__main__":
    main()
