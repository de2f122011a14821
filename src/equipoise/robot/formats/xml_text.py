"""Numbers and documents as XML text, without loss of precision."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Comment, Element, SubElement, indent, tostring


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
