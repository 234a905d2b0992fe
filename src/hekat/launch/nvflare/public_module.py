"""hekat.nvflare, loaded in the engine's job process: components lie below it, and it brings what lies above them."""

from __future__ import annotations

from importlib import import_module

PUBLIC_MODULE = "hekat.nvflare"


def load_public_module() -> None:
    """Let the module bring the live page; the page itself is loaded where a site asks for it."""
    import_module(PUBLIC_MODULE)
