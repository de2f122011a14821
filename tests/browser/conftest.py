"""A real Chromium without a window, for pages; skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip(
    "playwright.sync_api", reason="no Playwright found: pip install playwright"
)

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# WebGL is computed on the processor; nothing is asked of the network.
ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 60_000
OpenPage = Callable[..., "playwright.Page"]


@pytest.fixture(scope="session")
def browser() -> Iterator[playwright.Browser]:
    """Chromium, found or else the one that Playwright has downloaded."""
    with playwright.sync_playwright() as engine:
        own = Path(engine.chromium.executable_path)
        found = next(filter(None, map(shutil.which, NAMES)), None)
        if found is None and not own.is_file():
            pytest.skip(f"no Chromium found: none of {', '.join(NAMES)} is on the PATH")
        launched = engine.chromium.launch(
            executable_path=found or str(own), args=ARGUMENTS
        )
        yield launched
        launched.close()


@pytest.fixture
def browser_page(browser: playwright.Browser) -> Iterator[OpenPage]:
    """Open pages: ``browser_page(url, width=1280, height=720)``.

    A test fails if its pages had an error, on the console or uncaught.
    """
    errors: list[str] = []
    contexts = []

    def open_page(
        url: str, width: int = 1280, height: int = 720, **options: object
    ) -> playwright.Page:
        context = browser.new_context(
            viewport={"width": width, "height": height}, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on(
            "console",
            lambda message: (
                errors.append(message.text) if message.type == "error" else None
            ),
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not errors, errors
