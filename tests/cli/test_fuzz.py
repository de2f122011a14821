"""No input makes the command line show a traceback."""

from __future__ import annotations

import contextlib
import io
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.cli.main import run

WORDS = [
    "",
    "nan",
    "inf",
    "-1",
    "0",
    "1e400",
    "é",
    "x" * 300,
    "0 0",
    "-0.0",
    "../..",
    "&#0;",
]

# Small enough to mutate a thousand times, with one of everything.
BIPED = """<?xml version="1.0"?>
<robot name="tiny">
  <link name="base"><inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="5"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
{legs}
</robot>
"""
LEG = """
  <joint name="{s}_hip" type="revolute"><parent link="base"/><child link="{s}_thigh"/>
    <origin xyz="0 {y} 0" rpy="0 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="5"/>
    <dynamics damping="0.1" friction="0.2"/></joint>
  <link name="{s}_thigh"><inertial><origin xyz="0 0 -0.1"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
    </link>
  <joint name="{s}_knee" type="continuous"><parent link="{s}_thigh"/>
    <child link="{s}_shin"/><origin xyz="0 0 -0.2"/><axis xyz="0 1 0"/></joint>
  <link name="{s}_shin"><inertial><origin xyz="0 0 -0.1"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
    <collision><origin xyz="0.02 0 -0.2"/><geometry><box size="0.1 0.05 0.02"/>
    </geometry></collision>
    <visual><geometry><mesh filename="package://x/y.stl"/></geometry></visual></link>
"""
TINY = BIPED.format(
    legs="".join(LEG.format(s=s, y=y) for s, y in (("left", 0.1), ("right", -0.1)))
)


def run_quietly(*words: str) -> tuple[int, str]:
    """Run in this process; return the status and stderr."""
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        try:
            status = run(list(words))
        except SystemExit as stop:  # tyro's own refusal of the words
            status = int(stop.code or 0)
    return status, errors.getvalue()


def assert_calm(path: Path, content: bytes, verb: str = "info") -> int:
    """Assert that a file is either accepted or refused in one line."""
    path.write_bytes(content)
    status, errors = run_quietly(verb, str(path))
    assert status in (0, 2), errors
    if status == 2:
        assert errors.count("\n") == 1, errors
        assert errors.startswith("equipoise: ")
    else:
        assert errors == ""
    return status


def mutated(text: str, seed: int) -> str:
    """Break a document in a few random places."""
    dice = random.Random(seed)
    for _ in range(dice.randint(1, 3)):
        kind = dice.randrange(5)
        quoted = list(re.finditer(r'"[^"]*"', text))
        tags = list(re.finditer(r"<[^>]+>", text))
        if kind == 0 and quoted:  # another value
            spot = dice.choice(quoted)
            text = f'{text[: spot.start()]}"{dice.choice(WORDS)}"{text[spot.end() :]}'
        elif kind == 1 and tags:  # a tag less
            spot = dice.choice(tags)
            text = text[: spot.start()] + text[spot.end() :]
        elif kind == 2 and tags:  # a tag twice
            spot = dice.choice(tags)
            text = text[: spot.end()] + spot[0] + text[spot.end() :]
        elif kind == 3 and len(quoted) > 1:  # two values exchanged
            a, b = sorted(dice.sample(quoted, 2), key=lambda match: match.start())
            text = (
                text[: a.start()]
                + b[0]
                + text[a.end() : b.start()]
                + a[0]
                + text[b.end() :]
            )
        elif text:  # cut short
            text = text[: dice.randrange(len(text))]
    return text


def test_the_tiny_biped_is_accepted(tmp_path: Path) -> None:
    """The document that the others mutate is itself a good one."""
    assert assert_calm(tmp_path / "tiny.urdf", TINY.encode()) == 0


@given(st.integers(0, 2**32))
@settings(max_examples=300)
def test_mutated_urdf(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """A broken URDF is read or refused, never crashed on."""
    folder = tmp_path_factory.getbasetemp()
    assert_calm(folder / "mutated.urdf", mutated(TINY, seed).encode())


@given(st.binary(max_size=400))
@settings(max_examples=100)
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Bytes that are no robot are refused."""
    folder = tmp_path_factory.getbasetemp()
    for name in ("bytes.urdf", "bytes.xml", "bytes.toml"):
        assert assert_calm(folder / name, content) == 2


@given(st.text(max_size=60))
@settings(max_examples=100)
def test_random_robot_names(text: str) -> None:
    """Any word for ROBOT is refused in a line."""
    if text.startswith("-"):
        return
    status, errors = run_quietly("info", text)
    assert status == 2
    assert errors.count("\n") == 1


@st.composite
def random_trees(draw: st.DrawFn) -> str:
    """Draw a URDF of random joints and masses on a random tree."""
    count = draw(st.integers(1, 12))
    kinds = st.sampled_from(
        ["revolute", "continuous", "prismatic", "fixed", "spherical", "floating"]
    )
    number = st.floats(-1, 1).map(lambda value: f"{value:.3f}")
    vector = st.tuples(number, number, number).map(" ".join)
    parts = []
    for index in range(count):
        mass = draw(st.floats(0, 10).map(lambda value: f"{value:.3f}"))
        parts.append(
            f'<link name="l{index}"><inertial><origin xyz="{draw(vector)}"/>'
            f'<mass value="{mass}"/><inertia ixx="0.1" iyy="0.1" '
            'izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        if index:
            parent = draw(st.integers(0, index - 1))
            parts.append(
                f'<joint name="j{index}" type="{draw(kinds)}">'
                f'<parent link="l{parent}"/><child link="l{index}"/>'
                f'<origin xyz="{draw(vector)}" rpy="{draw(vector)}"/>'
                f'<axis xyz="{draw(number)} 1 {draw(number)}"/>'
                '<limit lower="-1" upper="0.5" effort="1" velocity="1"/></joint>'
            )
    return f'<robot name="random">{"".join(parts)}</robot>'


@given(random_trees())
@settings(max_examples=150)
def test_random_trees(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Any tree is shown, or refused for its legs, its masses or its shape."""
    folder = tmp_path_factory.getbasetemp()
    assert_calm(folder / "tree.urdf", text.encode())
