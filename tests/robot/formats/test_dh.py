import copy
import math
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.arrays import Array
from equipoise.errors import RobotFileError
from equipoise.robot.description import Description
from equipoise.robot.formats.dh import DhParameters, read_dh, read_dh_limbs
from equipoise.robot.formats.toml_table import angle_from_text
from equipoise.robot.inertias import LINK_DENSITY, estimate_inertia
from equipoise.robot.pinocchio_model import build_model

ANGLE = st.floats(-3.2, 3.2)
LENGTH = st.floats(-0.5, 0.5)
VECTOR = st.lists(LENGTH, min_size=3, max_size=3)


def rx(angle: float) -> Array:
    """Turn about x."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def rz(angle: float) -> Array:
    """Turn about z."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def shift(x: float, y: float, z: float) -> Array:
    """Move along the axes."""
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return matrix


def a_matrix(row: dict[str, Any], q: float, convention: str) -> Array:
    """Multiply one line of a DH table out of its four elementary motions."""
    theta, d = row["theta"], row["d"]
    if row["kind"] == "prismatic":
        d += q
    else:
        theta += q
    about_z = rz(theta) @ shift(0, 0, d)
    about_x = shift(row["a"], 0, 0) @ rx(row["alpha"])
    return about_z @ about_x if convention == "standard" else about_x @ about_z


@st.composite
def dh_tables(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a robot of one limb of one to five joints, in either convention."""
    convention = draw(st.sampled_from(["standard", "modified"]))
    frames = ["proximal", "distal", "distal_axes"]
    rows = [
        {
            "joint": f"joint_{k}",
            "link": f"link_{k}",
            "kind": draw(st.sampled_from(["revolute", "prismatic"])),
            "alpha": draw(ANGLE),
            "a": draw(LENGTH),
            "d": draw(LENGTH),
            "theta": draw(ANGLE),
            "mass": draw(st.floats(0.1, 5.0)),
            "centroid": draw(VECTOR),
        }
        for k in range(draw(st.integers(1, 5)))
    ]
    row_0 = {"alpha": draw(ANGLE), "a": draw(LENGTH), "d": draw(LENGTH), "theta": 0.3}
    return {
        "name": "random",
        "base": {"name": "base", "mass": 2.0, "com": draw(VECTOR)},
        "dh": {
            "limb": {
                "convention": convention,
                "base": {"xyz": draw(VECTOR), "rpy": [0.0, 0.0, draw(ANGLE)]},
                "row_0": row_0,
                "centroid_frame": draw(st.sampled_from(frames))
                if convention == "standard"
                else "distal",
                "rows": rows,
                "end": "tip",
            }
        },
    }


def frames_by_hand(limb: dict[str, Any], q: Array) -> list[Array]:
    """Return frames 0 to n as products of elementary motions."""
    base = limb["base"]
    pose = shift(*base["xyz"]) @ rz(base["rpy"][2])
    row_0 = limb["row_0"] | {"kind": "revolute"}
    poses = [pose @ a_matrix(row_0, 0.0, limb["convention"])]
    for row, position in zip(limb["rows"], q, strict=True):
        poses.append(poses[-1] @ a_matrix(row, position, limb["convention"]))
    return poses


def placements(description: Description, q: Array) -> dict[str, Array]:
    """Return link poses by Pinocchio with the base at the origin."""
    model = build_model(description)
    data = model.createData()
    pin.framesForwardKinematics(model, data, np.r_[np.zeros(6), 1.0, q])
    return {
        link.name: data.oMf[model.getFrameId(link.name)].homogeneous
        for link in description.links
    }


@settings(deadline=None, max_examples=60)
@given(dh_tables(), st.integers(0, 2**32 - 1))
def test_tree_is_product_of_dh_matrices(table: dict[str, Any], seed: int) -> None:
    """The end frame of the tree is the product of hand-multiplied DH matrices."""
    limb = table["dh"]["limb"]
    q = np.random.default_rng(seed).uniform(-1.5, 1.5, len(limb["rows"]))

    tree = placements(read_dh(table, "random.toml"), q)

    np.testing.assert_allclose(tree["tip"], frames_by_hand(limb, q)[-1], atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(dh_tables(), st.integers(0, 2**32 - 1))
def test_centroids_follow_their_frame(table: dict[str, Any], seed: int) -> None:
    """Each link's CoM in the tree is where the definition of its frame puts it."""
    limb = table["dh"]["limb"]
    q = np.random.default_rng(seed).uniform(-1.5, 1.5, len(limb["rows"]))
    description = read_dh(table, "random.toml")
    tree = placements(description, q)
    poses = frames_by_hand(limb, q)

    for k, row in enumerate(limb["rows"]):
        inertial = description.link_by_name[row["link"]].inertial
        assert inertial is not None
        got = tree[row["link"]] @ np.r_[inertial.com_in_link, 1.0]
        prismatic = row["kind"] == "prismatic"
        joint = shift(0, 0, q[k]) if prismatic else rz(q[k])
        frame = {
            "proximal": poses[k] @ joint,
            "distal": poses[k + 1],
            "distal_axes": poses[k + 1].copy(),
        }[limb["centroid_frame"]]
        if limb["centroid_frame"] == "distal_axes":
            frame[:3, 3] = (poses[k] @ joint)[:3, 3]
        np.testing.assert_allclose(got, frame @ np.r_[row["centroid"], 1], atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(dh_tables())
def test_estimated_inertias_are_physical(table: dict[str, Any]) -> None:
    """Every estimated inertia is positive definite and keeps the triangle rule."""
    for link in read_dh(table, "random.toml").links:
        if link.inertial is not None:
            low, middle, high = np.linalg.eigvalsh(link.inertial.inertia_in_link)
            assert low > 0.0
            assert low + middle >= high * (1.0 - 1e-12)


def test_estimate_is_a_cylinder_along_the_span() -> None:
    """A long link's estimate has the moments of the solid cylinder of its density."""
    mass, length = 3.0, 0.4
    radius_squared = mass / LINK_DENSITY / (math.pi * length)
    along = 0.5 * mass * radius_squared
    across = mass * (3.0 * radius_squared + length**2) / 12.0

    inertia = estimate_inertia(mass, np.array([0.0, length, 0.0]))

    np.testing.assert_allclose(inertia, np.diag([across, along, across]), atol=1e-15)


def test_estimates_are_reported() -> None:
    """The reader says which inertias it had to estimate, and how."""
    (notice,) = read_dh(TABLE, "arm.toml").assumptions
    assert notice.startswith("3 links have no inertia in the file (base, upper, lower)")
    assert "1000 kg/m³" in notice


def test_inertia_turns_with_the_centroid_frame() -> None:
    """A solid given in the distal frame keeps its moments about the same axes."""
    table = copy.deepcopy(TABLE)
    limb = table["dh"]["arm"]
    limb["centroid_frame"] = "distal"
    limb["rows"][0]["inertia"] = [1.0, 2.0, 2.5, 0.0, 0.0, 0.0]
    description = read_dh(table, "arm.toml")
    inertial = description.link_by_name["upper"].inertial
    assert inertial is not None
    rotation = (rz(math.pi / 2) @ rx(math.pi / 2))[:3, :3]

    np.testing.assert_allclose(
        inertial.inertia_in_link,
        rotation @ np.diag([1.0, 2.0, 2.5]) @ rotation.T,
        atol=1e-15,
    )


def test_masses_of_the_previous_row() -> None:
    """With mass_row "previous", row k − 1 gives link k its mass and centroid."""
    table = copy.deepcopy(TABLE)
    limb = table["dh"]["arm"]
    limb["mass_row"] = "previous"
    limb["row_0"] = {
        **dict.fromkeys(("alpha", "a", "d", "theta"), 0.0),
        "mass": 7.0,
        "centroid": [0.1, 0.2, 0.3],
    }
    del limb["rows"][1]["mass"], limb["rows"][1]["centroid"]

    upper, lower = read_dh_limbs(table)["arm"].rows

    assert (upper.mass, lower.mass) == (7.0, 2.0)
    assert upper.centroid.tolist() == [0.1, 0.2, 0.3]
    assert lower.centroid.tolist() == [0.15, 0.0, 0.0]


def test_base_matrix_equals_base_pose() -> None:
    """A limb's base as a 4×4 matrix and as xyz and rpy give the same robot."""
    by_pose, by_matrix = copy.deepcopy(TABLE), copy.deepcopy(TABLE)
    by_pose["dh"]["arm"]["base"] = {"xyz": [1, 2, 3], "rpy": [0, 0, "pi/2"]}
    by_matrix["dh"]["arm"]["base"] = {
        "matrix": [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    }

    poses = [
        read_dh_limbs(table)["arm"].transform_limb_to_parent
        for table in (by_pose, by_matrix)
    ]

    np.testing.assert_allclose(*poses, atol=1e-15)


def test_limb_can_hang_on_another() -> None:
    """A limb whose parent is another limb's link moves with that link."""
    table = copy.deepcopy(TABLE)
    table["dh"]["finger"] = {
        "convention": "modified",
        "parent": "lower",
        "rows": [dict.fromkeys(("alpha", "a", "d", "theta"), 0.0) | {"joint": "tip"}],
    }

    description = read_dh(table, "arm.toml")

    names = [joint.name for joint in description.joints_depth_first()]
    assert names == ["shoulder", "elbow", "tip"]
    joints = description.joint_by_name
    assert joints["tip"].parent == joints["elbow"].child == "lower"


@pytest.mark.parametrize(
    ("text", "angle"),
    [
        ("pi/2", math.pi / 2),
        ("-pi/2", -math.pi / 2),
        ("π", math.pi),
        ("3*pi/4", 0.75 * math.pi),
        ("-2pi / 3", -2 * math.pi / 3),
        ("90 deg", math.pi / 2),
        ("-45°", -math.pi / 4),
    ],
)
def test_angles_as_text(text: str, angle: float) -> None:
    """Multiples of π and degrees are read as a paper prints them."""
    assert angle_from_text(text) == pytest.approx(angle, abs=1e-15)


@given(st.text(max_size=20))
def test_other_text_is_not_an_angle(text: str) -> None:
    """Any text gives a finite angle or NaN and never runs as code."""
    value = angle_from_text(text)
    assert math.isnan(value) or math.isfinite(value)


@pytest.mark.parametrize("text", ["__import__('os')", "pi**9", "1/0*pi", "pi/0", "1.5"])
def test_expressions_are_refused(text: str) -> None:
    """Expressions beyond a multiple of π are not evaluated."""
    assert math.isnan(angle_from_text(text))


TABLE: dict[str, Any] = {
    "name": "arm",
    "base": {"name": "base", "mass": 5.0, "com": [0, 0, 0]},
    "dh": {
        "arm": {
            "convention": "standard",
            "rows": [
                {
                    "joint": "shoulder",
                    "link": "upper",
                    "alpha": "pi/2",
                    "a": 0.3,
                    "d": 0.0,
                    "theta": "pi/2",
                    "mass": 2.0,
                    "centroid": [0.15, 0.0, 0.0],
                },
                {
                    "joint": "elbow",
                    "link": "lower",
                    "alpha": 0,
                    "a": 0.2,
                    "d": 0,
                    "theta": 0,
                    "mass": 1.0,
                    "centroid": [0.1, 0, 0],
                    "limits": [-1, 1],
                },
            ],
        }
    },
}

BROKEN = [
    (("dh", "arm", "rows", 1, "aplha"), 0, "unknown key 'aplha' (did you mean 'alpha'"),
    (("dh", "arm", "conventoin"), "x", "(did you mean 'convention'?)"),
    (("bsae",), {}, "arm.toml: unknown key 'bsae' (did you mean 'base'?)"),
    (("dh", "arm", "convention"), "standart", "(did you mean 'standard'?)"),
    (("dh", "arm", "rows", 1, "kind"), "ball", "choose from revolute, prismatic"),
    (("dh", "arm", "rows", 1, "a"), math.nan, "rows 2 ('elbow'): 'a' is nan"),
    (("dh", "arm", "rows", 1, "a"), 10**400, "not a finite number below 1e+12"),
    (("dh", "arm", "rows", 1, "a"), True, "'a' is True, not a finite number"),
    (("dh", "arm", "rows", 1, "theta"), "half pi", "'theta' is 'half pi'"),
    (("dh", "arm", "rows", 1, "centroid"), [0, 0], "'centroid' needs 3 numbers, has 2"),
    (("dh", "arm", "rows", 1, "mass"), -1, "mass -1 kg must be above zero"),
    (("dh", "arm", "rows", 1, "limits"), [1, -1], "lower limit 1 is above upper"),
    (("dh", "arm", "rows", 1, "effort_limit"), -1, "it must not be negative"),
    (("dh", "arm", "rows", 1, "joint"), "shoulder", "2 joints are named 'shoulder'"),
    (("dh", "arm", "rows", 1, "inertia"), [1, 1, 9, 0, 9, 0], "not positive definite"),
    (("dh", "arm", "rows", 1, "inertia"), {"ball": 1}, "known are box, ellipsoid"),
    (("dh", "arm", "rows", 1, "shapes"), [{"box": [1, 1, 0]}], "not above zero"),
    (("dh", "arm", "rows"), [], "[dh.arm]: 'rows' is empty"),
    (("dh", "arm", "rows"), 3, "'rows' must be a list of tables"),
    (("dh", "arm", "parent"), "torso", "names link 'torso', which does not exist"),
    (("dh", "arm", "centroid_frame"), "middle", "choose from proximal, distal"),
    (("dh", "arm", "mass_row"), "previous", "the last row holds no mass"),
    (("dh", "arm", "base"), {"matrix": [[1, 0, 0, 0]] * 4}, "not a rigid transform"),
    (("dh", "arm", "base"), {"xyz": [0, 0, math.inf]}, "'xyz' is inf"),
    (("dh",), {}, "holds no limb"),
    (("base", "com"), "middle", "'com' needs a list of 3 numbers"),
    (("base", "name"), "", "'name' must be a name in quotes"),
]


@pytest.mark.parametrize(("path", "value", "message"), BROKEN)
def test_errors_name_file_and_item(
    path: tuple[str | int, ...], value: object, message: str
) -> None:
    """Each mistake gives one line that begins with the file and says what is wrong."""
    table = copy.deepcopy(TABLE)
    place: Any = table
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value

    with pytest.raises(RobotFileError) as caught:
        read_dh(table, "arm.toml")

    text = str(caught.value)
    assert text.startswith("arm.toml")
    assert message in text
    assert "\n" not in text


def test_missing_key_is_named() -> None:
    """A row without one of its parameters is refused by that parameter's name."""
    table = copy.deepcopy(TABLE)
    del table["dh"]["arm"]["rows"][0]["alpha"]
    with pytest.raises(
        RobotFileError, match=r"rows 1 \('shoulder'\): 'alpha' is missing"
    ):
        read_dh(table, "arm.toml")


def test_modified_tables_have_one_centroid_frame() -> None:
    """A modified table refuses the proximal frame and says which one to use."""
    table = copy.deepcopy(TABLE)
    table["dh"]["arm"] |= {"convention": "modified", "centroid_frame": "proximal"}
    with pytest.raises(RobotFileError, match="use 'distal'"):
        read_dh(table, "arm.toml")


def test_parameters_at_zero_are_the_identity() -> None:
    """A line of zeros moves nothing in either convention."""
    line = DhParameters(0.0, 0.0, 0.0, 0.0)
    for convention in ("standard", "modified"):
        np.testing.assert_array_equal(line.transform(convention), np.eye(4))
