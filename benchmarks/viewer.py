"""The viewer on a run of ten minutes: how soon it is there, how smoothly it plays.

``python -m benchmarks.viewer`` prints each figure; it takes about a minute. Without a
graphics processor Chromium computes every pixel of the page: then what the page draws
says more about the machine than about the viewer, and what is sent to it, and how busy
the page's script is, say more.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import equipoise as eq
from equipoise.arrays import Array
from equipoise.kinematics.terrain import Flat
from equipoise.show.viewer import view
from equipoise.show.viewer.run_replay import Replay

MINUTES = 10.0
SECONDS = 5.0
SOFTWARE = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
DRAWN = "() => window.__viserTestpoints.rendererInfo.render.frame"
# Counts frames of the browser, and how many different poses of the robot they show.
POSES = """seconds => new Promise(done => {
    const start = performance.now(), seen = new Set();
    let frames = 0;
    const look = () => {
        frames += 1;
        const node = window.__viserMutable.nodeRefFromName['/world/run-1/points/com'];
        seen.add(node.position.toArray().join());
        if (performance.now() - start > 1000 * seconds) done([frames, seen.size]);
        else requestAnimationFrame(look);
    };
    look();
})"""


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewer")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of the run")
    options = parser.parse_args()
    run = long_run(60.0 * options.minutes)
    print(f"run of {run.time[-1]:.0f} s, {len(run.time)} rows")
    with tempfile.TemporaryDirectory() as folder:
        short = Path(folder) / "short"
        run_of_walk().save(short)
        start_up("a robot", "humanoid")
        start_up("a short run", str(short))
        long = Path(folder) / "long"
        run.save(long)
        start_up("the long run", str(long))
    play(run)


def run_of_walk() -> eq.Run:
    """Return a walk of a few steps."""
    robot = eq.load("humanoid")
    return eq.walk(robot, eq.solve(robot, eq.fit_walk(robot)), Flat())


def long_run(seconds: float) -> eq.Run:
    """Return a walk that is repeated, each time from where it ended."""
    run = run_of_walk()
    step = float(np.median(np.diff(run.time)))
    times = int(np.ceil(seconds / (run.time[-1] - run.time[0] + step)))
    way = run.com[-1] - run.com[0]
    way[2] = 0.0

    def again(values: Array, moving: bool = False) -> Array:
        many = np.concatenate([values] * times)
        if moving:
            shift = np.repeat(np.arange(times), len(values))[:, None] * way
            many[..., :3] += shift.reshape(-1, *[1] * (values.ndim - 2), 3)
        return many

    fields: dict[str, Any] = {
        name: again(getattr(run, name))
        for name in ("v", "a", "effort", "contact_force", "supported", "zmp_margin")
    }
    fields |= {
        name: again(getattr(run, name), moving=True)
        for name in ("q", "com", "zmp", "contact_position")
    }
    fields["references"] = {
        name: again(values, moving=name in ("com", "zmp"))
        for name, values in run.references.items()
    }
    wrenches = {side: again(wrench) for side, wrench in run.foot_wrench.items()}
    rows = len(run.time) * times
    return replace(
        run,
        time=step * np.arange(rows),
        foot_wrench=wrenches,
        boxes=np.zeros((rows, 0, 7)),
        events=(),
        **fields,
    )


def start_up(label: str, what: str) -> None:
    """Print the time from the command to the page."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "equipoise", "view", what, "--port", "8750"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = ""
        while not url.startswith("http"):
            url = process.stdout.readline().strip()
        urllib.request.urlopen(url, timeout=10).read()
        print(f"{label}: page after {time.perf_counter() - begin:.2f} s")
        process.terminate()


def play(run: eq.Run) -> None:
    """Print what is sent, drawn and computed each second while it plays."""
    begin = time.perf_counter()
    window = view(run, block=False, port=8750)
    print(f"scene and plots: {time.perf_counter() - begin:.2f} s")
    content = window.content
    assert isinstance(content, Replay)
    with window:
        content.player.toggle()
        time.sleep(1.0)
        shown, begin = content.player.frames_shown, time.perf_counter()
        time.sleep(SECONDS)
        sent = (content.player.frames_shown - shown) / (time.perf_counter() - begin)
        print(f"sent with nobody looking: {sent:.1f} frames/s")
        _in_browser(window.url, content)


def _in_browser(url: str, content: Replay) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as engine:
        browser = engine.chromium.launch(
            executable_path=shutil.which("chromium"), args=[*SOFTWARE]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        begin = time.perf_counter()
        page.goto(url)
        page.wait_for_function(
            "() => window.__viserSceneTree && '/world/run-1/robot/1' in "
            "window.__viserSceneTree.getState()"
        )
        print(f"robot on the page after {time.perf_counter() - begin:.2f} s")
        page.wait_for_timeout(3000)
        tools = page.context.new_cdp_session(page)
        tools.send("Performance.enable")
        busy, drawn = _busy(tools), page.evaluate(DRAWN)
        shown, begin = content.player.frames_shown, time.perf_counter()
        frames, poses = page.evaluate(POSES, SECONDS)
        lasted = time.perf_counter() - begin
        sent = (content.player.frames_shown - shown) / lasted
        print(f"sent to the page: {sent:.1f} frames/s")
        print(f"page: {frames / lasted:.1f} frames/s, {poses / lasted:.1f} poses/s")
        print(f"scene drawn: {(page.evaluate(DRAWN) - drawn) / lasted:.1f} times/s")
        print(f"script of the page: {100 * (_busy(tools) - busy) / lasted:.0f} % busy")
        browser.close()


def _busy(tools: Any) -> float:
    """Return for how long the page has run scripts and laid itself out [s]."""
    metrics = tools.send("Performance.getMetrics")["metrics"]
    values = {item["name"]: item["value"] for item in metrics}
    return float(
        values["ScriptDuration"]
        + values["LayoutDuration"]
        + values["RecalcStyleDuration"]
    )


if __name__ == "__main__":
    main()
