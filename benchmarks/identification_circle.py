"""Identification in a closed circle: true robots, simulated, measured, identified.

For each robot: true robots whose links' CoMs are off by 10 mm in each axis (at most
30 mm) and whose total mass by 8 % (5 kg of 64, one standard deviation) stand in the
simulator; feet measure with 0.5 N and 0.02 Nm at 200 Hz for 0.5 s, encoders have 14
bits. Errors are those of the total CoM in 200 new poses.

    .venv/bin/python -m benchmarks.identification_circle [--repetitions 200] [--offsets]

prints a table and writes ``build/identification_circle.json``. One BLAS thread
(``OMP_NUM_THREADS=1``) is fastest.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import equipoise as eq
from benchmarks.identification_poses import needed, robots
from equipoise.arrays import Array
from equipoise.identification.identify import identify_poses
from equipoise.identification.posing.candidates import pose_candidates
from equipoise.identification.posing.design import choose_poses, predicted_poses
from equipoise.identification.prior import (
    Prior,
    PriorBelief,
    default_prior,
    prior_belief,
)
from equipoise.identification.rehearsal import (
    Score,
    TrueRobot,
    draw_truth,
    estimate_from_poses,
    noise_of,
    score,
    stand_in_poses,
    usual_encoders,
    usual_feet,
)
from equipoise.identification.statics import (
    MeasuredPoses,
    link_columns,
    standing_frames,
    total_com,
)

COM_DEVIATION, TOTAL_SHARE = 0.01, 0.08
CANDIDATES, NEW, CHOSEN = 1200, 200, (15, 30)
RANDOM = (15, 20, 30, 45, 60, 80, 100, 120)
# Of the bootstrap over robots.
DRAWS = 1000
MANY, LINKS = 300, 40
OUT = Path("build/identification_circle.json")


def doubt(robot: eq.Robot, offsets: bool) -> Prior:
    """Return how far true robots are off: their total mass by 8 %."""
    masses = np.array([inertia.mass for inertia in robot.model.inertias])
    share = TOTAL_SHARE * robot.mass / float(np.linalg.norm(masses))
    usual = default_prior(robot)
    zeroed = (0.0, 0.0, 0.0)
    drawn = (usual.lateral_force_std, usual.vertical_force_std, usual.torque_std)
    return Prior(COM_DEVIATION, share, *(drawn if offsets else zeroed))


def tellable(robot: eq.Robot, q: Array, belief: PriorBelief) -> Array:
    """Return a projector of x - mean onto what poses without noise tell, (nx, nx)."""
    columns = link_columns(standing_frames(robot, q))
    count = columns.shape[2]
    rows = columns.reshape(-1, count) @ belief.root[:count, :count]
    values, vectors = np.linalg.eigh(rows.T @ rows)
    basis = vectors[:, values > 1e-12 * values[-1]]
    root = belief.root[:count, :count]
    projector = np.eye(len(belief.mean))
    projector[:count, :count] = root @ basis @ basis.T @ np.linalg.inv(root)
    return projector


def circle(
    robot: eq.Robot, options: argparse.Namespace, say: Callable[[str], None]
) -> dict[str, Any]:
    """Return all figures of a robot."""
    rng = np.random.default_rng(options.seed)
    prior = doubt(robot, options.offsets)
    belief = prior_belief(robot, prior)
    feet, encoders = usual_feet(), usual_encoders(2.0 * np.pi / 2**options.bits)
    noise = noise_of(feet, encoders)
    began = time.perf_counter()
    every = pose_candidates(robot, CANDIDATES, options.seed, prior=prior)
    # poses that the model itself does not stand still in are no candidates
    values = np.array(belief.mean)
    values[-12:] = 0.0
    model = TrueRobot(robot, values)
    stood = stand_in_poses(
        robot, model, every, feet, encoders, rng, threads=options.threads
    )
    q = every[rng.permutation(stood.rows)]
    new, q = q[:NEW], q[NEW:]
    frames = standing_frames(robot, new)
    say(f"{len(stood.rows)} of {len(every)} candidates stand still")
    drawn = time.perf_counter()
    designs = {
        count: choose_poses(robot, q, count, noise=noise, prior=prior)
        for count in CHOSEN
    }
    chosen = time.perf_counter()
    projector = tellable(robot, q, belief)
    scores: dict[str, list[Score]] = {}
    kept, hidden = [], []
    for repetition in range(options.repetitions):
        truth = draw_truth(robot, prior, rng)
        reach = belief.mean + projector @ (truth.values - belief.mean)
        hidden.append(total_com(frames, reach) - total_com(frames, truth.values))
        compare = repetition < options.compared
        rows = {f"chosen {n}": designs[n].rows for n in CHOSEN}
        if not compare:
            rows = {f"chosen {CHOSEN[-1]}": designs[CHOSEN[-1]].rows}
        else:
            order = rng.permutation(len(q))
            rows |= {f"random {n}": order[:n] for n in RANDOM}
        used = np.unique(np.concatenate(list(rows.values())))
        stood = stand_in_poses(
            robot, truth, q[used], feet, encoders, rng, threads=options.threads
        )
        still = used[stood.rows]
        for name, some in rows.items():
            place = np.flatnonzero(np.isin(still, some))
            found = estimate_from_poses(stood.poses.take(place), noise, belief)
            scores.setdefault(name, []).append(score(frames, found, truth))
            if name == f"chosen {CHOSEN[-1]}":
                kept.append(len(place) / len(some))
    done = time.perf_counter()
    return _figures(scores, hidden, options.compared, options.offsets) | {
        "mass_std_fraction": prior.mass_std_fraction,
        "kept": float(np.mean(kept)),
        "candidates": len(q),
        "expected_mm": 1e3 * float(designs[CHOSEN[-1]].deviation[-1]),
        "seconds": {
            "candidates": drawn - began,
            "two designs": chosen - drawn,
            "repetition": (done - chosen) / options.repetitions,
        },
    }


def _figures(
    scores: dict[str, list[Score]], hidden: list[Array], compared: int, offsets: bool
) -> dict[str, Any]:
    main = scores[f"chosen {CHOSEN[-1]}"]
    figures: dict[str, Any] = {
        "repetitions": len(main),
        "before_mm": 1e3 * _rms([s.before for s in main]),
        "before_horizontal_mm": 1e3 * _rms([s.before[:, :2] for s in main]),
        "after_mm": 1e3 * _rms([s.after for s in main]),
        "after_horizontal_mm": 1e3 * _rms([s.after[:, :2] for s in main]),
        "no_pose_tells_mm": 1e3 * _rms(hidden),
        "worst_repetition_mm": 1e3 * max(_rms([s.after]) for s in main),
        "coverage": {
            what: float(np.mean([s.covered[what].mean() for s in main]))
            for what in main[0].covered
            if offsets or what != "offset"
        },
    }
    # of what poses can tell, the chosen ones should tell more
    parts: dict[str, Callable[[Array, Array], Array]] = {
        "": lambda after, _: after,
        "_horizontal": lambda after, _: after[:, :2],
        "_tellable": lambda after, never: after - never,
    }
    for label, part in parts.items():
        squares = {
            name: np.array(
                [
                    np.mean(np.sum(part(score.after, never) ** 2, axis=1))
                    for score, never in zip(own, hidden, strict=False)
                ]
            )[:compared]
            for name, own in scores.items()
        }
        figures |= _compared(squares, label)
    return figures


def _compared(squares: dict[str, Array], label: str) -> dict[str, Any]:
    """Return errors after chosen and random poses, and how many one is worth.

    Args:
        squares: Mean square error of each robot [m²], by kind and count of poses.
        label: Of what the errors are.
    """
    rng = np.random.default_rng(0)
    robots = len(squares[f"chosen {CHOSEN[-1]}"])

    def worth(rows: Array, count: int) -> float:
        random = {
            n: float(np.sqrt(squares[f"random {n}"][rows].mean())) for n in RANDOM
        }
        return needed(random, float(np.sqrt(squares[f"chosen {count}"][rows].mean())))

    figures: dict[str, Any] = {
        f"{kind}{label}_mm": {
            n: 1e3 * float(np.sqrt(squares[f"{kind} {n}"].mean())) for n in counts
        }
        for kind, counts in (("chosen", CHOSEN), ("random", RANDOM))
    }
    everyone = np.arange(robots)
    figures[f"random_needed{label}"] = {n: worth(everyone, n) for n in CHOSEN}
    # how sure that is: robots drawn again
    figures[f"random_needed{label}_95"] = {
        n: np.quantile(
            [worth(rng.integers(0, robots, robots), n) for _ in range(DRAWS)],
            [0.025, 0.975],
            method="nearest",
        ).tolist()
        for n in CHOSEN
    }
    return figures


def quick(robot: eq.Robot, seed: int) -> tuple[int, float]:
    """Return how many links a robot has, and the time for 300 poses [s]."""
    belief = prior_belief(robot, doubt(robot, True))
    q = pose_candidates(robot, MANY // 3, seed)
    poses: MeasuredPoses = predicted_poses(
        robot, q[np.arange(MANY) % len(q)], belief, 1
    )
    began = time.perf_counter()
    identify_poses(poses)
    return len(belief.links), time.perf_counter() - began


def _plain(value: Any) -> Any:
    """Return figures with None for what was not reached."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _range(interval: list[float]) -> str:
    return " to ".join(f"{bound:.0f}" for bound in interval)


def _rms(errors: list[Array]) -> float:
    squares = [np.mean(np.sum(error**2, axis=1)) for error in errors]
    return float(np.sqrt(np.mean(squares)))


def main() -> None:
    """Print a line for each robot and write all figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.identification_circle")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument(
        "--compared", type=int, default=20, help="of them with random poses as well"
    )
    parser.add_argument("--offsets", action="store_true", help="sensors not zeroed")
    parser.add_argument("--bits", type=int, default=14, help="of the encoders")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--robots", nargs="*", default=None)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    options.compared = min(options.compared, options.repetitions)
    result: dict[str, Any] = {}
    for name, path in robots().items():
        if options.robots and name not in options.robots:
            continue
        robot = eq.load(path)
        began = time.perf_counter()
        own = circle(robot, options, lambda text, name=name: print(f"{name}: {text}"))
        links, own["seconds"]["300 poses"] = quick(robot, options.seed)
        own["links"] = links
        own["wall_s"] = time.perf_counter() - began
        result[name] = own
        _print(name, own)
    options.out.parent.mkdir(exist_ok=True)
    plain = json.dumps(_plain(result), indent=1, allow_nan=False)
    options.out.write_text(plain, encoding="utf-8")


def _print(name: str, own: dict[str, Any]) -> None:
    cover = ", ".join(f"{k} {100 * v:.1f} %" for k, v in own["coverage"].items())
    worth = "; ".join(
        f"{label}: "
        + ", ".join(
            f"{n} chosen ({own[f'chosen{key}_mm'][n]:.2f} mm) = "
            f"{value:.0f} random ({_range(own[f'random_needed{key}_95'][n])})"
            for n, value in own[f"random_needed{key}"].items()
        )
        for key, label in (
            ("", "3-D"),
            ("_horizontal", "horizontal"),
            ("_tellable", "what poses can tell"),
        )
    )
    print(
        f"{name}: {own['repetitions']} robots, {100 * own['kept']:.0f} % of 30 poses "
        f"kept; CoM off by {own['before_mm']:.1f} mm "
        f"({own['before_horizontal_mm']:.1f} horizontally) before, "
        f"{own['after_mm']:.2f} ({own['after_horizontal_mm']:.2f}) after, "
        f"{own['no_pose_tells_mm']:.2f} that no pose tells, worst robot "
        f"{own['worst_repetition_mm']:.2f}\n  covered: {cover}\n  {worth}\n  "
        f"{own['seconds']['repetition']:.2f} s a robot, 300 poses × {own['links']} "
        f"links in {own['seconds']['300 poses']:.2f} s; {own['wall_s']:.0f} s in all",
        flush=True,
    )


if __name__ == "__main__":
    main()
