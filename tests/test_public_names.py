"""The public names: written once, in the stub, and all there."""

import subprocess
import sys

import pytest

import equipoise as eq


def test_every_public_name_is_defined_where_the_stub_says() -> None:
    """Each name of the stub is found, and nothing is offered twice."""
    for name in eq.__all__:
        assert getattr(eq, name).__name__ == name
    assert len(set(eq.__all__)) == len(eq.__all__)
    assert dir(eq) == sorted(eq.__all__)


def test_an_unknown_name_is_named() -> None:
    """A misspelt name raises as any module does."""
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        eq.lode  # type: ignore[attr-defined] # noqa: B018


def test_importing_does_not_wait_for_the_libraries() -> None:
    """``import equipoise`` loads neither Pinocchio nor Warp."""
    code = "import sys, equipoise; print({'pinocchio', 'warp'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
