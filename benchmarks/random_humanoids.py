"""Random humanoids, tried: each walks in both engines or is refused by a reason.

``python -m benchmarks.random_humanoids --count 100 --seed 0`` draws robots from seeds
in a row and prints how many walked, were refused, and failed, with the seed of each;
``--only SEED`` tries one, and ``--write FILE.urdf`` writes its robot file.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import equipoise as eq
from benchmarks.humanoid_generator import GROUPS, RandomHumanoid, random_humanoid
from equipoise.simulation.simulate import ENGINES

STEPS = 4
Outcome = Literal["walked", "refused", "failed"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Trial:
    """What came of one robot.

    Attributes:
        humanoid: The robot.
        outcome: ``"failed"`` if it fell, did not do as planned or was not refused by
            an error of Equipoise's.
        why: The refusal or the failure; empty for one that walked.
    """

    humanoid: RandomHumanoid
    outcome: Outcome
    why: str = ""

    @property
    def reason(self) -> str:
        """The reason without names and numbers, so that like ones are alike."""
        text = self.why.split("; at ")[0].replace(f"random_{self.humanoid.seed}", "it")
        text = re.sub(r"'[^']*' is at its (upper|lower) limit, \S+", "…", text)
        text = re.sub(r"…( and …)+", "…", text).replace("…", "joints are at limits")
        text = re.sub(r"'[^']*'", "'…'", text)
        text = re.sub(r"\b(left|right)\b", "one", text)
        return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", text)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.random_humanoids")
    parser.add_argument("--count", type=int, default=100, help="how many robots")
    parser.add_argument("--seed", type=int, default=0, help="of the first robot")
    parser.add_argument("--steps", type=int, default=STEPS, help="how many steps")
    parser.add_argument("--processes", type=int, choices=(1, 2), default=2)
    parser.add_argument("--only", type=int, metavar="SEED", help="try this robot alone")
    parser.add_argument(
        "--write", type=Path, metavar="FILE.urdf", help="write the robot of --only"
    )
    options = parser.parse_args()
    if options.only is not None:
        humanoid = random_humanoid(options.only)
        print(humanoid.story)
        if options.write is not None:
            print(f"written to {humanoid.write(options.write)}")
            return
        done = attempt(options.only, options.steps)
        print(f"{done.outcome}: {done.why}" if done.why else done.outcome)
        return
    if options.write is not None:
        parser.error("--write needs --only SEED")
    seeds = range(options.seed, options.seed + options.count)
    print(table(attempt_all(seeds, options.steps, options.processes)))


def attempt_all(seeds: Iterable[int], steps: int, processes: int) -> list[Trial]:
    """Try the robots of these seeds, side by side in processes."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes) as pool:
        return list(pool.imap(partial(attempt, steps=steps), seeds))


def attempt(seed: int, steps: int = STEPS) -> Trial:
    """Load, plan and walk one robot with ideal actuators in both engines."""
    humanoid = random_humanoid(seed)
    with tempfile.TemporaryDirectory() as folder:
        file = humanoid.write(Path(folder) / f"random_{seed}.urdf")
        try:
            robot = eq.load(file)
            motion = eq.solve(robot, eq.fit_walk(robot, steps))
            runs = {
                engine: eq.walk(robot, motion, engine=engine, actuators="ideal").summary
                for engine in ENGINES
            }
        except eq.EquipoiseError as error:
            return Trial(humanoid, "refused", str(error).replace(folder, "."))
        except Exception as error:  # whatever else went wrong is what is looked for
            where = traceback.extract_tb(error.__traceback__)[-1]
            why = f"{type(error).__name__} in {Path(where.filename).name}: {error}"
            return Trial(humanoid, "failed", why)
    bad = [
        f"{engine}: {summary['sentence']}"
        for engine, summary in runs.items()
        if not summary["achieved"]
    ]
    return Trial(humanoid, "failed" if bad else "walked", "; ".join(bad))


def table(trials: Sequence[Trial]) -> str:
    """Return counts by group, reasons of refusals, and failures, as Markdown."""
    lines = [
        f"| group | {' | '.join(OUTCOMES)} | walked [%] |",
        "|---|---|---|---|---|",
    ]
    for group in GROUPS:
        of_group = [trial for trial in trials if trial.humanoid.group == group]
        counts = Counter(trial.outcome for trial in of_group)
        cells = " | ".join(str(counts[outcome]) for outcome in OUTCOMES)
        percent = 100.0 * counts["walked"] / max(len(of_group), 1)
        lines.append(f"| {group} | {cells} | {percent:.1f} |")
    for outcome in OUTCOMES[1:]:
        for group in GROUPS:
            lines += _reasons(trials, outcome, group)
    return "\n".join(lines)


def _reasons(trials: Sequence[Trial], outcome: str, group: str) -> list[str]:
    """Return why robots of a group were refused or failed, the most usual first."""
    seeds: dict[str, list[int]] = {}
    for trial in trials:
        if trial.outcome == outcome and trial.humanoid.group == group:
            seeds.setdefault(trial.reason, []).append(trial.humanoid.seed)
    if not seeds:
        return []
    ordered = sorted(seeds.items(), key=lambda item: -len(item[1]))
    return [
        f"\n{outcome}, {group}:",
        *(
            f"- {len(own)}: {reason} (seeds {', '.join(map(str, own))})"
            for reason, own in ordered
        ),
    ]


if __name__ == "__main__":
    main()
