import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from foreign_bags import START, joint_state, motion, wrench, write_mcap_bag
from standing_logs import poses_of, standing_log

import equipoise as eq

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_site_builds_without_warnings(tmp_path: Path) -> None:
    """The site builds with warnings as errors, API pages included; HTML is not written.

    Pages are read and their references resolved, which is where warnings come from.
    """
    source, site = tmp_path / "docs", tmp_path / "site"
    shutil.copytree(
        ROOT / "docs", source, ignore=shutil.ignore_patterns("generated", "_build")
    )

    build = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "dummy", source, site],
        capture_output=True,
        text=True,
    )

    assert build.returncode == 0, build.stderr
    for page in ("index", "errata", "generated/equipoise.robot"):
        assert (site / ".doctrees" / f"{page}.doctree").is_file(), (
            f"{page} was not read"
        )


def test_citation_keys_resolve() -> None:
    """Every key such as [Choi2007] in the source stands in the references."""
    references = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^## \[(\w+)\]$", references, flags=re.MULTILINE))

    cited = {
        (key, str(path.relative_to(ROOT)))
        for path in sorted((ROOT / "src").rglob("*.py"))
        for key in re.findall(
            r"\[([A-Z][A-Za-z]+\d{4}|ThreeLink)\]", path.read_text(encoding="utf-8")
        )
    }

    unknown = {(key, path) for key, path in cited if key not in known}
    assert not unknown, f"not in docs/references.md: {sorted(unknown)}"


# Pages that are read like notebooks: how often they print.
PRINTED = {"controllers": 5, "three_link_lesson": 15}


@pytest.mark.parametrize("page", PRINTED)
def test_notebook_like_pages_run(
    page: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Their Python runs from top to bottom, and prints what they say it prints."""
    monkeypatch.chdir(tmp_path)  # for files that they write
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|text)\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, object] = {}
    printed, begun = 0, False
    for kind, block in blocks:
        if kind == "python":
            exec(compile(block, f"{page}.md", "exec"), names)
            begun = True
        elif begun:  # text before any code is a picture
            assert capsys.readouterr().out == block
            printed += 1
    assert printed == PRINTED[page]
    shown = set(re.findall(r"\(pictures/(lesson_[\w.]+)\)", text))
    assert shown == {file.name for file in tmp_path.glob("lesson_*")}
    assert all((ROOT / "docs" / "pictures" / name).is_file() for name in shown)


def test_the_architecture_names_what_is_there() -> None:
    """Files in its tables exist, and what to change in them is in them."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "equipoise"
    for name in re.findall(r"`([\w/]+\.py)`", page):
        near = [source / name, *source.glob(f"identification/{name}")]
        assert any(file.is_file() for file in near), f"there is no {name}"
    rows = re.findall(r"^\| [^|]* \| `([\w/]+\.py)` \| (.*`.*) \|$", page, re.MULTILINE)
    assert len(rows) > 20
    for name, symbols in rows:
        text = (source / name).read_text(encoding="utf-8")
        for symbol in re.findall(r"`(\w+)`", symbols):
            assert re.search(rf"\b{symbol}\b", text), f"{name} has no {symbol}"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what pages speak of: a robot, runs, logs."""
    folder = tmp_path_factory.mktemp("workplace")
    robot = eq.load("humanoid")
    eq.export_robot(robot, folder / "my_robot.urdf")
    eq.walk(robot).save(folder / "walk")
    eq.stand(robot, seconds=0.5).save(folder / "standing")
    time = np.linspace(0.0, 1.0, 50)
    (folder / "robot_bag").mkdir()
    write_mcap_bag(
        folder / "robot_bag" / "robot_bag.mcap",
        motion(robot, time, np.tile(robot.standing, (50, 1))),
    )
    log = standing_log(robot, poses_of(robot, 12, 0), rate=50.0).recording
    sent = []
    for row, at in enumerate(log.time):
        stamp = START + round(float(at) * 1e9)
        angles = {name: float(values[row]) for name, values in log.joints.items()}
        sent.append(joint_state(stamp, angles))
        for name, found in log.wrenches.items():
            sent.append(wrench(stamp, f"/{name}", found.frame, found.values[row]))
    write_mcap_bag(folder / "log.mcap", sent)
    return folder


PAGES = [
    *("dance", "identify", "index", "logs", "plots", "simulation", "three_link"),
    *("training", "viewer", "walk"),
]


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_pages_runs(page: str, workplace: Path, tmp_path: Path) -> None:
    """All Python of a page, one block after the other, as a reader would type it."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    folder = tmp_path / "here"
    shutil.copytree(workplace, folder)
    script = folder / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_no_page_with_code_is_forgotten() -> None:
    """Pages with Python are run above, or by a test of their own."""
    with_code = {
        path.stem
        for path in (ROOT / "docs").glob("*.md")
        if "```python" in path.read_text(encoding="utf-8")
    }
    assert with_code == {*PAGES, *PRINTED}
