"""``equipoise log``: what is in a log, ours or a real robot's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from equipoise.cli.console import make_console, make_table, printable

if TYPE_CHECKING:
    from equipoise.log.open_run import Contents, TopicFacts

MEGABYTE = 1e6


@dataclass(frozen=True)
class Log:
    """Show the topics of a log: types, messages, rates and times."""

    log: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="LOG")]
    """Folder of a run, MCAP file, ROS 2 bag (folder or .db3), or CSV file."""

    json: bool = False
    """Print everything as JSON, for machines."""

    def run(self) -> int:
        """Read the log and print what is in it."""
        from equipoise.log.open_run import log_contents

        found = log_contents(self.log)
        if self.json:
            print(json.dumps(_facts(found), indent=2, allow_nan=False))
        else:
            _print(found)
        return 0


def _facts(found: Contents) -> dict[str, Any]:
    return {
        "path": str(found.path),
        "duration_s": found.duration,
        "size_bytes": found.size,
        "robot": found.robot,
        "seed": found.summary.get("seed"),
        "command": found.summary.get("command"),
        "topics": [
            {
                "name": topic.name,
                "type": topic.type,
                "messages": topic.messages,
                "rate_hz": topic.rate,
                "first_s": topic.first,
                "last_s": topic.last,
            }
            for topic in found.topics
        ],
        "notices": list(found.notices),
    }


def _print(found: Contents) -> None:
    console = make_console()
    numbers = ("messages", "rate [Hz]", "first [s]", "last [s]")
    table = make_table("topic", "type", *numbers, numbers=numbers)
    for topic in found.topics:
        table.add_row(*_row(topic))
    console.print(printable(str(found.path)), style="bold", soft_wrap=True)
    console.print(table)
    console.print(f"{found.duration:.3f} s, {found.size / MEGABYTE:.2f} MB on disk")
    facts = {"robot": found.robot, "seed": found.summary.get("seed")}
    facts["command"] = found.summary.get("command")
    for name, value in facts.items():
        if value is not None:
            console.print(printable(f"{name}: {value}"), soft_wrap=True)
    for notice in found.notices:
        line = printable(f"note: {notice}")
        console.print(line, style="yellow", soft_wrap=True)


def _row(topic: TopicFacts) -> list[str]:
    times = (topic.rate, topic.first, topic.last)
    shown = [f"{value:.3f}" if value is not None else "-" for value in times]
    if topic.rate is not None:
        shown[0] = f"{topic.rate:.1f}"
    return [printable(topic.name), printable(topic.type), str(topic.messages), *shown]
