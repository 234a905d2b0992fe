"""Brings the live page to launchers, which lie below it; its parts are loaded once a site asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hekat.launch.role_display import bring_page

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from hekat.launch.role_display import ShownRole
    from hekat.run.progress import Progress


def bring_role_page() -> None:
    """Roles that play alone are shown from now on, where their sites ask."""
    bring_page(_page)


def _page(shown: ShownRole) -> AbstractContextManager[Progress]:
    from hekat.live.role_page import role_page

    return role_page(shown)
