"""Where a test hangs that its time limit cannot end: where every thread stands, and the end of the process.

As pytest's own `faulthandler_timeout` with `faulthandler_exit_on_timeout`. That starts and ends a thread for every
test, which for tens of thousands of short ones takes seconds; here one thread watches the tests of a minute.
"""

from __future__ import annotations

import faulthandler
import time

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

LIMIT_S = 1620.0
# A test may so have as much less than the limit.
SET_EVERY_S = 60.0


class HangLimit:
    """The limit counts from the beginning of the first test of each minute."""

    def __init__(self) -> None:
        self._set_at_s = -SET_EVERY_S

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        now_s = time.monotonic()
        if now_s - self._set_at_s >= SET_EVERY_S:
            self._set_at_s = now_s
            stderr = item.config.stash[fault_handler_stderr_fd_key]
            faulthandler.dump_traceback_later(LIMIT_S, file=stderr, exit=True)

    def pytest_exception_interact(self) -> None:
        """Then pytest calls the limit off, so the next test sets it anew."""
        self._set_at_s = -SET_EVERY_S

    def pytest_sessionfinish(self) -> None:
        faulthandler.cancel_dump_traceback_later()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(HangLimit(), "hang_limit")
