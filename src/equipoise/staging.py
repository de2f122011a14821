"""Hidden folders in which files are made before they get their place.

The process that makes one holds a lock in it. The operating system releases the lock
when the process ends, however it ends: a staging folder without a lock was left behind
by a process that was killed, and the next one to write beside it removes it.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

ENDING = ".equipoise.part"
# In a staging folder: the locked file with the name of what is made, what is made, what
# it replaces, and what was replaced and can be removed.
LOCK, NEW, OLD, REPLACED = "target", "new", "old", "replaced"
_STAGING_NAME = re.compile(rf"\..*\.[0-9a-f]{{8}}{re.escape(ENDING)}", re.DOTALL)
# A name may have 255 bytes, and four of them may be one character.
LONGEST_NAME = 40


@contextmanager
def staging_folder(parent: Path, name: str) -> Iterator[Path]:
    """Make a hidden folder that exists while the context lasts.

    Leftovers of killed processes in the same parent are removed first. When the context
    ends, a folder that :func:`put_in_place` took away and did not replace is put back.

    Args:
        parent: Where to make it.
        name: File name of what is made in it, for its own name.

    Raises:
        OSError: If it cannot be made.
    """
    remove_leftovers(parent)
    folder, lock = _make(parent, name)
    with lock:
        try:
            yield folder
        finally:
            _clear(folder, parent / name)


def put_in_place(staging: Path, target: Path) -> None:
    """Give the folder ``new`` of a staging folder its name; an old one is removed.

    The old one is moved into the staging folder first: whoever ends that, this process
    or the one that finds it after a kill, sees from there whether to put it back.

    Args:
        staging: The staging folder, made beside the target.
        target: Name of the new folder.

    Raises:
        OSError: If one of them cannot be renamed.
    """
    if os.path.lexists(target):
        os.rename(target, staging / OLD)
    os.rename(staging / NEW, target)


def remove_leftovers(parent: Path) -> None:
    """Remove what this user's killed processes left in a folder; never fails.

    If one was killed while it replaced a folder, the old folder is put back. What a
    living process is still making is left alone.
    """
    with suppress(OSError):
        for name in os.listdir(parent):
            if _STAGING_NAME.fullmatch(name):
                with suppress(OSError, ValueError):
                    _remove_if_abandoned(parent / name)


def _make(parent: Path, name: str) -> tuple[Path, BinaryIO]:
    """Return a new staging folder and the file in it whose lock is held."""
    while True:
        folder = parent / f".{name[:LONGEST_NAME]}.{secrets.token_hex(4)}{ENDING}"
        folder.mkdir(mode=0o700)
        try:
            lock = (folder / LOCK).open("xb")
        except FileNotFoundError:  # taken for a leftover before it was locked
            continue
        except BaseException:
            folder.rmdir()
            raise
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock.fileno()).st_nlink:
                lock.write(os.fsencode(name))
                lock.flush()
                os.fsync(lock.fileno())
                return folder, lock
        except BaseException:
            lock.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        lock.close()  # removed as a leftover before it was locked


def _remove_if_abandoned(folder: Path) -> None:
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        return
    try:
        lock = (folder / LOCK).open("r+b")
    except FileNotFoundError:  # killed before it was locked, or while it was removed
        if not os.path.lexists(folder / OLD):
            shutil.rmtree(folder, ignore_errors=True)
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if its process lives
        name = os.fsdecode(lock.read())
        if name == os.path.basename(name):
            _clear(folder, folder.parent / name)


def _clear(folder: Path, target: Path) -> None:
    """Remove a staging folder; put back what is missing in its place."""
    old = folder / OLD
    with suppress(OSError):  # if the old folder cannot be moved, it is kept here
        if os.path.lexists(old):
            # a removal that is interrupted must not be taken for an old folder
            gone = os.path.lexists(target)
            os.rename(old, folder / REPLACED if gone else target)
        shutil.rmtree(folder, ignore_errors=True)
