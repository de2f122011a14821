"""No input makes the command line show a traceback.

The examples are the same in every run. To look for new failures, give a seed, and as
many examples of each kind as there is time for::

    EQUIPOISE_FUZZ_SEED=1 EQUIPOISE_FUZZ_EXAMPLES=5000 pytest tests/cli/test_fuzz.py
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from equipoise.cli.main import run

SEED = os.environ.get("EQUIPOISE_FUZZ_SEED")
EXAMPLES = os.environ.get("EQUIPOISE_FUZZ_EXAMPLES")
Test = TypeVar("Test", bound=Callable[..., None])

NUMBERS = ["0", "-1", "1", "0.3", "-0.001", "1e-9", "1e-300", "1e9", "1e300", "nan"]
WORDS = [
    "",
    "nan",
    "inf",
    "-1",
    "0",
    "1e400",
    "1e300",
    "1e30",
    "1e-300",
    "0 0 0",
    "1e9 0 0",
    "1e200 1e200 1e200",
    "0 0 0 0",
    "true",
    "ball",
    "fixed",
    "floating",
    "é",
    "x" * 300,
    "0 0",
    "-0.0",
    "../..",
    "&#0;",
    "a&#10;b",
    "\x1b[31m",
    "base",
    "left_hip",
]
TOML_VALUES = [
    '""',
    "nan",
    "-inf",
    "-1",
    "0",
    "1e400",
    "1e11",
    "1e-300",
    "[1e11, 0, 0]",
    "true",
    '"é"',
    '"\\u001b[31m"',
    '"a\\nb"',
    "[]",
    "{}",
    "[[]]",
    "[1, 2]",
    "[0, 0, 0]",
    "[nan, 0, 0]",
    '["left_hip"]',
    "{ xyz = [1, 2, 3] }",
    "1979-05-27",
    '"pi/0"',
    f'"{"x" * 300}"',
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


MJCF = """<mujoco model="tiny">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002"/>
  <default><joint damping="0.1" armature="0.01"/><geom density="500"/>
    <default class="foot"><geom type="box" size="0.05 0.03 0.01"/></default></default>
  <worldbody><geom type="plane" size="1 1 0.1"/>
    <body name="base" pos="0 0 0.5"><freejoint name="float"/>
      <inertial pos="0 0 0.1" mass="5" diaginertia="0.1 0.1 0.1"/>
{legs}
    </body></worldbody>
  <tendon><fixed name="t"><joint joint="left_hip" coef="1"/></fixed></tendon>
  <equality><joint joint1="left_knee" joint2="right_knee"/></equality>
  <actuator><motor joint="left_hip" gear="2" ctrlrange="-5 5"/>
    <position joint="right_hip" kp="10" forcerange="-9 9"/></actuator>
  <keyframe><key name="home" qpos="0 0 0.5 1 0 0 0 {zeros}"/></keyframe>
</mujoco>
"""
MJCF_LEG = """
      <body name="{s}_thigh" pos="0 {y} 0" euler="0 0.1 0">
        <joint name="{s}_hip" axis="0 1 0" range="-1 1" pos="0 0 0.01" ref="0.1"/>
        <joint name="{s}_roll" axis="1 0 0" type="hinge" frictionloss="0.1"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.2"/>
        <body name="{s}_shin" pos="0 0 -0.2">
          <joint name="{s}_knee" axis="0 1 0" range="-2 0"/>
          <inertial pos="0 0 -0.1" mass="1" fullinertia="0.01 0.01 0.01 0 0 0"/>
          <site name="{s}_site" pos="0 0 -0.1"/>
          <body name="{s}_foot" pos="0 0 -0.2">
            <joint name="{s}_ankle" type="ball"/>
            <geom class="foot" pos="0.02 0 -0.01"/></body></body></body>
"""
TINY_MJCF = MJCF.format(
    legs="".join(
        MJCF_LEG.format(s=s, y=y) for s, y in (("left", 0.1), ("right", -0.1))
    ),
    zeros="0 0 0 1 0 0 0 0 0 0 1 0 0 0",
)

TINY_DH = """name = "tiny"
assumptions = ["none"]
[base]
name = "base"
mass = 5
com = [0, 0, 0.1]
inertia = { box = [0.1, 0.2, 0.3] }
links = [{ name = "head", mass = 1, com = [0, 0, 0.1], xyz = [0, 0, 0.2] }]
""" + "".join(
    f"""
[dh.{s}_leg]
convention = "standard"
base = {{ xyz = [0, {y}, 0], rpy = ["pi/2", 0, "180 deg"] }}
centroid_frame = "distal"
end = "{s}_sole"
[[dh.{s}_leg.rows]]
joint = "{s}_hip"
link = "{s}_thigh"
alpha = 0
a = 0.2
d = 0
theta = "-pi/2"
mass = 1
centroid = [-0.1, 0, 0]
limits = [-1, 1]
effort_limit = 10
[[dh.{s}_leg.rows]]
joint = "{s}_knee"
alpha = "0 deg"
a = 0.2
d = 0
theta = 0
mass = 1
centroid = [-0.1, 0, 0]
inertia = [0.01, 0.01, 0.01, 0, 0, 0]
shapes = [{{ box = [0.02, 0.1, 0.05] }}]
[soles.{s if s == "left" else "right"}]
link = "{s}_sole"
rpy = [0, 0, 0]
size = [0.1, 0.05]
"""
    for s, y in (("left", 0.1), ("right", -0.1))
)

TINY_SETTINGS = """
assumptions = ["measured by hand"]
[orientation]
forward = [1, 0, 0]
up = [0, 0, 1]
[limbs.left_leg]
joints = ["left_hip", "left_knee"]
[limbs.right_leg]
joints = ["right_hip", "right_knee"]
[soles.left]
link = "left_shin"
xyz = [0, 0, -0.21]
rpy = [0, 0, 0]
polygon = [[-0.05, -0.03], [0.1, -0.03], [0.1, 0.03], [-0.05, 0.03]]
[soles.right]
link = "right_shin"
xyz = [0, 0, -0.21]
size = [0.1, 0.05]
centre = [0.02, 0]
[actuators.default]
rotor_inertia = 0.01
[actuators.left_hip]
effort_limit = 10
[postures.standing]
left_hip = 0.1
right_hip = 0.1
[postures.bent]
left_knee = [0.8, 0.6]
"""


def fuzzed(count: int) -> Callable[[Test], Test]:
    """Run a test on so many examples, or as the environment says."""

    def decorate(test: Test) -> Test:
        chosen = int(EXAMPLES) if EXAMPLES else count
        test = settings(max_examples=chosen, derandomize=SEED is None)(test)
        return test if SEED is None else seed(int(SEED))(test)

    return decorate


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


def assert_export_calm(folder: Path, robot: Path, ending: str) -> None:
    """Assert that a robot is written as two files, or refused and none is."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    status, errors = run_quietly("export", str(robot), "--out", str(out / f"r{ending}"))
    assert status in (0, 2), errors
    written = sorted(path.name for path in out.iterdir())
    assert written == (sorted([f"r{ending}", "r.toml"]) if status == 0 else [])
    assert errors.count("\n") == (0 if status == 0 else 1)


def mutated_toml(text: str, dice_seed: int) -> str:
    """Break a TOML document in a few random places."""
    dice = random.Random(dice_seed)
    for _ in range(dice.randint(1, 3)):
        lines = text.splitlines()
        spots = [k for k, line in enumerate(lines) if " = " in line]
        numbers = list(re.finditer(r"-?\d+\.?\d*", text))
        kind = dice.choices(range(5), (5, 2, 1, 1, 1))[0]
        if kind == 0 and numbers:  # another number
            spot = dice.choice(numbers)
            word = dice.choice(NUMBERS)
            lines = (text[: spot.start()] + word + text[spot.end() :]).splitlines()
        elif kind == 1 and spots:  # another value
            k = dice.choice(spots)
            lines[k] = f"{lines[k].partition(' = ')[0]} = {dice.choice(TOML_VALUES)}"
        elif kind == 2 and lines:  # a line less
            del lines[dice.randrange(len(lines))]
        elif kind == 3 and len(spots) > 1:  # two values exchanged
            a, b = dice.sample(spots, 2)
            (key_a, _, value_a), (key_b, _, value_b) = (
                lines[k].partition(" = ") for k in (a, b)
            )
            lines[a], lines[b] = f"{key_a} = {value_b}", f"{key_b} = {value_a}"
        elif spots:  # another key
            k = dice.choice(spots)
            word = dice.choice(["xyz", "mass", "name", '"\\u001b"', "left", "rows"])
            lines[k] = f"{word} = {lines[k].partition(' = ')[2]}"
        text = "\n".join(lines)
    return text


def mutated(text: str, dice_seed: int) -> str:
    """Break an XML document in a few random places."""
    dice = random.Random(dice_seed)
    for _ in range(dice.randint(1, 3)):
        quoted = list(re.finditer(r'"[^"]*"', text))
        numbers = list(re.finditer(r"(?<=[\s\"])-?\d+\.?\d*(?=[\s\"])", text))
        closed = list(re.finditer(r"<[^>]+/>", text))
        tags = list(re.finditer(r"<[^>]+>", text))
        kind = dice.choices(range(7), (5, 4, 3, 2, 2, 1, 1))[0]
        if kind == 0 and numbers:  # another number
            spot = dice.choice(numbers)
            text = text[: spot.start()] + dice.choice(NUMBERS) + text[spot.end() :]
        elif kind == 1 and quoted:  # another value
            spot = dice.choice(quoted)
            text = f'{text[: spot.start()]}"{dice.choice(WORDS)}"{text[spot.end() :]}'
        elif kind == 2 and len(quoted) > 1:  # two values exchanged
            a, b = sorted(dice.sample(quoted, 2), key=lambda match: match.start())
            between = text[a.end() : b.start()]
            text = text[: a.start()] + b[0] + between + a[0] + text[b.end() :]
        elif kind == 3 and closed:  # an element less
            spot = dice.choice(closed)
            text = text[: spot.start()] + text[spot.end() :]
        elif kind == 4 and closed:  # an element elsewhere too
            spot, place = dice.choice(closed), dice.choice(tags)
            text = text[: place.end()] + spot[0] + text[place.end() :]
        elif kind == 5 and tags:  # a tag less
            spot = dice.choice(tags)
            text = text[: spot.start()] + text[spot.end() :]
        elif text:  # cut short
            text = text[: dice.randrange(len(text))]
    return text


def test_the_tiny_bipeds_are_accepted(tmp_path: Path) -> None:
    """The documents that the others mutate are themselves good ones."""
    assert assert_calm(tmp_path / "tiny.urdf", TINY.encode()) == 0
    assert assert_calm(tmp_path / "mjcf.xml", TINY_MJCF.encode()) == 0
    assert assert_calm(tmp_path / "dh.toml", TINY_DH.encode()) == 0
    (tmp_path / "tiny.toml").write_text(TINY_SETTINGS, encoding="utf-8")
    assert assert_calm(tmp_path / "tiny.urdf", TINY.encode()) == 0
    for name in ("tiny.urdf", "mjcf.xml", "dh.toml"):
        for ending in (".urdf", ".xml"):
            assert_export_calm(tmp_path, tmp_path / name, ending)
            assert (tmp_path / "out" / "r.toml").exists()


@given(dice_seed=st.integers(0, 2**32))
@fuzzed(200)
def test_mutated_urdf(tmp_path_factory: pytest.TempPathFactory, dice_seed: int) -> None:
    """A broken URDF is read or refused, never crashed on."""
    folder = tmp_path_factory.getbasetemp()
    assert_calm(folder / "mutated.urdf", mutated(TINY, dice_seed).encode())


@given(dice_seed=st.integers(0, 2**32))
@fuzzed(200)
def test_mutated_mjcf(tmp_path_factory: pytest.TempPathFactory, dice_seed: int) -> None:
    """A broken MJCF is read or refused, never crashed on."""
    folder = tmp_path_factory.getbasetemp()
    assert_calm(folder / "mutated.xml", mutated(TINY_MJCF, dice_seed).encode())


@given(dice_seed=st.integers(0, 2**32))
@fuzzed(200)
def test_mutated_dh(tmp_path_factory: pytest.TempPathFactory, dice_seed: int) -> None:
    """A broken DH table is read or refused, never crashed on."""
    folder = tmp_path_factory.getbasetemp()
    assert_calm(folder / "mutated_dh.toml", mutated_toml(TINY_DH, dice_seed).encode())


@given(dice_seed=st.integers(0, 2**32))
@fuzzed(200)
def test_mutated_settings(
    tmp_path_factory: pytest.TempPathFactory, dice_seed: int
) -> None:
    """Broken settings beside a good URDF are read or refused, never crashed on."""
    folder = tmp_path_factory.getbasetemp()
    text = mutated_toml(TINY_SETTINGS, dice_seed)
    (folder / "beside.toml").write_text(text, encoding="utf-8")
    assert_calm(folder / "beside.urdf", TINY.encode())


@given(dice_seed=st.integers(0, 2**32), ending=st.sampled_from([".urdf", ".xml"]))
@fuzzed(150)
def test_mutated_robots_are_exported(
    tmp_path_factory: pytest.TempPathFactory, dice_seed: int, ending: str
) -> None:
    """Whatever is read is written, or refused without a trace."""
    folder = tmp_path_factory.getbasetemp()
    kind = dice_seed % 3
    robot = folder / ("export.urdf", "export.xml", "export_dh.toml")[kind]
    if kind == 2:
        text = mutated_toml(TINY_DH, dice_seed)
    else:
        text = mutated((TINY, TINY_MJCF)[kind], dice_seed)
    robot.write_text(text, encoding="utf-8")
    assert_export_calm(folder, robot, ending)


@given(st.binary(max_size=400))
@fuzzed(100)
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Bytes that are no robot are refused."""
    folder = tmp_path_factory.getbasetemp()
    for name in ("bytes.urdf", "bytes.xml", "bytes.toml"):
        assert assert_calm(folder / name, content) == 2


@given(st.text(max_size=60) | st.text("aé.", min_size=200, max_size=400))
@fuzzed(100)
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
@fuzzed(100)
def test_random_trees(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Any tree is shown, or refused for its legs, its masses or its shape."""
    folder = tmp_path_factory.getbasetemp()
    assert_calm(folder / "tree.urdf", text.encode())


@given(
    verb=st.sampled_from(["stand", "drop"]),
    option=st.sampled_from(
        [
            "--terrain {}",
            "--terrain slope:{}",
            "--terrain stairs:{}",
            "--terrain rough:{}",
            "--terrain field:{}",
            "--payload torso={}",
            "--payload {}",
            "--push {}",
            "--push {}@{}",
            "--push 5@90@{}",
            "--push 5@90@0.01@{}",
            "--friction {}",
            "--dt {}",
            "--seed {}",
            "--height {}",
            "--engine {}",
        ]
    ),
    word=st.sampled_from([*WORDS, *NUMBERS, "0.1,0.3", "0.1,0.3,5", "a.npy,1", "x=1"])
    | st.text(max_size=8),
)
@fuzzed(100)
def test_words_of_trials(
    tmp_path_factory: pytest.TempPathFactory, verb: str, option: str, word: str
) -> None:
    """Whatever is asked of a trial is done and written, or refused without a trace."""
    folder = tmp_path_factory.getbasetemp() / "trials"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    name, _, value = option.replace("{}", word).partition(" ")
    asked = [verb, "three-link", "--seconds", "0.02", f"{name}={value}"]
    status, errors = run_quietly(*asked, "--out", str(folder / "out"))
    assert status in (0, 1, 2), errors
    if status == 2:
        assert errors.startswith("equipoise: ")
        assert errors.count("\n") == 1, errors
        assert list(folder.iterdir()) == []
    else:
        text = (folder / "out" / "summary.json").read_text(encoding="utf-8")
        assert "NaN" not in text
        assert "Infinity" not in text
        assert [path.name for path in folder.iterdir()] == ["out"]
