"""The replay of a run in its report: data, drawing surface, controls and script."""

from __future__ import annotations

import base64
import zlib
from importlib.resources import files

from equipoise.log.run import Run
from equipoise.show.pages.markup import element, text
from equipoise.show.pages.replay_data import replay_bytes
from equipoise.show.space.scene import RunScene

SCRIPTS = ("replay_gl.js", "replay_view.js", "replay.js")
STYLE = "replay.css"
NO_REPLAY = (
    "Here the run is replayed in three dimensions; that needs a browser with scripts "
    "and WebGL 2. All else on this page can be read without."
)
# Azimuth and elevation of the camera [degrees].
VIEWS = (
    ("-54 13", "3/4"),
    ("0 5", "Front"),
    ("-90 5", "Side"),
    ("-90 88.8", "Top"),
)
SPEEDS = ("0.1", "0.25", "0.5", "1", "2")
OPTIONS = (
    ("follow", "Follow", True),
    ("forces", "Forces", True),
    ("paths", "Paths", True),
    ("xray", "X-ray", False),
)
HINT = (
    "Drag to turn, shift-drag or two fingers to move, click and scroll or pinch to "
    "zoom. Space plays, arrow keys step. Click in a plot to go to that time."
)


def replay(run: Run) -> str:
    """Return the markup of a run's replay, with its data.

    It is hidden, and a sentence stands in its place, until :func:`replay_script` shows
    it.

    Args:
        run: The run.
    """
    scene = RunScene(run)
    content = zlib.compress(replay_bytes(scene), 9)
    data = base64.b64encode(content).decode("ascii")
    return "".join(
        [
            element("p", text(NO_REPLAY), id="replay-none"),
            _player(scene),
            element("script", data, type="application/octet-stream", id="replay-data"),
        ]
    )


def replay_script() -> str:
    """Return the program that shows replays; it is the same for all runs."""
    return "\n".join(_resource(name) for name in SCRIPTS)


def replay_style() -> str:
    """Return the style sheet of replays."""
    return _resource(STYLE)


def _resource(name: str) -> str:
    return files("equipoise.show.pages").joinpath(name).read_text(encoding="utf-8")


def _marks(scene: RunScene) -> list[tuple[str, str]]:
    """Return what there is to see in a run: class of its sample, words."""
    stood = {print_.side for print_ in scene.footprints}
    marks = (
        ("point c0", "CoM", True),
        ("point c1", "ZMP", bool(scene.run.supported.any())),
        ("area c2", "support polygon", scene.touches),
        ("c2", "ground force", scene.touches),
        ("area c3", "left footprint", "left" in stood),
        ("area c4", "right footprint", "right" in stood),
        ("dashed reference", "planned", any(path.planned for path in scene.paths)),
    )
    return [(style, words) for style, words, there in marks if there]


def _player(scene: RunScene) -> str:
    label = f"Replay of {scene.run.robot.name} in three dimensions"
    canvas = element("canvas", tabindex=0, role="img", aria_label=label)
    views = [
        element("button", text(words), type="button", data_view=angles)
        for angles, words in VIEWS
    ]
    samples = [
        element("span", element("i", class_=style), text(words))
        for style, words in _marks(scene)
    ]
    parts = [
        element(
            "figcaption", element("span", *samples, class_="legend"), class_="marks"
        ),
        element(
            "div",
            canvas,
            element("div", *views, class_="views", role="group", aria_label="View"),
            class_="stage",
        ),
        element("div", *_controls(), class_="controls"),
        element("div", *_options(), class_="options"),
        element("p", text(HINT), class_="hint"),
    ]
    return element("figure", *parts, class_="replay", id="replay", hidden="")


def _controls() -> list[str]:
    speeds = [
        element(
            "option",
            f"{speed}×",
            value=speed,
            selected="" if speed == "1" else None,
        )
        for speed in SPEEDS
    ]
    return [
        element("button", type="button", class_="play", aria_label="Play"),
        '<input type="range" class="scrub" step="any" aria-label="Time">',
        element("span", class_="clock"),
        element("select", *speeds, class_="speed", aria_label="Speed"),
    ]


def _options() -> list[str]:
    return [
        element(
            "label",
            f'<input type="checkbox" name="{name}"{" checked" if on else ""}>',
            text(words),
        )
        for name, words, on in OPTIONS
    ]
