"""What of the scene is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from equipoise.show.viewer.robot_nodes import LOOKS, RobotNodes

if TYPE_CHECKING:
    import viser


def add_toggles(
    server: viser.ViserServer,
    robots: Sequence[RobotNodes],
    groups: Mapping[str, Sequence[viser.SceneNodeHandle]],
) -> viser.GuiFolderHandle:
    """Add a folder of switches.

    Args:
        server: The page's.
        robots: Whose look can be chosen.
        groups: Nodes that are shown or hidden together, by the switch's label.
    """
    gui = server.gui
    folder = gui.add_folder("Show", expand_by_default=False)
    with folder:
        look = gui.add_dropdown("Robot", LOOKS)

        def set_look(_: object) -> None:
            with server.atomic():
                for robot in robots:
                    robot.set_look(look.value)

        look.on_update(set_look)
        for label, nodes in groups.items():
            _add_switch(server, label, nodes)
    return folder


def _add_switch(
    server: viser.ViserServer, label: str, nodes: Sequence[viser.SceneNodeHandle]
) -> None:
    box = server.gui.add_checkbox(label, True)

    def switch(_: object) -> None:
        for node in nodes:
            node.visible = box.value

    box.on_update(switch)
