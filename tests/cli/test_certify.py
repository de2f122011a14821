"""``equipoise certify`` as a user meets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from said import Say, names_in


@pytest.fixture
def certify(say: Say) -> Say:
    """Run ``equipoise certify`` in this process."""
    return lambda *words: say("certify", *words)


def test_gains_are_certified(certify: Say, tmp_path: Path) -> None:
    """Conditions, bounds and a picture; status 0 for stable gains."""
    out = tmp_path / "gains.svg"
    said = certify("mahru-1", "--kp", "2", "--kc", "5", "--out", out)
    assert said.status == 0
    assert "are stable" in said.out
    for words in ("k_c > k_p > 0", "as printed", "bound of Eq. 30 and 31"):
        assert words in said.out
    assert out.read_bytes().startswith(b"<?xml")
    assert certify("mahru-1", "--kp", "2", "--kc", "5", "--out", out).status == 2


def test_unstable_gains_are_refused(certify: Say) -> None:
    """The condition that fails and stable neighbours; --force shows the rest."""
    said = certify("mahru-1", "--kp", "5", "--kc", "3")
    assert said.status == 2
    assert "k_c > k_p > 0 does not hold" in said.err
    assert "--kp 2.7 --kc 3" in said.err
    forced = certify("mahru-1", "--kp", "5", "--kc", "3", "--force")
    assert forced.status == 1
    assert "NOT stable" in forced.out
    delayed = certify("mahru-1", "--kp", "1", "--kc", "5", "--delay", "0.002")
    assert delayed.status == 2
    assert "--lag 0.0" in delayed.err


def test_gains_are_proposed(certify: Say) -> None:
    """For a wanted error; one that cannot be kept is answered with what can."""
    said = certify("humanoid", "--zmp-error", "0.02")
    assert said.status == 0
    assert "are stable" in said.out
    said = certify("humanoid", "--zmp-error", "0.001")
    assert said.status == 2
    assert "mm is the least" in said.err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--kp", "1"), "--kp and --kc are given together"),
        (("--kp", "1", "--kc", "2", "--zmp-error", "0.1"), "proposed"),
        (("--kp", "nan", "--kc", "2"), "zmp_gain is nan"),
        (("--kp", "1", "--kc", "2", "--disturbance", "-1"), "disturbance is -1"),
        (("--kp", "1", "--kc", "2", "--delay", "-1"), "delay is -1"),
        (("--out", "gains.bmp"), "'.bmp'"),
    ],
)
def test_bad_input(
    words: tuple[Any, ...],
    named: str,
    certify: Say,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line, status 2, nothing written."""
    monkeypatch.chdir(tmp_path)
    said = certify("humanoid", *words)
    assert said.status == 2
    assert len(said.err.splitlines()) == 1
    assert named in said.err
    assert names_in(tmp_path) == []
