"""Fixtures of the tests of identification."""

from __future__ import annotations

import pytest

import equipoise as eq


@pytest.fixture(scope="session")
def mahru() -> eq.Robot:
    """Mahru I."""
    return eq.load("mahru-1")
