"""The page: its server, its light and camera, and the switches of what is shown."""

from __future__ import annotations

import contextlib
import errno
import io
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import viser

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.show.palette import COM
from equipoise.show.viewer.gate import Gate
from equipoise.show.viewer.loop_event import LoopEvent
from equipoise.show.viewer.scene_nodes import LOOKS, RobotNodes

if TYPE_CHECKING:
    import viser

LOOPBACK = "127.0.0.1"
FIRST_PORT, LAST_PORT = 8080, 65535
# Busy ports that are passed over before we give up.
MOST_BUSY = 100
# Direction from the robot to the camera: from ahead, to its left, a little above.
FROM = np.array([1.0, 0.62, 0.3])
# Towards each light, and how strong it is.
LIGHTS = {"key": ((2.0, 2.5, 4.0), 1.9), "rim": ((-3.0, -2.0, 1.5), 0.9)}
AMBIENT = 1.4
# On a phone controls cover the lower part: the robot is put above them.
NARROW, PHONE_DISTANCE, PHONE_TARGET = 0.75, 1.9, -0.17
FIELD_OF_VIEW = np.deg2rad(35.0)


class PageServer(viser.ViserServer):
    """A server on the wanted port, or on the next that is free; it prints nothing.

    Only this machine reaches it by default, and only with the key in its address; other
    web pages are refused: see :mod:`equipoise.show.viewer.gate`.

    Attributes:
        url: Address of the page, for a browser.
    """

    def __init__(
        self, title: str, host: str = LOOPBACK, port: int = FIRST_PORT
    ) -> None:
        free, gate = first_free_port(host, port), Gate(host)
        with _quietly(), gate.guarding():
            super().__init__(host=host, port=free, label=title, verbose=False)
        if not gate.is_guarding:
            self.stop()
            raise EquipoiseError(
                f"viser {viser.__version__} starts its server in a way that cannot be "
                "guarded against other web pages; install viser 1.1"
            )
        # nobody knows the key yet, so nobody waits for the event that is replaced
        messages = self._websock_server.get_message_buffer()
        messages.message_event = LoopEvent(self.get_event_loop())
        self.url = f"{address(host, self.get_port())}/{gate.key}/"
        self.gui.configure_theme(
            control_width="large",
            show_logo=False,
            show_share_button=False,
            brand_color=COM,
        )

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Refuse: any page open in the browser could ask for a public address."""
        return None

    def stop(self) -> None:
        """Stop serving; open pages say that the connection is lost."""
        with _quietly():
            super().stop()


def first_free_port(host: str, port: int) -> int:
    """Return the first free port of a host, from the wanted one on.

    Raises:
        EquipoiseError: If the host is not one of this machine, or no port is free.
    """
    if not 1 <= port <= LAST_PORT:
        raise EquipoiseError(f"port {port}: ports are from 1 to {LAST_PORT}")
    for wanted in range(port, min(port + MOST_BUSY, LAST_PORT + 1)):
        if _is_free(host, wanted):
            return wanted
    raise EquipoiseError(
        f"no port of {host} from {port} on is free, {MOST_BUSY} were tried"
    )


def address(host: str, port: int) -> str:
    """Return the address of a server, for a browser; its page has a key beside."""
    if host in ("0.0.0.0", "::", ""):  # every address, this machine's among them
        host = LOOPBACK
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_free(host: str, port: int) -> bool:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, place in found:
            with socket.socket(family, kind, protocol) as trial:
                # as the server does it: a port just left is free at once
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(place)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return False
        raise EquipoiseError(
            f"nothing can be served on {host}, port {port}: {error.strerror or error}"
        ) from error
    return True


def _quietly() -> contextlib.redirect_stdout[io.StringIO]:
    """Keep what viser prints on start and stop from the terminal."""
    return contextlib.redirect_stdout(io.StringIO())


def look_at(
    server: viser.ViserServer,
    middle: Array,
    reach: float,
    height: float,
    depth: float = 0.0,
) -> None:
    """Set the light, and the camera of whoever connects or resets the view.

    Args:
        server: Server of the page.
        middle: Point on the ground in the middle of the view [m], shape (2,).
        reach: Width of what should be seen [m].
        height: Height of the robot [m].
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


def add_toggles(
    server: viser.ViserServer,
    robots: Sequence[RobotNodes],
    groups: Mapping[str, Sequence[viser.SceneNodeHandle]],
) -> viser.GuiFolderHandle:
    """Add a folder of switches: the look of robots, and groups of nodes by label."""
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
