"""Many viewers of one page, slow ones among them: what they get, and memory over time.

    .venv/bin/python -m benchmarks.many_viewers [--viewers 50] [--minutes 10]

A run is played in a loop while the viewers look, in a process of their own: a tenth of
them stop reading once they are connected (and come back after a minute), a tenth read
two messages a second, the others read whatever comes. Prints the server's memory and
what the viewers got over time. Status 1 if memory grew by more than a tenth after the
first fifth of the time, or if the run stopped playing.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections import Counter
from urllib.parse import urlsplit

import msgspec
import numpy as np
import viser
import websockets
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from benchmarks.endurance import memory_now
from benchmarks.viewer import run_of_walk
from equipoise.arrays import Array
from equipoise.show.viewer import view
from equipoise.show.viewer.run_replay import Replay

VIEWERS, MINUTES = 50, 10.0
KINDS = ("stalled", "slow", "attentive")
SLOW_PERIOD_S, STALL_S, PERIOD_S = 0.5, 60.0, 10.0
# Growth after the first fifth of the time that is still taken for none.
MOST_GROWTH = 0.1
CAMERA = msgspec.msgpack.encode(
    {
        "type": "ViewerCameraMessage",
        "wxyz": (1.0, 0.0, 0.0, 0.0),
        "position": (3.0, 2.0, 1.0),
        "fov": 0.6,
        "near": 0.01,
        "far": 1000.0,
        "image_height": 720,
        "image_width": 1280,
        "look_at": (0.0, 0.0, 0.5),
        "up_direction": (0.0, 0.0, 1.0),
    }
)


def main() -> int:
    """Serve, let them look, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_viewers")
    parser.add_argument("--viewers", type=int, default=VIEWERS)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--look-at", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.look_at is not None:
        asyncio.run(look(options.look_at, options.viewers))
        return 0
    return serve(options.viewers, 60.0 * options.minutes)


def serve(viewers: int, seconds: float) -> int:
    """Play a run to viewers; print memory, and return 1 if it grows."""
    window = view(run_of_walk(), block=False, port=8760)
    content = window.content
    assert isinstance(content, Replay)
    words = ["--look-at", window.url, "--viewers", str(viewers)]
    with window:
        content.player.toggle()
        time.sleep(2.0)
        alone = memory_now()
        print(f"nobody looks: {alone / 2**20:.1f} MB")
        print("time [s]  memory [MB]  shown [1/s]  received [1/s]: " + ", ".join(KINDS))
        crowd = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.many_viewers", *words],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            times, sizes, rates = watch(crowd, content, seconds)
        finally:
            crowd.kill()
            crowd.wait()
        time.sleep(PERIOD_S)
        print(f"all have left: {memory_now() / 2**20:.1f} MB")
    settled = times >= 0.2 * seconds
    slope, start = np.polyfit(times[settled], sizes[settled], 1)
    first, last = (start + slope * t for t in (0.2 * seconds, seconds))
    print(
        f"{viewers} viewers for {seconds / 60.0:.1f} min: from {first / 2**20:.1f} to "
        f"{last / 2**20:.1f} MB, {60.0 * slope / 2**20:+.2f} MB a minute, "
        f"peak {sizes.max() / 2**20:.1f} MB"
    )
    return 1 if last > (1.0 + MOST_GROWTH) * first or not rates.all() else 0


def watch(
    crowd: subprocess.Popen[str], content: Replay, seconds: float
) -> tuple[Array, Array, Array]:
    """Print a line for each report of the viewers.

    Returns:
        Times [s], memory [bytes] and states shown a second, shape (n,) each.
    """
    assert crowd.stdout is not None
    times, sizes, rates = [], [], []
    shown, begin = content.player.frames_shown, time.monotonic()
    last = begin
    for line in crowd.stdout:
        got, now = json.loads(line), time.monotonic()
        times.append(now - begin)
        sizes.append(memory_now())
        rates.append((content.player.frames_shown - shown) / (now - last))
        each = ", ".join(f"{got[kind]:.1f}" for kind in KINDS)
        print(
            f"{times[-1]:8.0f}{sizes[-1] / 2**20:13.1f}{rates[-1]:13.1f}  {each}; "
            f"{got['connected']:.0f} connected, {got['lost']:.0f} lost so far",
            flush=True,
        )
        shown, last = content.player.frames_shown, now
        if now - begin > seconds:
            break
    return np.array(times), np.array(sizes), np.array(rates)


async def look(url: str, viewers: int) -> None:
    """Be all the viewers; print what each kind got, in messages a second and viewer."""
    few = max(1, viewers // 10)
    kinds = [*["stalled"] * few, *["slow"] * few]
    kinds += ["attentive"] * (viewers - len(kinds))
    place = urlsplit(url)
    address = f"ws://{place.netloc}{place.path.rstrip('/')}"
    got: Counter[str] = Counter()
    tasks = [asyncio.create_task(one_viewer(address, kind, got)) for kind in kinds]
    while tasks:
        before = got.copy()
        await asyncio.sleep(PERIOD_S)
        rates = {
            kind: (got[kind] - before[kind]) / PERIOD_S / kinds.count(kind)
            for kind in KINDS
        }
        rates |= {name: got[name] for name in ("connected", "lost")}
        print(json.dumps(rates), flush=True)


async def one_viewer(address: str, kind: str, got: Counter[str]) -> None:
    """Look for good, and come back whenever the connection is lost."""
    while True:
        with contextlib.suppress(OSError, websockets.WebSocketException):
            async with connect(
                address,
                subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
                compression=None,
                max_size=None,
                max_queue=1,
                ping_interval=None,
                close_timeout=1.0,
            ) as connection:
                got["connected"] += 1
                try:
                    await connection.send(CAMERA)
                    await read(connection, kind, got)
                finally:
                    got["connected"] -= 1
        got["lost"] += 1
        await asyncio.sleep(1.0)


async def read(
    connection: websockets.ClientConnection, kind: str, got: Counter[str]
) -> None:
    """Read as a kind of viewer does, until the connection is lost."""
    if kind == "stalled":
        got[kind] += bool(await connection.recv())
        await asyncio.sleep(STALL_S)
        return
    async for _ in connection:
        got[kind] += 1
        if kind == "slow":
            await asyncio.sleep(SLOW_PERIOD_S)


if __name__ == "__main__":
    sys.exit(main())
