import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_site_builds_without_warnings(tmp_path: Path) -> None:
    """The site builds with warnings as errors, API pages included."""
    source, site = tmp_path / "docs", tmp_path / "site"
    shutil.copytree(
        ROOT / "docs", source, ignore=shutil.ignore_patterns("generated", "_build")
    )

    build = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", source, site],
        capture_output=True,
        text=True,
    )

    assert build.returncode == 0, build.stderr
    for page in ("index.html", "errata.html", "generated/equipoise.robot.html"):
        assert (site / page).is_file(), f"{page} was not built"


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


def test_the_page_on_controllers_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Its Python runs from top to bottom, and prints what the page says it prints."""
    page = (ROOT / "docs" / "controllers.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|text)\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, object] = {}
    printed = 0
    for kind, text in blocks[1:]:  # the first is a picture
        if kind == "python":
            exec(compile(text, "controllers.md", "exec"), names)
        else:
            assert capsys.readouterr().out == text
            printed += 1
    assert printed == 3
