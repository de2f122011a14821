"""Mesh files that a robot file names: found on this machine, or said to be missing."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path, PurePosixPath

from equipoise.errors import EquipoiseError, RobotFileError
from equipoise.robot.description import counted, first_few
from equipoise.robot.formats.xml_file import parse_xml, read_bytes

# Packages under another folder name are looked for beside so many of the folders above
# the robot file, and among so many folders there.
NEAREST_FOLDERS = 3
MOST_NEIGHBOURS = 500
LONGEST_NAME = 200  # in a warning
PACKAGE_VARIABLES = (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share"))


class MeshFiles:
    """The mesh files of one robot file, and which of them cannot be had.

    ``package://p/…`` and ``model://p/…`` are looked for in every folder above the
    robot file and in the folders of ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH``. A
    package is a folder of that name, or one whose ``package.xml`` has that name; right
    below the root of the file system it needs that ``package.xml``. A link in a package
    may lead to files of the same package, beside the package and beside the robot file,
    and to those below the folders of these variables, but nowhere else. A plain path is
    relative to the robot file. Where the robot file is a symbolic link, the folders
    above its target count as well. A file whose name differs in letter case alone is
    taken where there is no other.
    """

    def __init__(self, robot_file: Path) -> None:
        self.robot_file = robot_file
        self._files: dict[str, Path | None] = {}
        self._missing: list[str] = []
        self._denied: list[str] = []
        self._outside: list[str] = []
        self._other_case: list[str] = []
        self._places: dict[str, None] = {}  # an ordered set
        self._named: dict[str, list[Path]] = {}
        self._declared: dict[str, list[Path]] = {}

    def find(self, name: str) -> Path | None:
        """Return a mesh file; None where it is not on this machine.

        Raises:
            RobotFileError: If a package path climbs out of its package.
        """
        if name not in self._files:
            try:
                self._files[name] = self._search(name)
            except (OSError, ValueError):  # over-long names, embedded NUL
                self._missing.append(name)
                self._files[name] = None
        return self._files[name]

    def notices(self) -> list[str]:
        """Return a sentence on files that are missing, denied or spelt otherwise."""
        looked = f"; looked {first_few(list(self._places))}" if self._places else ""
        found = []
        if self._missing:
            found.append(missing_files(self._missing) + looked)
        if self._denied:
            found.append(denied_files(self._denied))
        if self._outside:
            found.append(outside_files(self._outside))
        if self._other_case:
            found.append(other_case(self._other_case))
        return found

    def _search(self, name: str) -> Path | None:
        scheme, separator, rest = name.partition("://")
        if not separator:
            inside = name
            folders = [self.robot_file.parent, self._target.parent]
            place = f"from {self.robot_file.absolute().parent}"
        elif scheme == "file":
            inside, folders, place = rest, [Path(os.sep)], "at the absolute path"
        elif scheme in ("package", "model"):
            rest = rest.lstrip("/")  # "package:///p/…" is met in released files
            if ".." in PurePosixPath(rest).parts or rest.startswith("."):
                raise RobotFileError(
                    f"{self.robot_file}: mesh path '{name}' climbs out of its package"
                )
            package, _, inside = rest.partition("/")
            folders = self._folders_of(package, inside)
            place = self._package_place(package, folders)
        else:
            inside, folders, place = "", [], f"nowhere: {scheme}:// is not supported"
        packaged = scheme in ("package", "model") and bool(separator)
        denied = outside = False
        for folder in folders:
            try:
                if is_regular_file(folder / inside):
                    if not packaged or self._stays(folder / inside, package, folders):
                        return folder / inside
                    outside = True
            except PermissionError:
                denied = True
        for folder in () if outside else folders:
            found = in_any_case(folder, inside)
            if found is None:
                continue
            if packaged and not self._stays(found, package, folders):
                outside = True
                continue
            self._other_case.append(f"{name} as {found}")
            return found
        if outside:
            self._outside.append(name)
        elif denied:
            self._denied.append(name)
        else:
            self._missing.append(name)
            self._places[place] = None
        return None

    def _stays(self, file: Path, package: str, folders: list[Path]) -> bool:
        """Whether a file of a package, links followed, is where it may be."""
        target = file.resolve()
        own = {self.robot_file.parent, self._target.parent}
        beside = {folder.parent for folder in (*folders, *own)}
        top = {Path(target.anchor), Path.home()}
        roots = {*folders, *_package_paths(), *own, *beside}
        if any(
            target.is_relative_to(root)
            for root in (folder.resolve() for folder in roots)
            if root not in top
        ):
            return True
        return any(_package_name(folder) == package for folder in target.parents)

    @property
    def _target(self) -> Path:
        """The robot file itself, where it is named by a symbolic link."""
        return self.robot_file.resolve()

    def _package_place(self, package: str, folders: list[Path]) -> str:
        if folders:
            return f"in {' and '.join(map(str, folders))}"
        variables = (
            name if os.environ.get(name) else f"{name} (not set)"
            for name, _ in PACKAGE_VARIABLES
        )
        return (
            f"for package '{package}' above {self.robot_file} and in "
            f"{' and '.join(variables)}"
        )

    def _folders_of(self, package: str, inside: str) -> list[Path]:
        """Return the folders that may be a package and hold a file.

        These are folders of that name; where the file is in none of them, also those
        whose package.xml has the name, which take longer to find.
        """
        if package not in self._named:
            self._named[package] = _folders(self._by_name(package))
        named = self._named[package]
        if any(_can_be_read(folder / inside) for folder in named):
            return named
        if package not in self._declared:
            self._declared[package] = _folders(self._by_package_xml(package))
        return list(dict.fromkeys((*named, *self._declared[package])))

    def _by_name(self, package: str) -> Iterator[Path]:
        for folder in self._above:
            if folder.name == package:
                yield folder
            below = folder / package
            if folder != folder.parent or _can_be_read(below / "package.xml"):
                yield below
        for folder in _package_paths():
            yield folder / package
            if folder.name == package:
                yield folder

    def _by_package_xml(self, package: str) -> Iterator[Path]:
        near = self._above[:NEAREST_FOLDERS]
        beside = chain.from_iterable(map(_subfolders, (*near, *_package_paths())))
        for folder in chain(self._above, _package_paths(), beside):
            if _package_name(folder) == package:
                yield folder

    @property
    def _above(self) -> list[Path]:
        above = (*self.robot_file.absolute().parents, *self._target.parents)
        # nearest first, whichever way it is reached
        return sorted(dict.fromkeys(above), key=lambda folder: -len(folder.parts))


def missing_files(names: Iterable[str]) -> str:
    """Return a sentence that counts and names mesh files that were not found."""
    every = [_shown(name) for name in names]
    were = "was" if len(every) == 1 else "were"
    return f"{counted(len(every), 'mesh file')} {were} not found: {first_few(every)}"


def denied_files(names: Iterable[str]) -> str:
    """Return a sentence that counts and names mesh files without the right to read."""
    every = [_shown(name) for name in names]
    return (
        f"{counted(len(every), 'mesh file')} cannot be read (permission denied): "
        f"{first_few(every)}"
    )


def outside_files(names: Iterable[str]) -> str:
    """Return a sentence on mesh files that a link leads out of their package."""
    every = [_shown(name) for name in names]
    return (
        f"{counted(len(every), 'mesh file')} left out, as a link leads out of the "
        f"package: {first_few(every)}"
    )


def other_case(names: Iterable[str]) -> str:
    """Return a sentence on mesh files found under a name of other letter case."""
    every = [_shown(name) for name in names]
    return (
        f"{counted(len(every), 'mesh file')} found by ignoring letter case: "
        f"{first_few(every)}"
    )


def _shown(name: str) -> str:
    """Return a name on one line, its end if it is long."""
    line = " ".join(name.split())
    return line if len(line) <= LONGEST_NAME else f"…{line[-LONGEST_NAME:]}"


def is_regular_file(path: Path) -> bool:
    """Whether a path leads to a regular file that may be read.

    Raises:
        PermissionError: If it may not, or a folder on the way may not be entered.
    """
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except PermissionError:
        raise
    except OSError:
        return False
    if regular and not os.access(path, os.R_OK):
        raise PermissionError(path)
    return regular


def in_any_case(folder: Path, inside: str) -> Path | None:
    """Return a readable file whose path differs from ``folder/inside`` in case alone.

    The folder stands as it is; of several such files the first in order is returned.
    """
    path = folder / inside
    if Path(inside).is_absolute():
        folder = Path(path.anchor)
    parts = path.parts[len(folder.parts) :]
    found = [folder]
    for part in parts:
        found = [child for place in found for child in _children_like(place, part)]
    return next(filter(_can_be_read, found), None)


def _children_like(folder: Path, name: str) -> list[Path]:
    if name == "..":
        return [folder / name]
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [folder / other for other in names if other.lower() == name.lower()]


def _package_paths() -> list[Path]:
    """Return the folders that hold packages by the variables of ROS and ROS 2."""
    return [
        Path(entry) / below
        for variable, below in PACKAGE_VARIABLES
        for entry in os.environ.get(variable, "").split(os.pathsep)
        if entry
    ]


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in islice(entries, MOST_NEIGHBOURS) if e.is_dir()]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def _folders(candidates: Iterable[Path]) -> list[Path]:
    """Return those candidates that are folders, each once."""
    found: dict[Path, None] = {}
    for folder in candidates:
        with suppress(OSError):
            if folder.is_dir():
                found[folder] = None
    return list(found)


def _can_be_read(path: Path) -> bool:
    try:
        return is_regular_file(path)
    except OSError:
        return False


def _package_name(folder: Path) -> str | None:
    """Return the name in a folder's ``package.xml``; None where there is none."""
    path = folder / "package.xml"
    try:
        if not is_regular_file(path):
            return None
        name = parse_xml(read_bytes(path), path).findtext("name")
    except (OSError, EquipoiseError):
        return None
    return None if name is None else name.strip()
