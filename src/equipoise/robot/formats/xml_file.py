"""XML files: read, written, and edited in place.

Files of unknown origin are read up to a size, without entities, with errors on one
line. Numbers are written to their last bit. Edits leave every other byte as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import (
    Comment,
    Element,
    ParseError,
    SubElement,
    indent,
    tostring,
)
from xml.parsers import expat

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from equipoise.errors import RobotFileError
from equipoise.input_file import LARGEST_TEXT_BYTES, read_input

ENCODINGS = ("utf-8", "us-ascii", "ascii")
# a quoted value may hold ">", "/" and what looks like another attribute
_START_TAG = re.compile(rb"""<[^"'>]*(?:(?:"[^"]*"|'[^']*')[^"'>]*)*>""")
_ENCODING = re.compile(rb"""(?:\xef\xbb\xbf)?<\?xml[^>]*encoding\s*=\s*["']([^"']+)""")
_ATTRIBUTE = re.compile(rb"""([^\s=<>/"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def read_bytes(path: Path) -> bytes:
    """Read a whole file.

    Raises:
        RobotFileError: If it cannot be read, is not a regular file, is empty or is
            implausibly large.
    """
    content = read_input(path, LARGEST_TEXT_BYTES, RobotFileError)
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


def unless_zero(value: float) -> str | None:
    """Return a number in full precision, None for zero: it need not be written."""
    return repr(float(value)) if value else None


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


@dataclass(eq=False)
class Node:
    """One element and where its tags lie in the file.

    Attributes:
        tag: Element name.
        attributes: Attribute values, decoded.
        start: Offset of the start tag's ``<`` [byte].
        start_end: Offset just after the start tag's ``>`` [byte].
        is_empty_tag: Whether it is written ``<tag/>``, without an end tag.
        children: Child elements in order.
    """

    tag: str
    attributes: dict[str, str]
    start: int
    start_end: int
    is_empty_tag: bool = False
    children: list[Node] = field(default_factory=list)

    def find(self, tag: str) -> Node | None:
        """Return the first child of that name."""
        return next((child for child in self.children if child.tag == tag), None)

    def descendants(self, tag: str) -> list[Node]:
        """Return all elements of that name below this one, in file order."""
        found: list[Node] = []
        stack = self.children[::-1]
        while stack:
            node = stack.pop()
            if node.tag == tag:
                found.append(node)
            stack.extend(reversed(node.children))
        return found


class XmlEditor:
    """The bytes of an XML file, the place of its elements, and edits to make.

    Edits are collected and made all at once by :meth:`result`; offsets stay those of
    the original.
    """

    def __init__(self, original: bytes, path: Path) -> None:
        """Find every element; ``path`` is named in messages.

        Raises:
            RobotFileError: If it is not safe, well-formed XML in UTF-8.
        """
        self.path = path
        self.original = original
        self.newline = b"\r\n" if b"\r\n" in original else b"\n"
        self._edits: list[tuple[int, int, bytes]] = []
        parse_xml(original, path)
        _refuse_other_encodings(original, path)
        self.root = self._index()

    def _index(self) -> Node:
        parser = expat.ParserCreate()
        parser.ordered_attributes = True
        document = Node("", {}, 0, 0)
        open_nodes = [document]

        def start_element(tag: str, attributes: list[str]) -> None:
            start = parser.CurrentByteIndex
            pairs = dict(zip(attributes[::2], attributes[1::2], strict=True))
            match = _START_TAG.match(self.original, start)
            text = match[0] if match else b""
            end = start + len(text)
            node = Node(tag, pairs, start, end, text.endswith(b"/>"))
            open_nodes[-1].children.append(node)
            open_nodes.append(node)

        def end_element(_: str) -> None:
            open_nodes.pop()

        parser.StartElementHandler = start_element
        parser.EndElementHandler = end_element
        parser.Parse(self.original, True)
        return document.children[0]

    def _spans(self, node: Node) -> dict[str, re.Match[bytes]]:
        after_name = node.start + 1 + len(node.tag.encode())
        matches = _ATTRIBUTE.finditer(self.original, after_name, node.start_end)
        return {match[1].decode(): match for match in matches}

    def set_attribute(self, node: Node, name: str, value: str) -> None:
        """Change an attribute's value, or add the attribute behind the others."""
        span = self._spans(node).get(name)
        if span is not None:
            group = 2 if span[2] is not None else 3
            self._edits.append((span.start(group), span.end(group), value.encode()))
            return
        end = node.start_end - (2 if node.is_empty_tag else 1)
        while self.original[end - 1 : end].isspace():
            end -= 1
        self._edits.append((end, end, f' {name}="{value}"'.encode()))

    def rename_attribute(self, node: Node, old: str, new: str, value: str) -> None:
        """Put another attribute in the place of one that exists."""
        span = self._spans(node)[old]
        self._edits.append((span.start(), span.end(), f'{new}="{value}"'.encode()))

    def remove_attribute(self, node: Node, name: str) -> None:
        """Remove an attribute with the space before it."""
        span = self._spans(node)[name]
        start = span.start()
        while self.original[start - 1 : start].isspace():
            start -= 1
        self._edits.append((start, span.end(), b""))

    def insert_first(self, parent: Node, lines: list[str]) -> None:
        """Insert lines of XML as first children, indented like the other children.

        Two spaces of indentation in the lines become the file's own step.
        """
        outer = self._indentation(parent.start)
        inner = (
            self._indentation(parent.children[0].start)
            if parent.children
            else outer + self._step()
        )
        step = inner[len(outer) :] if inner.startswith(outer) else self._step()
        text = b"".join(self.newline + inner + _indented(line, step) for line in lines)
        if parent.is_empty_tag:
            # <link name="x"/> gets an end tag
            slash = self.original.rindex(b"/", parent.start, parent.start_end)
            closing = self.newline + outer + f"</{parent.tag}>".encode()
            self._edits.append((slash, parent.start_end, b">" + text + closing))
            return
        self._edits.append((parent.start_end, parent.start_end, text))

    def _indentation(self, offset: int) -> bytes:
        """Return the white space before an element, if it begins its line."""
        line = self.original.rfind(b"\n", 0, offset) + 1
        before = self.original[line:offset]
        stripped = before.lstrip(b" \t")
        return before[: len(before) - len(stripped)]

    def _step(self) -> bytes:
        if not self.root.children:
            return b"  "
        return self._indentation(self.root.children[0].start) or b"  "

    def result(self) -> bytes:
        """Return the file with all edits made."""
        content = self.original
        for start, end, replacement in sorted(self._edits, reverse=True):
            content = content[:start] + replacement + content[end:]
        return content


def _indented(line: str, step: bytes) -> bytes:
    text = line.lstrip(" ")
    return step * ((len(line) - len(text)) // 2) + text.encode()


def _refuse_other_encodings(original: bytes, path: Path) -> None:
    """Refuse well-formed XML that is not in UTF-8."""
    declared = _ENCODING.match(original)
    encoding = declared[1].decode(errors="replace") if declared else "utf-8"
    if b"\0" in original:
        encoding = "UTF-16"
    if encoding.lower() not in ENCODINGS:
        raise RobotFileError(
            f"{path}: its encoding is {encoding}; only UTF-8 can be rewritten in place"
        )
