"""Make the pictures of README and docs: ``make pictures``.

Everything is made by the commands that a user has; pages are photographed in a headless
Chromium.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent / "pictures"
COMMAND = [sys.executable, "-m", "equipoise"]
# Real robots, from the package example-robot-data.
ROBOTS = {
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "romeo": "romeo_description/urdf/romeo.urdf",
}
# As deep as the steps are long.
STAIRS = ("--terrain", "stairs:0.05,0.3,8,0.22", "--length", "0.3")
# No graphics card is at hand here, which the viewer would say.
WITHOUT_WARNING = """
for (const e of document.querySelectorAll("[class*=Notifications-root]")) e.remove()
"""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]


def main() -> None:
    """Make them all; say which."""
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run("walk", robot("g1"), "--out", "g1", "--steps", "8")
        run("walk", "humanoid", "--out", "walk")
        run("walk", "humanoid", *STAIRS, "--out", "stairs")
        run("walk", "itu-biped", "--paper", "--out", "paper")
        measure("g1", "table.csv")
        run("identify", robot("g1"), "table.csv", "--table", "--out", "found",
            "--mass-std", "0.15")  # fmt: skip
        run("three-link", "--speed", "0.8", "--perturb", "-0.1", "--steps", "6",
            "--out", "three")  # fmt: skip
        shutil.copy("three/walk.gif", HERE / "three_link.gif")
        films()
        plots()
        pages()
        lesson()
    for picture in sorted(HERE.iterdir()):
        print(f"{picture.stat().st_size // 1024:6d} kB  {picture.name}")


def measure(name: str, file: str) -> None:
    """Let a robot that is not as modelled stand in chosen poses; write a table."""
    import equipoise as eq
    from equipoise.identification import rehearsal as simulated
    from equipoise.identification.posing.candidates import pose_candidates
    from equipoise.identification.prior import Prior
    from equipoise.log.recordings.recording_of_csv import WRENCH_ORDER
    from equipoise.robot.joint_coordinates import degree_names, joint_positions

    model = eq.load(robot(name))
    doubt = Prior(0.01, 0.15, 0.0, 0.0, 0.0)
    candidates = pose_candidates(model, 500, prior=doubt)
    q = eq.choose_poses(model, candidates, 25, prior=doubt).q
    feet, encoders = simulated.usual_feet(), simulated.usual_encoders()
    truth = simulated.draw_truth(model, doubt, 4)
    stood = simulated.stand_in_poses(model, truth, q, feet, encoders, 5).poses
    parts = [f"{side}_sole.{part}" for side in "lr" for part in WRENCH_ORDER]
    names = [*degree_names(model), *parts]
    joints = joint_positions(model, stood.q)
    rows = np.hstack([joints, stood.wrenches["left"], stood.wrenches["right"]])
    np.savetxt(file, rows, delimiter=",", header=",".join(names), comments="")


def films() -> None:
    """A walk, stairs, and robots side by side."""
    # a camera that stands still leaves most of a GIF as it is
    run("film", "g1", *out("walk.gif"), "--size", "720", "400", "--fps", "15",
        "--from", "1", "--still", "--title", "equipoise walk g1.urdf")  # fmt: skip
    run("film", "stairs", *out("stairs.png"), "--size", "900", "520", "--view", "side",
        "--still")  # fmt: skip
    stills = []
    for name in ("g1", "talos", "romeo", "mahru-1", "itu-biped"):
        file = robot(name) if name in ROBOTS else name
        run("stand", file, "--seconds", "0.5", "--out", f"stand-{name}")
        run("film", f"stand-{name}", "--out", f"{name}.png", "--size", "360", "480",
            "--title", name)  # fmt: skip
        stills.append(Image.open(f"{name}.png"))
    row = Image.new("RGB", (sum(s.width for s in stills), stills[0].height))
    for at, still in enumerate(stills):
        row.paste(still, (at * still.width, 0))
    row.save(HERE / "robots.png", optimize=True)


def plots() -> None:
    """Figures as for a paper."""
    size = ("--width", "160", "--dpi", "110")
    run("plot", "g1", "--what", "com,zmp", *size, *out("com.png"))
    run("plot", "g1", "--what", "sole,forces", *size, *out("forces.png"))
    run("plot", "g1", "--what", "ground", *size, *out("ground.png"))


def lesson() -> None:
    """Run the code of the lesson on the three-link biped, which draws its pictures."""
    text = (HERE.parent / "three_link_lesson.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    Path("lesson.py").write_text(code, encoding="utf-8")
    subprocess.run([sys.executable, "lesson.py"], check=True, stdout=subprocess.DEVNULL)
    for picture in Path().glob("lesson_*"):
        shutil.copy(picture, HERE)


def pages() -> None:
    """The report and the viewer, as a browser shows them."""
    with sync_playwright() as engine:
        found = next(filter(None, map(shutil.which, CHROMIUM)), None)
        browser = engine.chromium.launch(executable_path=found, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(Path("g1/report.html").absolute().as_uri())
        page.wait_for_timeout(2000)
        slider = page.locator("input[type=range]").first
        slider.evaluate(
            "e => {e.value = 0.6 * e.max; e.dispatchEvent(new Event('input'))}"
        )
        page.wait_for_timeout(1500)
        photograph(page, "report.png")
        page.goto(Path("found/report.html").absolute().as_uri())
        page.set_viewport_size({"width": 1280, "height": 900})
        moved = page.get_by_role("heading", name="How the centre of mass moved")
        moved.evaluate("e => e.scrollIntoView()")
        photograph(page, "identified.png")
        page.set_viewport_size({"width": 1280, "height": 1080})
        page.goto(Path("three/report.html").absolute().as_uri())
        step = page.get_by_role("heading", name="A step", exact=True)
        step.evaluate("e => e.scrollIntoView()")
        photograph(page, "three_link.png")
        page.set_viewport_size({"width": 1280, "height": 800})
        with viewer("g1") as url:
            page.goto(url)
            page.wait_for_timeout(9000)
            page.get_by_role("button", name="Play").click()
            page.wait_for_timeout(4000)
            page.get_by_role("button", name="Pause").click()
            page.wait_for_timeout(1500)
            photograph(page, "viewer.png")
        with viewer(robot("g1")) as url:
            page.goto(url)
            page.wait_for_timeout(9000)
            photograph(page, "poser.png")
        browser.close()


@contextlib.contextmanager
def viewer(what: str) -> Iterator[str]:
    """Serve the viewer; give its address."""
    process = subprocess.Popen(
        [*COMMAND, "view", what], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield next(line.strip() for line in process.stdout if line.startswith("http"))
    finally:
        process.terminate()


def photograph(page: Page, name: str) -> None:
    """Keep what a page shows, in fewer colours: files stay small."""
    page.evaluate(WITHOUT_WARNING)
    page.screenshot(path="page.png")
    Image.open("page.png").convert("RGB").quantize(192).save(HERE / name, optimize=True)


def robot(name: str) -> str:
    """Return the file of a real robot."""
    package = importlib.metadata.distribution("example-robot-data")
    folder = package.locate_file("cmeel.prefix/share/example-robot-data/robots")
    return str(Path(str(folder)) / ROBOTS[name])


def out(name: str) -> tuple[str, ...]:
    """Return the option that writes a picture of the docs."""
    return ("--out", str(HERE / name), "--force")


def run(*words: str) -> None:
    """Run a command of equipoise."""
    print("equipoise", *(Path(w).name if "/" in w else w for w in words), flush=True)
    subprocess.run([*COMMAND, *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
