"""Work that would take long is not begun without --long; bad numbers are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import swaying
from said import Say

import equipoise as eq
from equipoise.cli.long_work import refuse_long, simulation_seconds
from equipoise.errors import EquipoiseError
from equipoise.log.recordings.recording_of_csv import recording_of_csv
from equipoise.simulation.trials import stand
from equipoise.simulation.world import make_world


@pytest.mark.parametrize(
    ("words", "about"),
    [
        ("stand itu-biped --seconds 86400 --dt 1e-6", "8.64e+10 time steps"),
        ("drop itu-biped --seconds 50000 --engine mujoco", "5e+07 time steps"),
        ("walk itu-biped --steps 150 --dt 1e-6", "time steps"),
        ("poses itu-biped --candidates 1000000000", "of 1000000000 poses"),
    ],
)
def test_long_work_is_refused_with_an_estimate(
    say: Say, words: str, about: str
) -> None:
    """One line says what it is, how long it takes and how to do it all the same."""
    said = say(*words.split())
    assert said.status == 2
    assert said.err.count("\n") == 1
    assert about in said.err
    assert "would take about" in said.err
    assert "--long does it all the same" in said.err


def test_films_of_too_many_pictures(say: Say, tmp_path: Path) -> None:
    """Pictures are counted before they are drawn."""
    swaying(seconds=1.0, rate=100.0).save(tmp_path / "run")
    film = ("film", tmp_path / "run", "--out", tmp_path / "film.gif")
    said = say(*film, "--fps", "50", "--speed", "1e-4")
    assert said.status == 2
    assert "would take about" in said.err
    said = say(*film, "--fps", "50", "--speed", "1e-300")
    assert said.status == 2
    assert "pictures; at most" in said.err


def test_long_work_that_is_asked_for() -> None:
    """Ten minutes are the limit; --long lifts it; the estimate is in plain units."""
    refuse_long(599.0, "it", long=False)
    refuse_long(1e9, "it", long=True)
    for seconds, words in (
        (1200.0, "20 minutes"),
        (36_000.0, "10 hours"),
        (864_000.0, "10 days"),
        (1e9, "32 years"),
    ):
        with pytest.raises(EquipoiseError, match=f"it would take about {words}"):
            refuse_long(seconds, "it", long=False)
    assert simulation_seconds(1e6, "native", 35) == pytest.approx(24.0)


@pytest.mark.parametrize("height", ["1e-9", "1e300", "1e-300", "nan"])
def test_impossible_heights_of_the_com(say: Say, height: str) -> None:
    """A height that no robot has is bad input, not a singular matrix."""
    said = say("walk", "itu-biped", "--com-height", height)
    assert said.status == 2
    assert "com_height is" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "words", [("pose", "itu-biped", "{}", "1"), ("identify", "itu-biped", "{}")]
)
def test_tables_without_a_usable_column(
    say: Say, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A table of texts is bad input."""
    table = tmp_path / "texts.csv"
    table.write_text("a,b\nx,y\n", encoding="utf-8")
    said = say(*(word.format(table) for word in words))
    assert said.status == 2
    assert "none of its columns holds numbers" in said.err


def test_worlds_without_contacts() -> None:
    """A robot that touches nothing falls; that is a result, not an error."""
    world = make_world(eq.load("itu-biped"), contacts=())
    summary = stand(world, seconds=0.5).summary
    assert summary["fell_at_s"] is not None
    assert summary["sinkage_m"] == {"mean": 0.0, "max": 0.0}


@pytest.mark.parametrize("cells", ["0,1e300", "0,inf", "0,-1e31"])
def test_absurd_numbers_count_as_missing(
    tmp_path: Path, cells: str, recwarn: pytest.WarningsRecorder
) -> None:
    """A position that nothing can have is held at the one before, quietly."""
    table = tmp_path / "log.csv"
    table.write_text(f"time,knee\n0.1,0.2\n{cells}\n0.3,0.2\n", encoding="utf-8")
    recording = recording_of_csv(table)
    assert recording.joints["knee"].tolist() == [0.2] * 3
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize("time", ["1e300", "1e12", "inf"])
def test_absurd_times_are_refused(
    tmp_path: Path, time: str, recwarn: pytest.WarningsRecorder
) -> None:
    """Times that nanoseconds cannot count are bad input."""
    table = tmp_path / "log.csv"
    table.write_text(f"time,knee\n0.1,0.2\n{time},0.2\n", encoding="utf-8")
    with pytest.raises(EquipoiseError, match=r"has no time|times span .* years"):
        recording_of_csv(table)
    assert [str(warning.message) for warning in recwarn] == []


def test_many_columns_take_little_time(tmp_path: Path) -> None:
    """Tables of 60,000 columns, also of equal names and of texts, are read in line."""
    names = [f"joint_{at}" for at in range(60_000)]
    table = tmp_path / "wide.csv"
    row = ",".join(["0.5"] * len(names))
    table.write_text(f"time,{','.join(names)}\n0,{row}\n1,{row}\n", encoding="utf-8")
    assert len(recording_of_csv(table).joints) == len(names)
    texts = ",".join(["x"] * len(names))
    table.write_text(f"time,{','.join(names)}\n0,{texts}\n", encoding="utf-8")
    with pytest.raises(EquipoiseError, match="no joint positions"):
        recording_of_csv(table)
    table.write_text(f"time,{','.join([*names, names[-1]])}\n0\n", encoding="utf-8")
    with pytest.raises(EquipoiseError, match="two columns have the name"):
        recording_of_csv(table)
