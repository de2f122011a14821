"""Entry point: picks the verb, turns errors into one line and an exit status.

Exit status: 0 the robot did it, 1 it ran and the robot did not, 2 the input is bad.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import tyro

from equipoise import __version__
from equipoise.cli.export import Export
from equipoise.cli.info import Info
from equipoise.cli.robots import Robots
from equipoise.errors import EquipoiseError

BAD_INPUT = 2
# Not the user's fault, so not 2: EX_SOFTWARE of sysexits.h.
INTERNAL_ERROR = 70
INTERRUPTED = 130

Verb = (
    Annotated[Robots, tyro.conf.subcommand("robots")]
    | Annotated[Info, tyro.conf.subcommand("info")]
    | Annotated[Export, tyro.conf.subcommand("export")]
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status.

    Args:
        arguments: Words after the program's name; those of the process if None.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words in (["--version"], ["-V"]):
        print(f"equipoise {__version__}")
        sys.exit(0)
    sys.exit(run(words))


def run(words: list[str]) -> int:
    """Run a verb and return the exit status."""
    try:
        verb: Robots | Info | Export = tyro.cli(
            Verb,
            prog="equipoise",
            description=(
                "The centre-of-mass toolkit for biped and humanoid robots. "
                "ROBOT is a catalogue name or a path to a URDF or MJCF file."
            ),
            args=words or ["--help"],
            config=(tyro.conf.FlagCreatePairsOff,),
        )
        return verb.run()
    except EquipoiseError as error:
        return _complain(str(error), BAD_INPUT)
    except BrokenPipeError:  # the reader of our output has gone, e.g. `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except Exception as error:
        if os.environ.get("EQUIPOISE_DEBUG"):
            raise
        kind = type(error).__name__
        return _complain(
            f"internal error: {kind}: {error} (EQUIPOISE_DEBUG=1 shows where)",
            INTERNAL_ERROR,
        )


def _complain(message: str, status: int) -> int:
    print(f"equipoise: {' '.join(message.split())}", file=sys.stderr)
    return status
