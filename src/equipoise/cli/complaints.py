"""What is wrong with words of the command line, in a plain sentence."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, get_type_hints

FRAME = "╭╮╰╯│─"
NUMBERS = {"int": "a whole number", "float": "a number"}


def plain_complaint(
    complaint: str, words: Sequence[str], verbs: Mapping[str, type[Any]]
) -> str:
    """Return a parser's complaint in a sentence.

    Args:
        complaint: As tyro prints it, in a box.
        words: The words that it read.
        verbs: All verbs by name.
    """
    text = " ".join("".join(" " if c in FRAME else c for c in complaint).split())
    verb = next((word for word in words if not word.startswith("-")), "")
    if verb not in verbs and words and words[0] not in verbs:
        return _no_verb(words[0], verbs)
    readers: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
        (
            r"Missing from equipoise [\w-]+: (?:\[[^\]]*\] )?(\S+)(.*?)\(required\)",
            _missing,
        ),
        (
            r"Missing value for argument '([^']+)'\. Expected (\d+) values",
            lambda m: f"{m[1]} needs {_count(int(m[2]))}",
        ),
        (
            r"Error parsing (\S+): .*?(?:invalid literal for (int)\(\) with base 10|"
            r"could not convert string to (float)): '(.*?)'(?: |$)",
            lambda m: f"{m[1]} '{m[4]}': {NUMBERS[m[2] or m[3]]} is needed",
        ),
        (
            r"Error parsing (\S+): .*?did not match expected argument count (\d+)",
            lambda m: f"{m[1]} needs {_count(int(m[2]))}",
        ),
        (
            r"Error parsing (\S+): .*?Could not parse arguments \[(.*?)\] into tuple",
            lambda m: f"{m[1]} {m[2].replace(', ', ' ')}: numbers are needed",
        ),
        (
            r"invalid choice '(.*?)' for argument '([^']+)'\. Expected one of "
            r"\((.*?)\)",
            lambda m: f"{m[2]} '{m[1]}': the choices are {_choices(m[3])}",
        ),
        (
            r"Unrecognized options: (\S+?),? (?:.*)",
            lambda m: _unknown(_whole(m[1], words), verbs[verb]),
        ),
    )
    for pattern, sentence in readers:
        match = re.search(pattern, f"{text} ")
        if match:
            return f"{verb}: {sentence(match)}; 'equipoise {verb} --help' says more"
    return text


def _no_verb(word: str, verbs: Mapping[str, type[Any]]) -> str:
    if word.startswith("-"):
        return f"'{word}' is not an option; a verb comes first: {', '.join(verbs)}"
    return (
        f"there is no verb '{word}'{_perhaps(word, verbs)}; the verbs are: "
        f"{', '.join(verbs)}"
    )


def _missing(match: re.Match[str]) -> str:
    name, about = match[1], match[2].strip()
    if name.startswith("-"):  # its value's name follows
        value, _, about = about.partition(" ")
        name = f"{name} {value}"
    about = re.split(r"\.(?: |$)", about.strip())[0]
    return f"{name} is missing" + (f": {about[0].lower()}{about[1:]}" if about else "")


def _count(number: int) -> str:
    return "a value" if number == 1 else f"{number} values"


def _choices(listed: str) -> str:
    return ", ".join(part.strip(" '\"") for part in listed.split(",") if part.strip())


def _whole(part: str, words: Sequence[str]) -> str:
    """Return a word of which a narrow terminal leaves the beginning."""
    return next((word for word in words if word.startswith(part)), part)


def _unknown(word: str, verb: type[Any]) -> str:
    if not word.startswith("-"):
        return f"'{word}' is one word too many"
    known = option_names(verb)
    return f"there is no option '{word}'{_perhaps(word.split('=')[0], known)}"


def _perhaps(word: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean '{near[0]}'?)" if near else ""


def option_names(verb: type[Any]) -> list[str]:
    """Return the options of a verb, as one types them."""
    hints = get_type_hints(verb, include_extras=True)
    names = []
    for option in fields(verb):
        given = [
            getattr(part, "name", None)
            for part in getattr(hints[option.name], "__metadata__", ())
        ]
        name = next((name for name in given if isinstance(name, str)), option.name)
        names.append(f"--{name.replace('_', '-')}")
    return names
