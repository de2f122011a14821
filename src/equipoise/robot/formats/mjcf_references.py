"""What an MJCF document names and asks for, checked before MuJoCo sees it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath
from xml.etree.ElementTree import Element

from equipoise.errors import RobotFileError
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.mesh_files import is_regular_file

FOLDER_ATTRIBUTES = ("meshdir", "texturedir", "assetdir")
UNSUPPORTED = {
    "plugin": "plugins run code of their own",
    "extension": "plugins run code of their own",
    "flexcomp": "soft bodies have no place in a tree of rigid links",
    "flex": "soft bodies have no place in a tree of rigid links",
}
# above what equipoise.robot.description allows, so that its own exports are read back
DEEPEST_NESTING = 250
MOST_COPIES = 10_000
MOST_DOCUMENTS = 100


def check_references(root: Element, path: Path) -> None:
    """Refuse documents that would lead MuJoCo out of the robot's folders.

    A relative path may not leave the folder above the robot file's own; an absolute
    path may not hold ``..``; nothing but regular files may be named. Included files
    and attached models may not lie outside that folder at all, neither by an absolute
    path nor by a link, and are held to the same rules themselves.

    Raises:
        RobotFileError: For such a path, for a missing or unsafe included file, for
            plugins and soft bodies, and for absurdly deep or repeated elements.
    """
    _ReferenceChecker(path).document(root, path, path.absolute().parent)


class _ReferenceChecker:
    """Walks a document and all that it includes, each file once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.limit = Path(os.path.normpath(path.absolute().parent.parent))
        # where the robot file is a link, the folders of its target count as well
        self.roots = {self.limit.resolve(), path.resolve().parent.parent}
        self.seen: set[Path] = set()

    def document(self, root: Element, source: Path, model_folder: Path) -> None:
        """Check one XML document whose files are relative to a model's folder."""
        elements = list(_walk(root, source))
        compilers = [element for element in elements if element.tag == "compiler"]
        given = (c.get(key, "") for c in compilers for key in FOLDER_ATTRIBUTES)
        folders = list(filter(None, given))
        for folder in folders:
            self.allowed(model_folder, folder, source)
        for element in elements:
            if element.tag in UNSUPPORTED:
                raise RobotFileError(
                    f"{source}: <{element.tag}> is not supported: "
                    f"{UNSUPPORTED[element.tag]}"
                )
            for key, name in element.items():
                if not key.startswith("file") or not name:
                    continue
                if element.tag in ("include", "model"):
                    self.linked(element.tag, name, source, model_folder)
                    continue
                for folder in ("", *folders):
                    self.allowed(model_folder, os.path.join(folder, name), source)

    def linked(self, tag: str, name: str, source: Path, model_folder: Path) -> None:
        """Check an included file or an attached model."""
        target = self.allowed(model_folder, name, source)
        try:
            if not is_regular_file(target) and tag == "include":
                target = self.allowed(source.absolute().parent, name, source)
            self.refuse_outside(target, name, source)
            if not is_regular_file(target):
                raise RobotFileError(f"{source}: <{tag}> names '{name}': no such file")
        except PermissionError as error:
            raise RobotFileError(
                f"{source}: <{tag}> names '{name}': cannot be read (permission denied)"
            ) from error
        if target in self.seen:
            return
        self.seen.add(target)
        if len(self.seen) > MOST_DOCUMENTS:
            raise RobotFileError(
                f"{self.path}: includes more than {MOST_DOCUMENTS} files"
            )
        root = parse_xml(read_bytes(target), target)
        if tag == "model" and root.tag != "mujoco":
            raise RobotFileError(
                f"{source}: the attached model '{name}' is not an MJCF file"
            )
        self.document(root, target, model_folder if tag == "include" else target.parent)

    def refuse_outside(self, target: Path, name: str, source: Path) -> None:
        """Refuse a document that lies outside, links followed."""
        found = target.resolve()
        if not any(found.is_relative_to(root) for root in self.roots):
            raise self.outside(name, source)

    def outside(self, name: str, source: Path) -> RobotFileError:
        """Return the error about a path that leads outside."""
        return RobotFileError(
            f"{source}: path '{name}' leaves the folder '{self.limit}' "
            "that holds the robot; this is not allowed"
        )

    def allowed(self, folder: Path, name: str, source: Path) -> Path:
        """Return the normalised path of a file or folder that may be opened."""
        if os.path.isabs(name):
            climbs = ".." in PurePath(name).parts
            target = Path(name)
        else:
            target = Path(os.path.normpath(folder / name))
            climbs = not target.is_relative_to(self.limit)
        if climbs:
            raise self.outside(name, source)
        try:
            special = target.exists() and not target.is_file() and not target.is_dir()
        except PermissionError:  # said of where it is opened
            special = False
        except (OSError, ValueError):  # over-long names, embedded NUL
            special = True
        if special:
            raise RobotFileError(f"{source}: '{name}' is not a regular file")
        return target


def _walk(root: Element, source: Path) -> Iterator[Element]:
    """Yield all elements, refusing what would exhaust the stack or the memory."""
    stack = [(root, 0, 1)]
    while stack:
        element, depth, copies = stack.pop()
        if depth > DEEPEST_NESTING:
            raise RobotFileError(
                f"{source}: elements are nested deeper than {DEEPEST_NESTING}"
            )
        if element.tag == "replicate":
            count = element.get("count", "1")
            copies *= int(count) if count.isascii() and count.isdigit() else 1
            if copies > MOST_COPIES:
                raise RobotFileError(
                    f"{source}: <replicate> asks for more than {MOST_COPIES} copies"
                )
        yield element
        stack.extend((child, depth + 1, copies) for child in element)
