"""Writes the pages that follow from the code: run it after a change of a command, a key, a variable or an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from command_page import render_commands
from decision_page import render_decisions
from environment_page import render_environment
from error_page import render_errors
from key_pages import render_job, render_site

DOCS = Path(__file__).parents[1] / "docs"
PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": render_commands,
    "reference/job.md": render_job,
    "reference/site.md": render_site,
    "reference/environment.md": render_environment,
    "reference/errors.md": render_errors,
    "decisions/index.md": render_decisions,
}


def main() -> None:
    for name, render in PAGES.items():
        (DOCS / name).write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
