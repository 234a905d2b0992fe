"""The mark `waits`: tests that pass most of their time in waiting for other processes, which come first.

The long run has a worker more than there are processors. It shares the processor of the first worker, which begins with
these tests: while one of them waits, the other worker computes there.
"""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("waits") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """For `--numprocesses auto`; None is xdist's own number."""
    if config.getoption("markexpr") != "long" or not hasattr(os, "sched_getaffinity"):
        return None
    return len(os.sched_getaffinity(0)) + 1
