"""The folder of a run: it appears complete, or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.atomic_file import naming_file, write_text_atomically
from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_file import LOG_NAME
from equipoise.log.mcap_format.mcap_writer import write_mcap
from equipoise.log.summary import SUMMARY_NAME, summary_as_json

if TYPE_CHECKING:
    from equipoise.log.run import Run

REPORT_NAME = "report.html"
FILES = (SUMMARY_NAME, LOG_NAME, REPORT_NAME)


def write_run(
    run: Run, folder: Path | str, *, report: str | None, replace: bool = False
) -> Path:
    """Write ``summary.json``, ``run.mcap`` and ``report.html``.

    All is written into a hidden folder beside, which is then given its name; after a
    failure, or Ctrl-C, everything is as it was before.

    Args:
        run: The run.
        folder: The folder to make; its parent must exist.
        report: The report's HTML; None for no report.
        replace: Whether a run that is there already may be replaced.

    Raises:
        EquipoiseError: If the folder cannot or must not be written.
    """

    def write(part: Path) -> None:
        write_text_atomically(part / SUMMARY_NAME, summary_as_json(run.summary))
        if report is not None:
            write_text_atomically(part / REPORT_NAME, report)
        with (part / LOG_NAME).open("wb") as stream:
            write_mcap(run, stream)
            stream.flush()
            os.fsync(stream.fileno())

    return write_folder(folder, write, replace=replace)


def write_folder(
    folder: Path | str,
    write: Callable[[Path], None],
    *,
    files: Collection[str] = FILES,
    replace: bool = False,
) -> Path:
    """Make a folder that appears with all of its files, or not at all.

    Args:
        folder: The folder to make; its parent must exist.
        write: Writes the files into the folder that it is given.
        files: Names that a folder of this kind holds.
        replace: Whether one that is there already may be replaced.

    Raises:
        EquipoiseError: If the folder cannot or must not be written.
    """
    folder = Path(folder)
    target = check_folder(folder, files=files, replace=replace)
    with naming_file(folder), _hidden_beside(target) as part:
        write(part)
        _put_in_place(part, target)
    return folder


def check_folder(
    folder: Path | str, *, files: Collection[str] = FILES, replace: bool = False
) -> Path:
    """Return where a folder would be written, links resolved; ask before a long run.

    An empty folder may be there; one that holds anything else is never replaced.
    Arguments and errors are those of :func:`write_folder`.
    """
    folder = Path(folder)
    with naming_file(folder):
        target = Path(os.path.realpath(folder))
        if not target.parent.is_dir():
            raise EquipoiseError(
                f"{folder}: the folder '{target.parent}' does not exist"
            )
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise EquipoiseError(
                f"{folder}: the folder '{target.parent}' cannot be written to"
            )
        if not target.exists():
            return target
        if not target.is_dir():
            raise EquipoiseError(f"{folder}: is a file, not a folder")
        inside = sorted(os.listdir(target))
    foreign = [name for name in inside if name not in files]
    if foreign:
        raise EquipoiseError(
            f"{folder}: exists and holds '{foreign[0]}', which is not part of a run; "
            "name another folder"
        )
    if inside and not replace:
        raise EquipoiseError(f"{folder}: exists already; replace=True replaces it")
    return target


@contextmanager
def _hidden_beside(target: Path) -> Iterator[Path]:
    """Make a folder beside the target, and remove what is left of it."""
    part = _hidden_name(target, "part")
    try:
        part.mkdir()
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _put_in_place(part: Path, target: Path) -> None:
    """Give a finished folder its name; what had the name is removed."""
    if not target.exists():
        os.rename(part, target)
        return
    old = _hidden_name(target, "old")
    try:
        os.rename(target, old)
        os.rename(part, target)
    except BaseException:
        if old.exists() and not target.exists():
            os.rename(old, target)
        raise
    finally:
        if target.exists():
            with suppress(OSError):
                shutil.rmtree(old)


def _hidden_name(target: Path, ending: str) -> Path:
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.{ending}")
