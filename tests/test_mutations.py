"""Broken files of every format are loaded or refused, never anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.mutations.__main__ import FORMATS, main
from benchmarks.mutations.examples import Examples, make_examples
from benchmarks.mutations.targets import LOADED, attempt, from_python
from benchmarks.mutations.workers import Case, outcomes, write_case

EXAMPLES = 30
COMMANDS = 4


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Examples]:
    """Valid files of all formats."""
    return make_examples(tmp_path_factory.mktemp("examples"))


def test_the_files_that_are_broken_are_sound(
    tmp_path: Path, examples: dict[str, Examples]
) -> None:
    """Every example loads before it is broken."""
    assert sorted(examples) == sorted(FORMATS)
    for kind, own in examples.items():
        for name, content in own.files.items():
            file = tmp_path / f"{kind}_{name}"
            file.write_bytes(content)
            assert from_python(kind, file) == LOADED, file.name


@pytest.mark.parametrize("kind", FORMATS)
def test_broken_files(tmp_path: Path, examples: dict[str, Examples], kind: str) -> None:
    """From Python and by command, in processes with bounds of time and memory."""
    cases = [Case(kind, number, False) for number in range(EXAMPLES)]
    cases += [Case(kind, number, True) for number in range(COMMANDS)]
    found = list(outcomes(cases, examples, 0, tmp_path, 1))
    assert len(found) == len(cases)
    faults = [f"{case.label()}: {result}" for case, result in found]
    assert [line for line in faults if line.split(": ")[1] not in ALLOWED] == []


ALLOWED = ("loaded", "refused")


def test_the_same_seed_breaks_the_same_bytes(
    tmp_path: Path, examples: dict[str, Examples]
) -> None:
    """A fault can be repeated by its format, number and seed."""
    case = Case("urdf", 7, False)
    first, again, other = (
        write_case(case, examples["urdf"], seed, tmp_path).read_bytes()
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_what_counts_as_a_fault() -> None:
    """Errors that are not ours and warnings of NumPy are faults."""
    import numpy as np

    assert attempt(lambda: 1 / 0).startswith("ZeroDivisionError")
    assert attempt(lambda: np.float64(1.0) / np.float64(0.0)).startswith("warning")
    assert attempt(lambda: 1) == LOADED


def test_processes_that_die_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, examples: dict[str, Examples]
) -> None:
    """A crash is the fault of one case; the next is tried in another process."""
    import faulthandler
    import os

    from benchmarks.mutations import workers

    def crash(kind: str, file: Path) -> str:
        if file.read_bytes() == doomed:
            faulthandler.disable()  # it is meant to die
            os.abort()
        return LOADED

    cases = [Case("obj", number, False) for number in range(5)]
    doomed = write_case(cases[2], examples["obj"], 0, tmp_path).read_bytes()
    monkeypatch.setattr(workers, "from_python", crash)
    found = {
        case.number: what for case, what in outcomes(cases, examples, 0, tmp_path, 1)
    }
    assert found.pop(2) == "the process ended with SIGABRT"
    assert set(found.values()) == {LOADED}
    assert len(found) == 4


def test_the_table_and_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints a row for each format; unknown formats are bad input."""
    assert main(["--count", "3", "--cli", "0", "--formats", "obj,toml"]) == 0
    said = capsys.readouterr().out
    assert "obj        Python" in said
    assert "seed 0, 6 files" in said
    assert main(["--formats", "doc"]) == 2
