"""Entry point: picks the verb, turns errors into one line and an exit status.

Exit status: 0 the robot did it, 1 it ran and the robot did not, 2 the input is bad.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import Annotated, get_args

import tyro

from equipoise import __version__
from equipoise.cli.certify import Certify
from equipoise.cli.compare import Compare
from equipoise.cli.console import drop_output, printable, remembered_interrupts
from equipoise.cli.dance import Dance
from equipoise.cli.film import Film
from equipoise.cli.identify import Identify
from equipoise.cli.info import Export, Info, Robots
from equipoise.cli.log import Log
from equipoise.cli.plot import Plot
from equipoise.cli.pose import Pose
from equipoise.cli.poses import Poses
from equipoise.cli.push import Push
from equipoise.cli.reach import Reach
from equipoise.cli.study import Study
from equipoise.cli.three_link import ThreeLink
from equipoise.cli.trajectory import Trajectory
from equipoise.cli.trial import Drop, Stand
from equipoise.cli.view import View
from equipoise.cli.walk import Walk
from equipoise.errors import EquipoiseError

BAD_INPUT = 2
# Not the user's fault, so not 2: EX_SOFTWARE of sysexits.h.
INTERNAL_ERROR = 70
INTERRUPTED = 130
# Packages speak Python in their messages; here the same is an option.
SHELL_WORDS = {
    "replace=True replaces": "--force replaces",
    "robot=…": "--robot URDF",
    "units={'angle': 'deg'}": "--units angle=deg",
    "units={'length': 'mm'}": "--units length=mm",
    "units={'force': 'kgf'}": "--units force=kgf",
    "units={'torque': 'Nmm'}": "--units torque=Nmm",
    "wrench_frames={NAME: FRAME}": "--wrench-frame NAME=FRAME",
    "free_mass=True": "--free-mass",
    "plate_at=(x, y, z, yaw)": "--plate-at x,y,z,yaw",
    "up='base'": "--up base",
    "up='soles'": "--up soles",
    "prior.com_std": "--com-std",
    "prior.mass_std_fraction": "--mass-std",
    "prior.lateral_force_std": "--offset-std",
    "prior.vertical_force_std": "--offset-std",
    "prior.torque_std": "--offset-std",
    "arms=…": "--arms FILE",
    "choose_poses() finds": "'equipoise poses' finds",
}
LONGEST_COMPLAINT = 600
OUTPUT_FAILS = (errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO)

Verb = (
    Annotated[Robots, tyro.conf.subcommand("robots")]
    | Annotated[Info, tyro.conf.subcommand("info")]
    | Annotated[Export, tyro.conf.subcommand("export")]
    | Annotated[Stand, tyro.conf.subcommand("stand")]
    | Annotated[Drop, tyro.conf.subcommand("drop")]
    | Annotated[Push, tyro.conf.subcommand("push")]
    | Annotated[Walk, tyro.conf.subcommand("walk")]
    | Annotated[Reach, tyro.conf.subcommand("reach")]
    | Annotated[Dance, tyro.conf.subcommand("dance")]
    | Annotated[Identify, tyro.conf.subcommand("identify")]
    | Annotated[View, tyro.conf.subcommand("view")]
    | Annotated[Plot, tyro.conf.subcommand("plot")]
    | Annotated[Film, tyro.conf.subcommand("film")]
    | Annotated[Compare, tyro.conf.subcommand("compare")]
    | Annotated[Log, tyro.conf.subcommand("log")]
    | Annotated[Trajectory, tyro.conf.subcommand("trajectory")]
    | Annotated[Poses, tyro.conf.subcommand("poses")]
    | Annotated[Pose, tyro.conf.subcommand("pose")]
    | Annotated[Certify, tyro.conf.subcommand("certify")]
    | Annotated[ThreeLink, tyro.conf.subcommand("three-link")]
    | Annotated[Study, tyro.conf.subcommand("study")]
)
AnyVerb = (
    Robots
    | Info
    | Export
    | Stand
    | Drop
    | Push
    | Walk
    | Reach
    | Dance
    | Identify
    | View
    | Plot
    | Film
    | Compare
    | Log
    | Trajectory
    | Poses
    | Pose
    | Certify
    | ThreeLink
    | Study
)


VERBS = {verb.__metadata__[0].name: verb.__origin__ for verb in get_args(Verb)}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status.

    Args:
        arguments: Words after the program's name; those of the process if None.
    """
    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(run(words))


def run(words: list[str]) -> int:
    """Run a verb and return the exit status."""
    status = 0
    try:
        if words in (["--version"], ["-V"]):
            print(f"equipoise {__version__}")
            status = 0
        else:
            with remembered_interrupts():
                status = _parse(words or ["--help"]).run()
        sys.stdout.flush()
    except EquipoiseError as error:
        return _complain(str(error), BAD_INPUT)
    except SystemExit as stop:  # help was shown, or the words were wrong
        return int(stop.code or 0)
    except BrokenPipeError:  # the reader of our output has gone, e.g. `| head`
        drop_output()
        return status
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except Exception as error:
        return _explain(error)
    return status


def _parse(words: list[str]) -> AnyVerb:
    """Return the verb with its options; wrong words are one line on stderr."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            verb: AnyVerb = tyro.cli(
                Verb,
                prog="equipoise",
                description=(
                    "The centre-of-mass toolkit for biped and humanoid robots. ROBOT "
                    "is a catalogue name or a path to a URDF, MJCF or DH (TOML) file."
                ),
                args=words,
                config=(tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as stop:
        if stop.code:
            from equipoise.cli.complaints import plain_complaint

            said = plain_complaint(complaint.getvalue(), words, VERBS)
            sys.exit(_complain(said, BAD_INPUT))
        raise
    return verb


def _explain(error: Exception) -> int:
    if sys.stdout is None or getattr(error, "errno", None) in OUTPUT_FAILS:
        drop_output()
        reason = getattr(error, "strerror", None) or "standard output is closed"
        return _complain(f"the output cannot be written: {reason}", BAD_INPUT)
    if os.environ.get("EQUIPOISE_DEBUG"):
        raise error
    kind = type(error).__name__
    return _complain(
        f"internal error: {kind}: {error} (EQUIPOISE_DEBUG=1 shows where)",
        INTERNAL_ERROR,
    )


def _complain(message: str, status: int) -> int:
    """Print one printable line, no longer than anybody reads, in the shell's words."""
    for in_python, in_the_shell in SHELL_WORDS.items():
        message = message.replace(in_python, in_the_shell)
    line = printable(message)
    if len(line) > LONGEST_COMPLAINT:
        line = f"{line[: LONGEST_COMPLAINT - 1]}…"
    if sys.stderr is not None:
        print(f"equipoise: {line}", file=sys.stderr)
    return status
