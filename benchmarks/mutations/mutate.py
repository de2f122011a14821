"""Ways to break a file: of bytes, numbers, lines and tags."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence

NUMBERS = (
    *("0", "-0", "-1", "1e-9", "1e-300", "1e9", "1e18", "1e300", "1e999", "-1e300"),
    *("nan", "-nan", "inf", "-inf", "NaN", "Infinity", "1e", "0x10", "1_0", "٣", ""),
    *("2147483648", "4294967295", "9223372036854775808", "99999999999999999999"),
    *("1,5", "1.2.3", "--1", "+1", " ", "9" * 400, "0." + "0" * 400 + "1"),
)
WORDS = (
    *(
        "",
        " ",
        "none",
        "world",
        "universe",
        "left",
        "x" * 1000,
        "\u202e",
        "é",
        "\x1b[2J",
    ),
    *("../../etc/passwd", "/dev/zero", "/etc", ".", "package://./etc/x", "true", "[]"),
    *("%s", "{}", "\\", "'", '"', "<", "&amp;", "&#0;", "\ufffd", "a\tb"),
)
TYPES = ("<B", "<H", "<I", "<Q", "<f", "<d")
VALUES = (0, 1, -1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1)
REALS = (0.0, -0.0, 1e-38, 1e38, -1e38, 1e300, float("nan"), float("inf"))
NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
ELEMENT = re.compile(r"<(\w+)[^<>]*?(?:/>|>[^<>]*</\1>)")
TAG = re.compile(r"<[^<>]+>")
QUOTED = re.compile(r'"[^"\n]*"')
DEEPEST = 400

Way = Callable[[bytes, random.Random], bytes]


def mutated(
    content: bytes, others: Sequence[bytes], kind: str, dice: random.Random
) -> bytes:
    """Return a broken file.

    Args:
        content: A valid file.
        others: Other valid files, to take pieces of.
        kind: ``"xml"``, ``"lines"`` or ``"binary"``.
        dice: Decides what is broken.
    """
    ways: dict[str, tuple[Way, ...]] = {
        "xml": (
            _number,
            _number,
            _word,
            _drop_element,
            _twice,
            _nest,
            _drop_tag,
            _swap,
        ),
        "lines": (_number, _number, _word, _drop_line, _line_twice, _swap_lines, _cell),
        "binary": (_overwrite, _overwrite, _overwrite, _real, _flip),
    }
    any_file: tuple[Way, ...] = (_flip, _cut, _remove, _repeat, _insert)
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 5))):
        if others and dice.random() < 0.05:
            content = _splice(content, dice.choice(others), dice)
        elif dice.random() < 0.3:
            content = dice.choice(any_file)(content, dice)
        else:
            content = dice.choice(ways[kind])(content, dice)
    return content


def _flip(content: bytes, dice: random.Random) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(dice.choice((1, 1, 4))):
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def _cut(content: bytes, dice: random.Random) -> bytes:
    return content[: dice.randrange(len(content) + 1)]


def _span(content: bytes, dice: random.Random) -> tuple[int, int]:
    begin = dice.randrange(len(content) + 1)
    return begin, min(begin + dice.choice((1, 2, 4, 8, 50, 500)), len(content))


def _remove(content: bytes, dice: random.Random) -> bytes:
    begin, end = _span(content, dice)
    return content[:begin] + content[end:]


def _repeat(content: bytes, dice: random.Random) -> bytes:
    begin, end = _span(content, dice)
    times = dice.choice((2, 2, 10, 100))
    return content[:begin] + content[begin:end] * times + content[end:]


def _insert(content: bytes, dice: random.Random) -> bytes:
    begin, _ = _span(content, dice)
    return content[:begin] + dice.randbytes(dice.choice((1, 4, 64))) + content[begin:]


def _splice(content: bytes, other: bytes, dice: random.Random) -> bytes:
    begin, end = _span(content, dice)
    first = dice.randrange(len(other) + 1)
    last = min(first + dice.choice((8, 100, 2000)), len(other))
    return content[:begin] + other[first:last] + content[end:]


def _overwrite(content: bytes, dice: random.Random) -> bytes:
    kind = dice.choice(TYPES[:4])
    size = struct.calcsize(kind)
    value = dice.choice(VALUES) % 2 ** (8 * size)
    return _put(content, struct.pack(kind, value), dice)


def _real(content: bytes, dice: random.Random) -> bytes:
    kind = dice.choice(TYPES[4:])
    value = dice.choice(REALS)
    if kind == "<f" and 1e38 < abs(value) < float("inf"):
        value = 1e38
    return _put(content, struct.pack(kind, value), dice)


def _put(content: bytes, piece: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(max(len(content) - len(piece), 0) + 1)
    if dice.random() < 0.4:  # heads of files and of records
        at = dice.randrange(min(len(content), 200) + 1)
    return content[:at] + piece + content[at + len(piece) :]


def _replaced(pattern: re.Pattern[str], by: Callable[[str], str]) -> Way:
    """Return a way to replace one match of a pattern in a text."""

    def way(content: bytes, dice: random.Random) -> bytes:
        text = content.decode("utf-8", "surrogateescape")
        found = list(pattern.finditer(text))
        if not found:
            return content
        spot = dice.choice(found)
        changed = text[: spot.start()] + by(spot[0], dice) + text[spot.end() :]  # type: ignore[call-arg]
        return changed.encode("utf-8", "surrogateescape")

    return way


def _nested(element: str, dice: random.Random) -> str:
    tag = TAG.match(element)
    name = tag[0].strip("</>").split()[0] if tag else "a"
    depth = dice.choice((1, 2, 10, DEEPEST))
    return f"<{name}>" * depth + element + f"</{name}>" * depth


_number = _replaced(NUMBER, lambda _, dice: dice.choice(NUMBERS))
_word = _replaced(QUOTED, lambda _, dice: f'"{dice.choice(WORDS)}"')
_drop_element = _replaced(ELEMENT, lambda _, dice: "")
_twice = _replaced(ELEMENT, lambda own, dice: own * dice.choice((2, 2, 50)))
_nest = _replaced(ELEMENT, _nested)
_drop_tag = _replaced(TAG, lambda _, dice: "")


def _swap(content: bytes, dice: random.Random) -> bytes:
    """Exchange two quoted values."""
    text = content.decode("utf-8", "surrogateescape")
    found = list(QUOTED.finditer(text))
    if len(found) < 2:
        return content
    a, b = sorted(dice.sample(found, 2), key=lambda match: match.start())
    between = text[a.end() : b.start()]
    changed = text[: a.start()] + b[0] + between + a[0] + text[b.end() :]
    return changed.encode("utf-8", "surrogateescape")


def _drop_line(content: bytes, dice: random.Random) -> bytes:
    lines = content.split(b"\n")
    del lines[dice.randrange(len(lines))]
    return b"\n".join(lines)


def _line_twice(content: bytes, dice: random.Random) -> bytes:
    lines = content.split(b"\n")
    lines.insert(dice.randrange(len(lines) + 1), dice.choice(lines))
    return b"\n".join(lines)


def _swap_lines(content: bytes, dice: random.Random) -> bytes:
    lines = content.split(b"\n")
    a, b = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def _cell(content: bytes, dice: random.Random) -> bytes:
    """Remove, double or replace one cell of a table, or one word of a line."""
    lines = content.split(b"\n")
    at = dice.randrange(len(lines))
    mark = b"," if b"," in lines[at] else b" "
    cells = lines[at].split(mark)
    spot = dice.randrange(len(cells))
    word = dice.choice((*NUMBERS, *WORDS)).encode("utf-8", "surrogateescape")
    cells[spot : spot + 1] = dice.choice(([], [cells[spot]] * 2, [word]))
    lines[at] = mark.join(cells)
    return b"\n".join(lines)
