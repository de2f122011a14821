"""A robot without a run: posed with sliders, its balance shown live."""

from __future__ import annotations

import html
import threading
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import polygon_margin
from equipoise.robot.joint_coordinates import (
    configurations,
    degree_names,
    joint_positions,
)
from equipoise.robot.model import Robot
from equipoise.show.palette import LIGHT
from equipoise.show.space.footprints import sole_corners
from equipoise.show.space.scene import posture_moment
from equipoise.show.space.solids import robot_bodies
from equipoise.show.viewer.ground_nodes import GridNodes
from equipoise.show.viewer.page import add_toggles, look_at
from equipoise.show.viewer.scene_nodes import MarkerNodes, RobotNodes

if TYPE_CHECKING:
    import viser

ROOT = "/world/robot"
# Corners of soles that are lower than this fraction of a limb touch the ground.
TOUCHING = 0.005
# Sliders have round steps, at least as many as this.
STEPS = 400
HEIGHT_OF_COM = 1.85
MM = 1e3
FIXED = {
    "left sole stays": "left",
    "right sole stays": "right",
    "base level, lowest sole on the ground": "level",
}
Fixed = Literal["left", "right", "level"]
# Wider limits than this do not count as limits [rad].
WIDEST = 2.0 * np.pi


class Poser:
    """A robot on the page that is posed with sliders; it stands at first."""

    def __init__(self, server: viser.ViserServer, robot: Robot) -> None:
        self._server, self._robot = server, robot
        self._lock = threading.Lock()
        size = robot.longest_limb
        self._tolerance = TOUCHING * size
        server.scene.add_frame(ROOT, show_axes=False)
        corners = sum(len(sole.polygon_in_sole) for sole in robot.soles.values())
        self._nodes = RobotNodes(server, ROOT, robot_bodies(robot))
        self.marks = MarkerNodes(server, ROOT, size, corners)
        GridNodes(server, f"{ROOT}/grid", 0.0, size)
        self._numbers = server.gui.add_html("")
        self._add_controls()
        add_toggles(
            server,
            [self._nodes],
            {
                "CoM": [self.marks.points],
                "Support polygon": [self.marks.support],
                "Labels": [self.marks.labels],
            },
        )
        self.sliders = self._add_sliders()
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(360)
        self.q = robot.standing
        self.update()
        height = HEIGHT_OF_COM * float(self.marks.com_position[2])
        look_at(server, np.zeros(2), 0.0, max(height, size))

    def stop(self) -> None:
        """Nothing runs by itself."""

    def update(self) -> None:
        """Show the posture that the sliders say."""
        with self._lock:
            values = np.array([slider.value for slider in self.sliders])
            base = self._robot.standing[None, :7]
            q = configurations(self._robot, base, values[None, :])[0]
            q = on_ground(self._robot, q, FIXED[self._fixed.value])  # type: ignore[arg-type]
            self.q = q
            moment = posture_moment(self._robot, q, self._tolerance)
            with self._server.atomic():
                self._nodes.place(moment.joint_poses)
                self.marks.place(moment)
                self._write_numbers(moment.com, moment.support)

    def take(self, posture: str) -> None:
        """Set the sliders to one of the robot's postures."""
        angles = joint_positions(self._robot, self._robot.posture(posture))
        with self._server.atomic():
            for slider, angle in zip(self.sliders, angles, strict=True):
                slider.value = float(angle)  # type: ignore[misc]
        self.update()

    def _add_controls(self) -> None:
        gui, robot = self._server.gui, self._robot
        there = (*robot.soles, "level")
        labels = tuple(label for label, key in FIXED.items() if key in there)
        self._fixed = gui.add_dropdown("On the ground", labels)
        self._fixed.on_update(lambda _: self.update())
        buttons = gui.add_button_group("Posture", tuple(robot.postures))
        buttons.on_click(lambda _: self.take(str(buttons.value)))

    def _add_sliders(self) -> list[viser.GuiSliderHandle[float]]:
        """Add one for each degree of freedom, in a folder for each limb."""
        robot, gui = self._robot, self._server.gui
        names = degree_names(robot)
        ranges = joint_ranges(robot)
        angles = joint_positions(robot, robot.standing)
        folders = {
            limb.name: gui.add_folder(
                limb.name.replace("_", " "), expand_by_default=limb.kind == "leg"
            )
            for limb in robot.limbs.values()
        }
        sliders = []
        for name, (low, high), angle in zip(names, ranges, angles, strict=True):
            step = max(high - low, 1e-6) / STEPS
            with folders[self._limb_of(name)]:
                slider = gui.add_slider(
                    name,
                    min=low,
                    max=high,
                    step=float(10.0 ** np.floor(np.log10(step))),
                    initial_value=float(angle),
                )
            slider.on_update(self._moved)
            sliders.append(slider)
        return sliders

    def _limb_of(self, degree: str) -> str:
        known = self._robot.model.existJointName(degree)
        joint = degree if known else degree[: degree.rindex(".")]
        limbs = self._robot.limbs.values()
        own = (limb.name for limb in limbs if joint in limb.subtree_joints)
        return next(own, next(iter(self._robot.limbs)))

    def _moved(self, event: viser.GuiEvent[Any]) -> None:
        if event.client_id is not None:
            self.update()

    def _write_numbers(self, com: Array, support: Array) -> None:
        x, y, z = com
        lines = [f"CoM ({x:.4f}, {y:.4f}, {z:.4f}) m"]
        if len(support):
            margin = MM * float(polygon_margin(support[:, :2], com[:2]))
            balanced = margin >= 0.0
            where = "inside" if balanced else "outside"
            colour = LIGHT["good" if balanced else "bad"]
            lines.append(
                f'<b style="color:{colour}">{abs(margin):.1f} mm {where}</b> '
                "the support polygon"
            )
        else:
            balanced = not self._robot.soles
            lines.append(
                "no sole is known" if balanced else "no sole touches the ground"
            )
        self.marks.set_balanced(balanced)
        name = html.escape(self._robot.name)
        self._numbers.content = (
            '<div style="padding:.3em .9em .6em;font-size:.85em;'
            f'font-variant-numeric:tabular-nums"><b>{name}</b>, '
            f"{self._robot.mass:.2f} kg<br>{'<br>'.join(lines)}</div>"
        )


def on_ground(robot: Robot, q: Array, fixed: Fixed) -> Array:
    """Return a configuration, shape (nq,), with its base moved and its joints kept.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,).
        fixed: A side: its sole is where it is in the standing posture. ``"level"``:
            the base is as upright as when standing, and the lowest corner of a sole
            touches the ground.
    """
    placed = q.copy()
    placed[:7] = robot.standing[:7]
    if fixed == "level":
        placed[2] -= _lowest(robot, placed)
        return placed
    wanted = pin.SE3(sole_pose(robot, robot.standing, fixed))
    found = pin.SE3(sole_pose(robot, placed, fixed))
    base = pin.XYZQUATToSE3(placed[:7])
    placed[:7] = pin.SE3ToXYZQUAT(wanted * found.inverse() * base)
    return placed


def _lowest(robot: Robot, q: Array) -> float:
    if robot.soles:
        return float(min(sole_corners(robot, q, s)[:, 2].min() for s in robot.soles))
    pin.forwardKinematics(robot.model, robot.data, q)
    return float(np.min([pose.translation[2] for pose in robot.data.oMi[1:]]))


def joint_ranges(robot: Robot) -> list[tuple[float, float]]:
    """Return lower and upper ends for each entry of v[6:] [rad or m].

    A joint without limits turns by π, or slides by the longest limb, to each side. The
    standing posture is always within.
    """
    kinds = {joint.name: joint.kind for joint in robot.description.joints}
    standing = joint_positions(robot, robot.standing)
    model = robot.model
    ranges = []
    for body in range(2, model.njoints):
        joint = model.joints[body]
        reach = (
            robot.longest_limb if kinds.get(model.names[body]) == "prismatic" else np.pi
        )
        for place in range(joint.nv):
            low, high = -reach, reach
            if joint.nq == 1:
                given = (
                    model.lowerPositionLimit[joint.idx_q],
                    model.upperPositionLimit[joint.idx_q],
                )
                if given[0] < given[1] and given[1] - given[0] <= 2.0 * WIDEST:
                    low, high = given
            at = float(standing[joint.idx_v - 6 + place])
            low, high = 1e4 * min(low, at), 1e4 * max(high, at)
            ranges.append((float(np.floor(low) / 1e4), float(np.ceil(high) / 1e4)))
    return ranges
