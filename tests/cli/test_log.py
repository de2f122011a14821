from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from foreign_bags import START, Sent, joint_state, write_db3_bag, write_mcap_bag
from mcap.reader import make_reader
from runs import swaying
from said import Say

KNEES = [
    joint_state(START + at * 10_000_000, {"l_knee": 0.0, "r_knee": 0.1})
    for at in range(101)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a run."""
    run = swaying(seconds=3.0, rate=100.0)
    summary = {**run.summary, "seed": 7, "command": "equipoise stand humanoid"}
    return swaying(seconds=3.0, rate=100.0, summary=summary).save(tmp_path / "out")


def test_table_of_topics(say: Say, folder: Path) -> None:
    """Every topic has a row with type, count, rate and times; then what made it."""
    said = say("log", folder)
    assert said.status == 0
    assert said.err == ""
    row = next(line for line in said.out.splitlines() if "/joint_states" in line)
    expected = ["/joint_states", "sensor_msgs/msg/JointState", "301", "100.0"]
    assert row.split() == [*expected, "0.000", "3.000"]
    assert "3.000 s, " in said.out
    for line in ("robot: humanoid", "seed: 7", "command: equipoise stand humanoid"):
        assert line in said.out
    assert "note:" not in said.out


def test_json_agrees_with_the_makers_reader(say: Say, folder: Path) -> None:
    """Counts and times are those that MCAP's own reader finds."""
    facts = json.loads(say("log", folder, "--json").out)
    file = folder / "run.mcap"
    with file.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    counts = {
        channel.topic: summary.statistics.channel_message_counts[channel.id]
        for channel in summary.channels.values()
    }
    assert {topic["name"]: topic["messages"] for topic in facts["topics"]} == counts
    assert facts["size_bytes"] == file.stat().st_size
    assert facts["duration_s"] == 3.0
    assert (facts["robot"], facts["seed"]) == ("humanoid", 7)
    assert facts["notices"] == []
    once = next(t for t in facts["topics"] if t["name"] == "/robot_description")
    assert (once["messages"], once["rate_hz"]) == (1, None)


def test_log_that_is_cut_off(say: Say, folder: Path) -> None:
    """What is whole is shown, and one line says what is lost; that is not a failure."""
    log = folder / "run.mcap"
    log.write_bytes(log.read_bytes()[: int(0.7 * log.stat().st_size)])
    said = say("log", folder)
    assert said.status == 0
    notes = [line for line in said.out.splitlines() if line.startswith("note:")]
    assert len(notes) == 1
    assert "run.mcap is cut off" in notes[0]
    assert "of 3.00 s are whole (the rest, " in notes[0]


@pytest.mark.parametrize("length", [0, 10, 100])
def test_nothing_is_readable(say: Say, folder: Path, length: int) -> None:
    """If nothing is left, that is bad input: one line, exit status 2."""
    log = folder / "run.mcap"
    log.write_bytes(log.read_bytes()[:length])
    said = say("log", folder)
    assert (said.status, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert "run.mcap" in said.err


def test_cut_anywhere(say: Say, folder: Path) -> None:
    """Wherever a log ends, the verb says what is left, or one line."""
    log = folder / "run.mcap"
    content = log.read_bytes()
    for length in np.linspace(0, len(content) - 1, 25).astype(int):
        log.write_bytes(content[:length])
        said = say("log", folder)
        assert said.status in (0, 2)
        assert said.err.count("\n") == (said.status == 2)
        if said.status == 0:
            assert "note: run.mcap is" in said.out


def test_bags_of_others(say: Say, tmp_path: Path) -> None:
    """Bags in MCAP and SQLite, and CSV, are shown alike; strange types are listed."""
    strange = Sent("/note", "std_msgs/String", {"data": "hi"}, START)
    files = [
        write_mcap_bag(tmp_path / "a.mcap", [*KNEES, strange]),
        write_db3_bag(tmp_path / "a.db3", [*KNEES, strange]),
    ]
    for file in files:
        facts = json.loads(say("log", file, "--json").out)
        assert [topic["name"] for topic in facts["topics"]] == [
            "/joint_states",
            "/note",
        ]
        joints = facts["topics"][0]
        assert (joints["messages"], joints["first_s"]) == (101, 0.0)
        assert joints["rate_hz"] == pytest.approx(100.0)
        assert facts["robot"] is None
    table = tmp_path / "a.csv"
    table.write_text("time,l_knee\n0,0\n0.1,0\n", encoding="utf-8")
    assert "joints: position (1)" in say("log", table).out


def test_what_is_no_log(say: Say, tmp_path: Path) -> None:
    """A folder that is not a run, a file that is not a log, nothing: one line each."""
    (tmp_path / "a.pdf").write_text("", encoding="utf-8")
    for path, reason in (
        (tmp_path, "is not the folder of a run or a ROS 2 bag"),
        (tmp_path / "a.pdf", "is not a log file; logs are"),
        (tmp_path / "none", "no such file or folder"),
        (tmp_path / ("x" * 300), "no such file or folder"),
    ):
        said = say("log", path)
        assert (said.status, said.out) == (2, "")
        assert said.err.count("\n") == 1
        assert reason in said.err
