"""Commands that are killed at random times: what they leave, what the next one mends.

    .venv/bin/python -m benchmarks.kills --count 100 --seed 0

kills ``walk`` (which writes the report), ``film``, ``identify`` and ``plot`` in turn
with SIGKILL: half of them at any time from start to end, half while they write. After
each kill the output must be whole, which is found out by reading it, or absent; then
the command runs again to its end, after which the output must be whole and nothing else
may be left, neither beside it nor in the folder of temporary files. A kill takes as
long as one or two commands. Status 1 if anything else was found.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

import equipoise as eq
from equipoise.identification.posing.candidates import pose_candidates
from equipoise.identification.posing.design import predicted_poses
from equipoise.identification.prior import default_prior, prior_belief
from equipoise.identification.statics import FEET
from equipoise.log.folder import read_summary
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.staging import ENDING

COMMAND = (sys.executable, "-m", "equipoise")
ROBOT = "humanoid"
POSES = 20
# From the moment that something is being written to the kill [s]; shorter times are as
# likely as longer ones, by the logarithm.
WRITING_S = (1e-4, 5e-2)
POLL_S = 2e-4


@dataclass(frozen=True)
class Work:
    """A command, where it writes, and how to read what it wrote."""

    verb: str
    words: tuple[str, ...]
    out: Path
    read: Callable[[Path], None]

    def start(self, temporary: Path) -> subprocess.Popen[bytes]:
        """Start the command; its temporary files go to a folder."""
        return subprocess.Popen(
            [*COMMAND, self.verb, *self.words, "--out", str(self.out), "--force"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"},
        )

    def state(self) -> str:
        """Return whether its output is absent, whole or broken, and how."""
        if not self.out.exists():
            return "absent"
        try:
            self.read(self.out)
        except Exception as error:
            return f"broken ({type(error).__name__}: {error})"
        return "whole"


def main() -> int:
    """Kill, look, run again, look again; print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills")
    parser.add_argument("--count", type=int, default=100, help="of kills")
    parser.add_argument("--seed", type=int, default=0, help="of the times")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory(prefix="equipoise-kills-") as folder:
        place, temporary = Path(folder, "out"), Path(folder, "tmp")
        place.mkdir()
        temporary.mkdir()
        works = prepare(Path(folder), place)
        lengths = [finish(work, temporary) for work in works]
        faults = []
        seen: Counter[tuple[str, str]] = Counter()
        for number in range(options.count):
            if number and number % 10 == 0:
                print(f"{number} kills, {len(faults)} faults", file=sys.stderr)
            work = works[number % len(works)]
            if rng.random() < 0.5:  # nothing to replace
                remove(work.out)
            # every verb gets kills of both kinds
            if (number // len(works) + number) % 2:
                killed = kill_while_writing(work, temporary, rng)
            else:
                length = lengths[number % len(works)]
                killed = kill_at(work, temporary, rng.uniform(0.0, length))
            state = work.state()
            left = leftovers(place, temporary)
            seen.update([(work.verb, killed), (work.verb, state.split()[0])])
            seen[work.verb, "leftovers"] += bool(left)
            if state not in ("whole", "absent"):
                faults.append(f"kill {number}, {work.verb}: {state}")
            finish(work, temporary)
            state, left = work.state(), leftovers(place, temporary)
            if state != "whole" or left:
                faults.append(f"after kill {number}, {work.verb}: {state}, {left}")
    print_table(works, lengths, seen)
    for fault in faults:
        print(fault)
    print(f"{options.count} kills, {len(faults)} faults")
    return 1 if faults else 0


def prepare(folder: Path, place: Path) -> list[Work]:
    """Make a run and a table of poses; return what is to be killed."""
    robot = eq.load(ROBOT)
    run = folder / "run"
    eq.walk(robot, eq.solve(robot, eq.fit_walk(robot, steps=2))).save(run)
    table = folder / "table.csv"
    write_table(robot, table)
    film = (str(run), "--size", "160", "120", "--fps", "5")
    return [
        Work("walk", (ROBOT, "--steps", "2"), place / "walk", read_run),
        Work("film", film, place / "film.gif", read_pictures),
        Work(
            "identify",
            (ROBOT, str(table), "--table"),
            place / "identified",
            read_identified,
        ),
        Work("plot", (str(run),), place / "plot.png", read_pictures),
    ]


def write_table(robot: eq.Robot, file: Path) -> None:
    """Write what sensors would measure in random poses, as ``identify`` reads it."""
    q = pose_candidates(robot, POSES)
    poses = predicted_poses(robot, q, prior_belief(robot, default_prior(robot)), 100)
    axes = ("fx", "fy", "fz", "tx", "ty", "tz")
    columns = [f"{side[0]}_sole_{axis}" for side in FEET for axis in axes]
    rows = np.hstack([joint_positions(robot, q), *(poses.wrenches[s] for s in FEET)])
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*degree_names(robot), *columns])
        writer.writerows(rows.tolist())


def read_run(folder: Path) -> None:
    """Read all of a run's folder."""
    eq.open_run(folder)
    read_page(folder)


def read_identified(folder: Path) -> None:
    """Read what was identified."""
    eq.load(folder / "identified.urdf")
    read_page(folder)


def read_page(folder: Path) -> None:
    """Read summary and report."""
    read_summary(folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    if not page.rstrip().endswith("</html>"):
        raise ValueError("the report has no end")


def read_pictures(file: Path) -> None:
    """Read every picture of a file."""
    with Image.open(file) as film:
        for frame in range(getattr(film, "n_frames", 1)):
            film.seek(frame)
            film.load()


def finish(work: Work, temporary: Path) -> float:
    """Run a command to its end; return how long it took [s]."""
    begin = time.perf_counter()
    process = work.start(temporary)
    error = process.communicate()[1]
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{work.verb}: {error.decode()}")
    return time.perf_counter() - begin


def kill_at(work: Work, temporary: Path, seconds: float) -> str:
    """Kill a command some time after its start."""
    process = work.start(temporary)
    time.sleep(seconds)
    return kill(process, "any time")


def kill_while_writing(work: Work, temporary: Path, rng: np.random.Generator) -> str:
    """Kill a command soon after it has begun to write."""
    process = work.start(temporary)
    while process.poll() is None and not leftovers(work.out.parent):
        time.sleep(POLL_S)
    time.sleep(np.exp(rng.uniform(*np.log(WRITING_S))))
    return kill(process, "writing")


def kill(process: subprocess.Popen[bytes], moment: str) -> str:
    """Kill a process; return when it was hit, or that it had ended before."""
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return moment if process.returncode == -signal.SIGKILL else "too late"


def leftovers(*folders: Path) -> list[str]:
    """Return the names of what is hidden in folders, ours above all."""
    return [
        name
        for folder in folders
        for name in os.listdir(folder)
        if name.endswith(ENDING) or name.startswith(".")
    ]


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def print_table(
    works: list[Work], lengths: list[float], seen: Counter[tuple[str, str]]
) -> None:
    """Print what was killed when, and what was found."""
    columns = ("any time", "writing", "too late", "whole", "absent", "leftovers")
    print(f"{'verb':10}{'takes [s]':>10}" + "".join(f"{name:>11}" for name in columns))
    for work, length in zip(works, lengths, strict=True):
        counts = "".join(f"{seen[work.verb, name]:11}" for name in columns)
        print(f"{work.verb:10}{length:10.1f}{counts}")


if __name__ == "__main__":
    sys.exit(main())
