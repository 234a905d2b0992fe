"""Whether nobody else's code runs on this machine: then memory access tells nobody anything.

A property of the machine, not of a job: its owner says so in HEKAT_SINGLE_TENANT, or in the site file of a run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from hekat.errors import EngineError

TENANCY_VARIABLE = "HEKAT_SINGLE_TENANT"
PLAIN_TABLES = "plain look-ups (single tenant)"
"""How doctor, ledger and report call the tables of randomness on such a machine."""

_declared = False


def is_single_tenant() -> bool:
    """What HEKAT_SINGLE_TENANT says; where it is not set, what `declare_tenancy` said, else False.

    Raises EngineError for a value that is neither 0 nor 1.
    """
    text = os.environ.get(TENANCY_VARIABLE, "").strip()
    if text not in ("", "0", "1"):
        raise EngineError(
            f"{TENANCY_VARIABLE} is neither yes nor no",
            expected="1 where nobody else's code runs on this machine, else 0",
            got=repr(text),
            cure=f"set {TENANCY_VARIABLE}=1 or 0, or unset it",
        )
    return text == "1" if text else _declared


@contextmanager
def declare_tenancy(single_tenant: bool) -> Iterator[None]:
    """Within it, engines are chosen for such a machine, in all threads. Not for two runs at once."""
    global _declared
    before, _declared = _declared, single_tenant
    try:
        yield
    finally:
        _declared = before
