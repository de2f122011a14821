"""XML in and out.

What strangers wrote is read bounded, without entities, with errors on one line; what
is written keeps every bit of its numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import (
    Comment,
    Element,
    ParseError,
    SubElement,
    indent,
    tostring,
)

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from equipoise.errors import RobotFileError

LARGEST_FILE_BYTES = 64 * 1024 * 1024


def read_bytes(path: Path) -> bytes:
    """Read a whole file.

    Raises:
        RobotFileError: If it cannot be read, is empty or is implausibly large.
    """
    try:
        if path.is_dir():
            raise RobotFileError(f"{path}: is a folder, not a URDF or MJCF file")
        if not path.is_file():
            raise RobotFileError(f"{path}: no such file")
        size = path.stat().st_size
        if size > LARGEST_FILE_BYTES:
            raise RobotFileError(
                f"{path}: {size} bytes is too large for a robot file "
                f"(at most {LARGEST_FILE_BYTES})"
            )
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise RobotFileError(f"{path}: cannot be read ({reason})") from error
    if not content.strip():
        raise RobotFileError(f"{path}: the file is empty")
    return content


def parse_xml(content: bytes, path: Path) -> Element:
    """Parse XML bytes; entity declarations and external references are refused.

    Raises:
        RobotFileError: If the content is not well-formed or not safe.
    """
    try:
        root: Element = fromstring(content, forbid_entities=True, forbid_external=True)
    except DefusedXmlException as error:
        kind = type(error).__name__
        raise RobotFileError(
            f"{path}: XML entities and external references are not allowed ({kind})"
        ) from error
    except ParseError as error:
        raise RobotFileError(f"{path}: not well-formed XML: {error}") from error
    except (ValueError, LookupError, RecursionError) as error:
        raise RobotFileError(f"{path}: not readable as XML: {error}") from error
    return root


def numbers(values: Iterable[float]) -> str:
    """Write numbers so that reading them gives the same bits."""
    return " ".join(repr(float(value)) for value in values)


def add(parent: Element, tag: str, **attributes: str | None) -> Element:
    """Append an element; attributes that are None are left out."""
    given = {key: value for key, value in attributes.items() if value is not None}
    return SubElement(parent, tag, given)


def add_comment(parent: Element, text: str) -> None:
    """Append a comment, whatever the text holds."""
    parent.append(Comment(f" {text.replace('--', '- -')} "))


def document(root: Element) -> str:
    """Return an indented XML document."""
    indent(root)
    return f'<?xml version="1.0"?>\n{tostring(root, encoding="unicode")}\n'
