import math
import subprocess
import sys
import tomllib
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from equipoise.arrays import Array
from equipoise.errors import RobotFileError, UnknownRobotError
from equipoise.robot.catalogue import (
    catalogue_names,
    catalogue_summary,
    read_catalogue,
    read_catalogue_table,
)
from equipoise.robot.formats.dh import read_dh
from equipoise.robot.formats.robot_toml import read_tree_toml
from equipoise.robot.pinocchio_model import build_model
from equipoise.rotations import rotation_from_rpy

NAMES = ("humanoid", "itu-biped", "mahru-1", "muscolo-biped", "three-link")
MIRROR = np.diag([1.0, -1.0, 1.0])

# Sums of the printed mass columns [kg]
PRINTED_MASS = {
    "mahru-1": 2 * (2.067 + 1.8206 + 3.3586 + 2.2238 + 2.6922 + 1.9091)
    + 2 * (0.823 + 1.437 + 0.9 + 0.11 + 0.781 + 0.053)
    + (0.5 + 0.5 + 4.6341 + 25.7),
    "itu-biped": 2.387902
    + 2 * (2.139072 + 0.71518 + 3.804756 + 2.805996 + 0.022225 + 1.584761),
    "muscolo-biped": 2 * (6.72 + 0.95 + 1.16) + 0.94,
    "three-link": 2 * 5.0 + 15.0 + 10.0,
    "humanoid": 70.0,
}


class Posed:
    """A catalogue robot in a posture, its base at the origin."""

    def __init__(self, name: str, posture: dict[str, float] | str = "") -> None:
        self.description, self.settings = read_catalogue(name)
        self.model = build_model(self.description)
        if isinstance(posture, str):
            posture = self.settings["postures"][posture] if posture else {}
        q = pin.neutral(self.model)
        for joint, value in posture.items():
            q[self.model.idx_qs[self.model.getJointId(joint)]] = value
        self.data = self.model.createData()
        self.com = np.array(pin.centerOfMass(self.model, self.data, q))
        pin.framesForwardKinematics(self.model, self.data, q)

    def frame(self, link: str) -> pin.SE3:
        """Return a link's pose in base coordinates."""
        return self.data.oMf[self.model.getFrameId(link)]

    def link_com(self, link: str) -> Array:
        """Return a link's CoM in base coordinates [m]."""
        inertial = self.description.link_by_name[link].inertial
        assert inertial is not None
        return np.array(self.frame(link).act(np.array(inertial.com_in_link)))

    def sole(self, side: str) -> Array:
        """Return a sole's pose in base coordinates, shape (4, 4)."""
        entry = self.settings["soles"][side]
        pose = np.eye(4)
        pose[:3, :3] = rotation_from_rpy(entry["rpy"])
        pose[:3, 3] = entry["xyz"]
        return np.array(self.frame(entry["link"]).homogeneous @ pose)

    @property
    def com_above_soles(self) -> Array:
        """CoM from the middle between the soles, in base axes [m]."""
        middle = 0.5 * (self.sole("left") + self.sole("right"))[:3, 3]
        return self.com - middle


def test_names() -> None:
    """The catalogue holds the five robots of the five papers."""
    assert tuple(catalogue_names()) == NAMES


def test_unknown_name() -> None:
    """An unknown name is answered with the nearest one and the list."""
    with pytest.raises(UnknownRobotError) as caught:
        read_catalogue("mahru1")
    assert "did you mean 'mahru-1'?" in str(caught.value)
    assert ", ".join(NAMES) in str(caught.value)


def test_listing_is_light() -> None:
    """Names and summaries need neither NumPy nor Pinocchio."""
    code = (
        "import sys; from equipoise.robot.catalogue import *\n"
        "[catalogue_summary(name) for name in catalogue_names()]\n"
        "heavy = {'numpy', 'pinocchio', 'scipy', 'warp', 'mujoco'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_summary(name: str) -> None:
    """Each robot has a title and a source of one line and lists its assumptions."""
    summary = catalogue_summary(name)
    _, settings = read_catalogue(name)
    assert summary.name == name
    for text in (summary.title, summary.source, *settings["assumptions"]):
        assert text.strip()
        assert "\n" not in text
    assert settings["assumptions"]


@pytest.mark.parametrize("name", NAMES)
def test_total_mass_is_the_printed_sum(name: str) -> None:
    """The model's mass is the sum of the printed masses."""
    mass = pin.computeTotalMass(Posed(name).model)
    assert mass == pytest.approx(PRINTED_MASS[name], abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_inertias_are_physical(name: str) -> None:
    """Every inertia is positive definite and keeps the triangle rule."""
    for link in read_catalogue(name)[0].links:
        if link.inertial is not None:
            low, middle, high = np.linalg.eigvalsh(link.inertial.inertia_in_link)
            assert low > 0.0, link.name
            assert low + middle >= high * (1.0 - 1e-12), link.name


@pytest.mark.parametrize("name", NAMES)
def test_settings_name_what_exists(name: str) -> None:
    """Limbs, soles, actuators and postures name links and joints of the robot."""
    description, settings = read_catalogue(name)
    joints, links = description.joint_by_name, description.link_by_name
    for limb in settings["limbs"].values():
        above = {joint.child: joint for joint in description.joints}
        link, moving = limb["end_link"], []
        while link in above:
            if above[link].kind != "fixed":
                moving.append(above[link].name)
            link = above[link].parent
        assert moving[::-1][-len(limb["joints"]) :] == limb["joints"]
    assert all(sole["link"] in links for sole in settings["soles"].values())
    assert set(settings.get("actuators", {})) <= {"default", *joints}
    for posture in settings["postures"].values():
        for joint, value in posture.items():
            assert joints[joint].lower <= value <= joints[joint].upper


@pytest.mark.parametrize("name", NAMES)
def test_standing_is_level_and_balanced(name: str) -> None:
    """Standing, the soles are level, at one height, face x, and carry the CoM."""
    robot = Posed(name, "standing")
    for side in ("left", "right"):
        np.testing.assert_allclose(robot.sole(side)[:3, :3], np.eye(3), atol=1e-6)
    com = robot.com_above_soles
    sole = robot.settings["soles"]["left"]
    if "size" in sole:
        centre = np.array(sole["centre"])
        assert abs(com[0] - centre[0]) < 0.25 * sole["size"][0]
        assert robot.sole("left")[2, 3] == pytest.approx(robot.sole("right")[2, 3])


@pytest.mark.parametrize("name", ["humanoid", "muscolo-biped", "three-link"])
def test_symmetric_robots_have_com_in_the_middle(name: str) -> None:
    """A robot of mirrored halves has its CoM in the plane y = 0."""
    assert abs(Posed(name, "standing").com[1]) < 1e-15


# --- Mahru I ---------------------------------------------------------------------


def test_mahru_legs_are_straight() -> None:
    """At q = 0 hip, knee, ankle and sole lie on a vertical line at y = ±0.09 m."""
    robot = Posed("mahru-1")
    for side, y in (("left", 0.09), ("right", -0.09)):
        heights = {"thigh": -0.146, "shank": -0.456, "foot": -0.766, "sole": -0.869}
        for link, z in heights.items():
            position = robot.frame(f"{side}_{link}").translation
            np.testing.assert_allclose(position, [0.0, y, z], atol=1e-15)


def test_mahru_arms_hang_beside_the_body() -> None:
    """At q = 0 elbow, wrist and palm hang straight below the shoulder."""
    robot = Posed("mahru-1")
    for side, y in (("left", 0.191), ("right", -0.191)):
        heights = {"elbow_link": 0.116, "hand": -0.109, "palm": -0.15}
        for link, z in heights.items():
            position = robot.frame(f"{side}_{link}").translation
            np.testing.assert_allclose(position, [-0.0055, y, z], atol=1e-15)


def test_mahru_asymmetries_are_the_printed_ones() -> None:
    """Left and right are mirror images but for two printed arm centroids."""
    robot = Posed("mahru-1")
    differences = {}
    for link in robot.description.links:
        if link.name.startswith("left_") and link.inertial is not None:
            right = robot.link_com(link.name.replace("left_", "right_"))
            gap = np.abs(MIRROR @ robot.link_com(link.name) - right).max()
            if gap > 1e-15:
                differences[link.name] = round(gap, 9)
    assert differences == {"left_shoulder_roll_link": 0.00025, "left_forearm": 0.00007}


def test_mahru_has_the_papers_initial_com() -> None:
    """Posture "paper" has the CoM (0.034, 0, 0.687) m that [Choi2007] starts from."""
    com = Posed("mahru-1", "paper").com_above_soles
    np.testing.assert_allclose(com, [0.034, 0.0, 0.687], atol=1e-5)


# --- ITU Biped -------------------------------------------------------------------


def test_itu_legs_are_straight() -> None:
    """With hip roll at −π/2 hip, knee, ankle and sole lie on a vertical line."""
    robot = Posed("itu-biped", "straight")
    for side, y in (("left", 0.13), ("right", -0.13)):
        heights = {"upper_leg": -0.07, "lower_leg": -0.492, "foot": -0.892}
        for link, z in heights.items():
            position = robot.frame(f"{side}_{link}").translation
            np.testing.assert_allclose(position, [0.0, y, z], atol=1e-15)
        sole = robot.frame(f"{side}_sole").translation
        np.testing.assert_allclose(sole, [0.0, y, -0.967], atol=1e-15)


def test_itu_heights() -> None:
    """Standing, the hips are 0.826 m above the soles and the CoG is below the hips."""
    robot = Posed("itu-biped", "standing")
    hip = robot.frame("left_upper_leg").translation[2]
    assert hip - robot.sole("left")[2, 3] == pytest.approx(0.826, abs=1e-6)
    assert robot.com_above_soles[2] == pytest.approx(0.573, abs=5e-4)
    straight = Posed("itu-biped", "straight").com_above_soles
    np.testing.assert_allclose(straight, [0.0147, -0.0023, 0.6151], atol=5e-5)


def test_itu_readings_of_table_2() -> None:
    """Hips over ankles at 0.826 m, the readings of Table 2 give the documented CoG."""
    table = read_catalogue_table("itu-biped")
    hip_pitch, knee = -0.406927786, 0.837684271
    heights = {}
    for reading in ("proximal", "distal_axes", "distal"):
        for limb in table["dh"].values():
            limb["centroid_frame"] = reading
        model = build_model(read_dh(table, "itu"))
        q = pin.neutral(model)
        for side in ("left", "right"):
            for joint, value in (
                ("hip_roll", -math.pi / 2),
                ("hip_pitch", hip_pitch),
                ("knee", knee),
                ("ankle_pitch", -hip_pitch - knee),
            ):
                q[model.idx_qs[model.getJointId(f"{side}_{joint}")]] = value
        com = pin.centerOfMass(model, model.createData(), q)
        heights[reading] = com[2] + 0.07 + 0.826
    expected = {"proximal": 0.5749, "distal_axes": 0.5696, "distal": 0.3566}
    assert heights == pytest.approx(expected, abs=5e-5)


# --- Muscolo's biped -------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "position_mm"),
    [
        ("right_foot", (0, -200, 26.32)),
        ("right_shin", (0, -200, 300)),
        ("right_thigh", (0, -200, 750)),
        ("left_foot", (0, 200, 26.32)),
        ("left_shin", (0, 200, 300)),
        ("left_thigh", (0, 200, 750)),
        ("waist", (0, 0, 1000)),
    ],
)
def test_muscolo_absolute_coms(link: str, position_mm: tuple[float, ...]) -> None:
    """Each link's CoM above the floor is the one that Table 1 prints."""
    robot = Posed("muscolo-biped", "standing")
    above_floor = robot.link_com(link) - [0.0, 0.0, robot.sole("left")[2, 3]]
    np.testing.assert_allclose(above_floor * 1e3, position_mm, atol=1e-10)


def test_muscolo_configurations() -> None:
    """Leaning by 10° about ankle or knee moves the CoM as plane geometry says."""
    angle = math.radians(10.0)
    shin, thigh, waist, total = 2 * 0.95, 2 * 1.16, 0.94, 18.6
    moment_b = (shin * 0.2 + thigh * 0.65 + waist * 0.9) * math.sin(angle)
    moment_c = (thigh * 0.25 + waist * 0.5) * math.sin(angle)
    for name, moment in (("b", moment_b), ("c", moment_c)):
        robot = Posed("muscolo-biped", f"configuration_{name}")
        sole = np.linalg.inv(robot.sole("right"))
        forward = sole[0] @ np.r_[robot.com, 1.0]
        assert forward == pytest.approx(moment / total, abs=1e-12)


# --- three-link biped ------------------------------------------------------------


def test_three_link_com_is_the_reports() -> None:
    """The CoM of the tree is Eq. 7 of [ThreeLink] with its angles mapped."""
    r, torso_length = 1.0, 0.5
    stance, swing, torso = 0.2, -0.3, 0.1  # leg and torso from the vertical, + forward
    hip = r * np.array([math.sin(stance), math.cos(stance)])
    along = {
        "stance": hip / 2,
        "hip": hip,
        "swing": hip - r / 2 * np.array([math.sin(swing), math.cos(swing)]),
        "torso": hip + torso_length * np.array([math.sin(torso), math.cos(torso)]),
    }
    masses = {"stance": 5.0, "hip": 15.0, "swing": 5.0, "torso": 10.0}
    expected = sum(masses[k] * along[k] for k in masses) / 35.0

    robot = Posed(
        "three-link", {"left_hip": stance - torso, "right_hip": swing - torso}
    )
    tilt = np.eye(3)
    tilt[0, 0] = tilt[2, 2] = math.cos(torso)
    tilt[0, 2], tilt[2, 0] = math.sin(torso), -math.sin(torso)
    got = tilt @ (robot.com - robot.sole("left")[:3, 3])

    np.testing.assert_allclose(got[[0, 2]], expected, atol=1e-14)


def test_three_link_inertias_are_nearly_points() -> None:
    """The spheres that stand for points add less than 0.1 % to a leg's moment."""
    inertial = read_catalogue("three-link")[0].link_by_name["left_leg"].inertial
    assert inertial is not None
    assert inertial.inertia_in_link[1, 1] < 1e-3 * inertial.mass * 0.5**2


# --- humanoid --------------------------------------------------------------------


def test_humanoid_halves_are_mirror_images() -> None:
    """Masses, CoMs, inertias, shapes and limits of left and right mirror each other."""
    robot = Posed("humanoid")
    description = robot.description
    for link in description.links:
        if not link.name.startswith("left_"):
            continue
        other = description.link_by_name[link.name.replace("left_", "right_")]
        assert link.inertial is not None
        assert other.inertial is not None
        assert link.inertial.mass == other.inertial.mass
        np.testing.assert_array_equal(
            link.inertial.inertia_in_link, other.inertial.inertia_in_link
        )
        assert [s.size for s in link.collisions] == [s.size for s in other.collisions]
        np.testing.assert_allclose(
            MIRROR @ robot.link_com(link.name), robot.link_com(other.name), atol=1e-15
        )
        above = {joint.child: joint for joint in description.joints}
        left, right = above[link.name], above[other.name]
        sign = 1.0 if left.axis[1] == 1.0 else -1.0
        limits = sorted([sign * right.lower, sign * right.upper])
        assert limits == [left.lower, left.upper]


@pytest.mark.parametrize(
    ("links", "proximal", "length", "mass_share", "com_share"),
    [
        (("hip_yaw_link", "hip_roll_link", "thigh"), "thigh", 0.245, 0.1, 0.433),
        (("shank",), "shank", 0.246, 0.0465, 0.433),
        (
            ("shoulder_pitch_link", "shoulder_roll_link", "upper_arm"),
            "upper_arm",
            0.186,
            0.028,
            0.436,
        ),
        (("elbow_link", "forearm"), "elbow_link", 0.146, 0.016, 0.430),
        (("wrist_pitch_link", "hand"), "hand", 0.108, 0.006, 0.506),
    ],
)
def test_humanoid_segments_are_winters(
    links: tuple[str, ...],
    proximal: str,
    length: float,
    mass_share: float,
    com_share: float,
) -> None:
    """Each limb segment has Winter's fraction of mass and his place of the CoM."""
    robot = Posed("humanoid")
    masses, moments = 0.0, np.zeros(3)
    for name in links:
        inertial = robot.description.link_by_name[f"left_{name}"].inertial
        assert inertial is not None
        masses += inertial.mass
        moments += inertial.mass * robot.link_com(f"left_{name}")
    drop = robot.frame(f"left_{proximal}").translation - moments / masses

    assert masses == pytest.approx(mass_share * 70.0, abs=1e-12)
    np.testing.assert_allclose(drop, [0, 0, com_share * length * 1.7], atol=2e-5)


def test_humanoid_stands_as_tall_as_winters() -> None:
    """Hips, shoulders and neck are at Winter's heights above the sole."""
    robot = Posed("humanoid")
    floor = robot.sole("left")[2, 3]
    for link, fraction in (
        ("left_thigh", 0.530),
        ("left_shank", 0.285),
        ("left_upper_arm", 0.818),
        ("neck", 0.870),
    ):
        height = robot.frame(link).translation[2] - floor
        assert height == pytest.approx(fraction * 1.7, abs=2e-5)


# --- reading ---------------------------------------------------------------------


TREE = """
name = "stick"
[[links]]
name = "body"
mass = 2.0
com = [0, 0, 0]
[[links]]
name = "rod"
mass = 1.0
com = [0, 0, -0.2]
inertia = { cylinder = [0.01, 0.4] }
[[joints]]
name = "hinge"
kind = "revolute"
parent = "body"
child = "rod"
axis = [0, 2, 0]
"""


def stick() -> dict[str, Any]:
    """Return a fresh parse of the stick."""
    return tomllib.loads(TREE)


def test_tree_joint_and_solid() -> None:
    """A plain tree's axis is normalised and a solid gives its textbook moments."""
    description = read_tree_toml(stick(), "stick.toml")
    assert description.joint_by_name["hinge"].axis.tolist() == [0.0, 1.0, 0.0]
    inertial = description.link_by_name["rod"].inertial
    assert inertial is not None
    across = (3 * 0.01**2 + 0.4**2) / 12
    expected = np.diag([across, across, 0.5 * 0.01**2])
    np.testing.assert_allclose(inertial.inertia_in_link, expected, atol=1e-16)
    (sentence,) = description.assumptions
    assert sentence.startswith("1 link has no inertia in the file (body)")


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("joints", "axsi", [0, 1, 0], "unknown key 'axsi' (did you mean 'axis'?)"),
        ("joints", "axis", [0, 0, 0], "joints 1 ('hinge'): 'axis' is zero"),
        ("joints", "kind", "hinge", "kind 'hinge' is not known"),
        ("joints", "damping", -1, "'damping' is -1, it must not be negative"),
        ("joints", "child", "leg", "names link 'leg', which does not exist"),
        ("links", "mass", 0, "mass 0 kg must be above zero"),
        ("links", "com", [0, 0, math.nan], "'com' is nan"),
        ("links", "shapes", [{"box": [1]}], "'box' needs 3 numbers, has 1"),
    ],
)
def test_tree_errors(section: str, key: str, value: object, message: str) -> None:
    """Each mistake in a plain tree gives one line that names file and item."""
    table = stick()
    table[section][0][key] = value
    with pytest.raises(RobotFileError) as caught:
        read_tree_toml(table, "stick.toml")
    assert str(caught.value).startswith("stick.toml")
    assert message in str(caught.value)
