"""A study that is killed at random times, and what its memory does with its size.

    .venv/bin/python -m benchmarks.study_kills --runs 500 --kills 10 --seed 0

does a study of walks without a break, then again with SIGKILL at random times (to the
command, whose processes end with it) and the same command until it is done. The tables
must have the same bytes, and nothing may be left beside the folder. Then studies of
more and more runs that cost nothing are done, and the largest memory of their process
is printed. Status 1 if tables differ or something is left.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np

from equipoise.study.experiments import Job
from equipoise.study.places import Place
from equipoise.study.run_study import do_runs
from equipoise.study.runs import StudyRuns
from equipoise.study.store import ResultStore, Value, remove_store, store_beside
from equipoise.study.study_file import load_study
from equipoise.study.table import read_table, write_csv, write_parquet

STUDY = """\
format = "equipoise study 1"
[run]
verb = "walk"
robot = "itu-biped"
steps = {steps}
[vary]
torso.com.x = {{ from = -0.08, to = 0.08 }}
torso.com.y = {{ from = -0.08, to = 0.08 }}
friction = {{ from = 0.1, to = 0.9 }}
sensors.seed = {{ from = 0, to = 1000000 }}
[sampling]
method = "random"
count = {runs}
"""
SIZES = (1_000, 10_000, 100_000)


def command(study: Path, out: Path) -> list[str]:
    """Return the words that do a study."""
    words = [sys.executable, "-m", "equipoise", "study", str(study)]
    return [*words, "--out", str(out), "--jobs", "2"]


def kept_runs(study: Path, out: Path) -> int:
    """Return how many runs are in the store of a study."""
    path = store_beside(out)
    if not path.exists():
        return 0
    read = load_study(study)
    runs = StudyRuns(read, Place("cores", 1))
    with ResultStore(path, runs.identity(), read.columns) as store:
        return store.count()


def kill_and_go_on(
    study: Path, out: Path, kills: int, seconds: float, seed: int
) -> int:
    """Kill a study at random times until it has been killed often enough; finish it.

    Args:
        study: Its file.
        out: Its folder.
        kills: How often.
        seconds: How long it takes without a break [s]; kills come within a
            part of it, so that there is something left to kill.
        seed: Seed of the times.

    Returns:
        How often it was killed.
    """
    rng = np.random.default_rng(seed)
    done = 0
    while done < kills:
        wait = float(rng.uniform(0.05, 0.5)) * seconds
        process = subprocess.Popen(command(study, out), stdout=subprocess.DEVNULL)
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            done += 1
            kept = kept_runs(study, out)
            print(f"kill {done:2d} after {wait:5.1f} s: {kept} runs kept", flush=True)
        else:
            print(f"done after {done} kills, before the next one", flush=True)
            break
    if not out.exists():
        subprocess.run(command(study, out), stdout=subprocess.DEVNULL, check=True)
    return done


def nothing(job: Job) -> list[tuple[Value, ...]]:
    """Return rows of a study of walks without walking."""
    return [(True, None, 0.0, 0.0, 0.0, None)] * len(job.points)


def memory_of(runs: int) -> None:
    """Do a study that costs nothing, and print what it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.toml"
        path.write_text(STUDY.format(steps=2, runs=runs))
        study = load_study(path)
        made = StudyRuns(study, Place("cores", 1))
        identity = made.identity()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.perf_counter()
        store_path = Path(folder) / "store"
        # by its module's name, which other processes know
        work = import_module("benchmarks.study_kills").nothing
        made.experiment = work
        with ResultStore(store_path, identity, study.columns) as store:
            do_runs(made, store, Place("cores", 2))
            read_table(study, store.rows())
            write_csv(Path(folder) / "table.csv", study, store.rows())
            write_parquet(Path(folder) / "table.parquet", study, store.rows())
            assert store.count() == runs
        remove_store(store_path)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds = time.perf_counter() - began
    own = (after - before) / 1024
    print(
        f"{runs:8d} runs: {after / 1024:6.0f} MiB at most, {own:5.0f} MiB of them for "
        f"the runs, {seconds:5.1f} s",
        flush=True,
    )


def main() -> int:
    """Kill, compare, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--memory", type=int, help="only do so many runs that cost nothing"
    )
    options = parser.parse_args()
    if options.memory is not None:
        memory_of(options.memory)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study = folder / "study.toml"
        study.write_text(STUDY.format(steps=options.steps, runs=options.runs))
        began = time.perf_counter()
        whole, killed = folder / "whole", folder / "killed"
        subprocess.run(command(study, whole), stdout=subprocess.DEVNULL, check=True)
        seconds = time.perf_counter() - began
        print(f"without a break: {options.runs} runs in {seconds:.1f} s", flush=True)
        kills = kill_and_go_on(study, killed, options.kills, seconds, options.seed)
        same = all(
            (whole / file).read_bytes() == (killed / file).read_bytes()
            for file in ("table.csv", "table.parquet", "summary.json")
        )
        left = sorted({*os.listdir(folder)} - {"study.toml", "whole", "killed"})
        words = "the same bytes" if same else "OTHER bytes"
        print(
            f"{kills} kills: tables and summary have {words}; left: {left or 'nothing'}"
        )
    for runs in SIZES:
        words = [sys.executable, "-m", "benchmarks.study_kills", "--memory", str(runs)]
        subprocess.run(words, check=True)
    return 0 if same and not left else 1


if __name__ == "__main__":
    sys.exit(main())
