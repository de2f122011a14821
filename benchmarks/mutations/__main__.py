"""Break valid files of every format at random, and see what is done about them.

``python -m benchmarks.mutations --count 10000 --cli 200 --seed 1`` reads 10,000 broken
files of each format from Python and 200 on the command line, in processes with bounds
of 20 s and 2 GB. A file may be loaded or refused (:class:`EquipoiseError`; exit status
0, 1 or 2 and one line); all else is a fault: other errors, warnings of NumPy, crashes,
processes beyond their bounds. A fault is repeated by ``--seed S --only FORMAT:NUMBER``;
``--keep DIR`` writes its file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.mutations.examples import Examples, make_examples
from benchmarks.mutations.targets import LOADED, REFUSED
from benchmarks.mutations.workers import Case, outcomes, run_case, write_case
from equipoise.errors import EquipoiseError

FORMATS = (
    *("urdf", "mjcf", "toml", "dh", "csv", "mcap"),
    *("footsteps", "terrain", "stl", "dae", "obj"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; 0: no faults, 1: faults, 2: bad input."""
    options = _parser().parse_args(arguments)
    formats = [name for name in options.formats.split(",") if name]
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        print(
            f"mutations: no format '{unknown[0]}': {', '.join(FORMATS)}",
            file=sys.stderr,
        )
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        examples = make_examples(folder)
        if options.only:
            return _repeat(options.only, examples, options.seed, folder, options.keep)
        cases = [
            Case(kind, number, command)
            for kind in formats
            for command, count in ((False, options.count), (True, options.cli))
            for number in range(count)
        ]
        began = time.monotonic()
        results: Counter[tuple[str, bool, str]] = Counter()
        faults: list[tuple[Case, str]] = []
        for case, result in outcomes(
            cases, examples, options.seed, folder, options.workers
        ):
            fault = result not in (LOADED, REFUSED)
            results[case.kind, case.command, "faults" if fault else result] += 1
            if fault:
                faults.append((case, result))
                print(f"{case.label()}: {result}", flush=True)
                _keep(case, examples, options.seed, options.keep)
    _print(formats, results)
    print(f"seed {options.seed}, {len(cases)} files, {time.monotonic() - began:.0f} s")
    if faults:
        again = f"--seed {options.seed} --only {faults[0][0].label()}"
        print(f"to repeat the first fault: python -m benchmarks.mutations {again}")
    return 1 if faults else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutations",
        description=(__doc__ or "").split("\n")[0],
    )
    parser.add_argument("--count", type=int, default=100, help="files of each format")
    parser.add_argument("--cli", type=int, default=10, help="commands of each format")
    parser.add_argument("--seed", type=int, default=0, help="of all random choices")
    parser.add_argument(
        "--formats", default=",".join(FORMATS), help="separated by commas"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    parser.add_argument("--keep", type=Path, help="folder for the files of faults")
    parser.add_argument("--only", help="one case, FORMAT:NUMBER or FORMAT:NUMBER:cli")
    return parser


def _keep(
    case: Case, examples: dict[str, Examples], seed: int, folder: Path | None
) -> None:
    if folder is not None:
        own = folder / case.label().replace(":", "_")
        own.mkdir(parents=True, exist_ok=True)
        write_case(case, examples[case.kind], seed, own)


def _repeat(
    label: str,
    examples: dict[str, Examples],
    seed: int,
    folder: Path,
    keep: Path | None,
) -> int:
    """Try one case in this process."""
    kind, number, *command = label.split(":")
    case = Case(kind, int(number), bool(command))
    _keep(case, examples, seed, keep)
    try:
        result = run_case(case, examples[kind], seed, folder / "case")
    except EquipoiseError as error:
        result = str(error)
    print(f"{case.label()}: {result}")
    return 0 if result in (LOADED, REFUSED) else 1


def _print(formats: list[str], results: Counter[tuple[str, bool, str]]) -> None:
    head = ("format", "read by", "files", LOADED, REFUSED, "faults")
    print("{:<11}{:<9}{:>8}{:>9}{:>9}{:>8}".format(*head))
    for kind in formats:
        for command in (False, True):
            counts = [results[kind, command, word] for word in head[3:]]
            if sum(counts):
                by = "command" if command else "Python"
                print(
                    "{:<11}{:<9}{:>8}{:>9}{:>9}{:>8}".format(
                        kind, by, sum(counts), *counts
                    )
                )


if __name__ == "__main__":
    sys.exit(main())
