"""Where the page looks from, and its light."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Array

if TYPE_CHECKING:
    import viser

# Direction from the robot to the camera: from ahead, to its left, a little above.
FROM = np.array([1.0, 0.62, 0.3])
# Towards each light, and how strong it is.
LIGHTS = {"key": ((2.0, 2.5, 4.0), 1.9), "rim": ((-3.0, -2.0, 1.5), 0.9)}
AMBIENT = 1.4
# On a phone controls cover the lower part: the robot is put above them.
NARROW, PHONE_DISTANCE, PHONE_TARGET = 0.75, 1.9, -0.17
FIELD_OF_VIEW = np.deg2rad(35.0)


def look_at(
    server: viser.ViserServer,
    middle: Array,
    reach: float,
    height: float,
    depth: float = 0.0,
) -> None:
    """Set the light, and the camera of whoever comes or resets the view.

    Args:
        server: The page's.
        middle: What is in the middle of the view, on the ground [m], shape (2,).
        reach: Width of what should be seen [m].
        height: Of the robot [m].
        depth: How far before the middle it may stand [m].
    """
    server.scene.world_axes.visible = False
    _light(server)
    target = np.array([*middle, 0.47 * height])
    away = 0.5 * max(1.25 * height, reach) / np.tan(0.5 * FIELD_OF_VIEW)
    offset = (1.1 * away + depth) * FROM / np.linalg.norm(FROM)
    camera = server.initial_camera
    camera.look_at = target
    camera.position = target + offset
    camera.fov = float(FIELD_OF_VIEW)

    def fit(client: viser.ClientHandle) -> None:
        if client.camera.aspect < NARROW:
            lower = np.array([*middle, PHONE_TARGET * height])
            client.camera.position = lower + PHONE_DISTANCE * offset
            client.camera.look_at = lower

    server.on_client_connect(fit)


def _light(server: viser.ViserServer) -> None:
    """Light from ahead and above, and less from behind.

    Without shadows and environment, which cost most of the time of a computer that has
    no graphics processor.
    """
    scene = server.scene
    scene.configure_default_lights(enabled=False)
    scene.configure_environment_map(None)
    scene.add_light_ambient("/light/all", intensity=AMBIENT)
    for name, (position, intensity) in LIGHTS.items():
        scene.add_light_directional(
            f"/light/{name}", intensity=intensity, position=position
        )
