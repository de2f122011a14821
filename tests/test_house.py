"""Rules that the tests themselves keep."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# All but this one, whose examples break the rules.
FILES = sorted(set(TESTS.rglob("*.py")) - {Path(__file__)})
# Public for all their underscore: methods of named tuples, and a protocol of IPython.
PUBLIC = {"_asdict", "_fields", "_make", "_replace", "_repr_html_"}
CLOCKS = {"monotonic", "perf_counter", "process_time", "time"}


def is_private(name: str) -> bool:
    """Return whether a name begins with one underscore, and is not public anyway."""
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def private_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each private name that belongs to somebody else.

    Programs in strings are read too, with the lines counted from their own first.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for name in (
                *(node.module or "").split("."),
                *(a.name for a in node.names),
            ):
                if is_private(name):
                    yield node.lineno, f"from {node.module} import {name}"
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not own:
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            called, name = ast.unparse(node.func), node.args[1]
            if called.split(".")[-1] in ("getattr", "setattr", "delattr") and (
                isinstance(name, ast.Constant) and is_private(str(name.value))
            ):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Constant) and "import equipoise" in str(node.value):
            try:
                program = ast.parse(str(node.value))
            except SyntaxError:
                continue
            yield from private_names(program)


def asserted_clocks(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of assertions that read a clock."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            for part in ast.walk(node.test):
                if isinstance(part, ast.Call):
                    path = ast.unparse(part.func).split(".")
                    if path[-1] in CLOCKS and path[:-1] in ([], ["time"]):
                        yield node.lineno


def test_no_test_reads_private_names() -> None:
    """Tests speak of public behaviour: what begins with an underscore may change."""
    found = [
        f"{path.relative_to(TESTS)}:{line}: {name}"
        for path in FILES
        for line, name in private_names(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "\n".join(found)


def test_no_test_asserts_a_time() -> None:
    """Machines differ and are busy: what is fast is measured in benchmarks."""
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in FILES
        for line in asserted_clocks(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "program",
    [
        "from equipoise.gait.plan import _check",
        "from equipoise._hidden import shown",
        "import equipoise.gait.plan as plan\nplan._check()",
        "engine.loop._state",
        "getattr(engine, '_state')",
        "monkeypatch.setattr(engine, '_state', 1)",
        "PROGRAM = 'import equipoise\\nequipoise._hidden'",
    ],
)
def test_private_names_are_found(program: str) -> None:
    """In imports, attributes, look-ups by name and programs in strings."""
    assert list(private_names(ast.parse(program)))


@pytest.mark.parametrize(
    "program",
    [
        "from __future__ import annotations",
        "self._own = row._replace(x=1)._asdict()",
        "_local = 1\nmodule.__file__",
    ],
)
def test_names_of_ones_own_are_not(program: str) -> None:
    """What a test file or a class of it defines, and what is public, may be read."""
    assert not list(private_names(ast.parse(program)))
