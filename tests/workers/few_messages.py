"""What a worker of xdist tells of a test that passes: one report, and no word on its setting up and tearing down.

The process that hands tests out reads each message and asks every plugin about it, which for short tests takes longer
than they do. Files of results, lists of durations and runs with `--verbose` need all messages, and get them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

STEPS = {"logstart", "logfinish"}
# What a report becomes that is not told.
UNTOLD = {"untold": True}


class FewMessages:
    """Stands between a worker's reports and the channel on which they travel."""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        for plugin in session.config.pluginmanager.get_plugins():
            if type(plugin).__name__ == "WorkerInteractor":
                plugin.sendevent = self.told(plugin.sendevent)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_to_serializable(self, report: Any) -> dict[str, bool] | None:
        return UNTOLD if is_untold(report) else None

    def told(self, send: Callable[..., None]) -> Callable[..., None]:
        """The same, but for what nobody looks at."""

        def send_told(name: str, **fields: Any) -> None:
            if name not in STEPS and not fields.get("data", {}).get("untold"):
                send(name, **fields)

        return send_told


def is_untold(report: Any) -> bool:
    """Whether it says of a test's fixtures that nothing went wrong, and has no output of theirs."""
    return getattr(report, "when", None) in ("setup", "teardown") and report.passed and not report.sections


def pytest_configure(config: pytest.Config) -> None:
    wanted = config.option
    if hasattr(config, "workerinput") and not (
        wanted.verbose > 0 or wanted.xmlpath is not None or wanted.durations is not None
    ):
        config.pluginmanager.register(FewMessages(), "few_messages")
