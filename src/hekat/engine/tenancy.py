"""Whether nobody else's code runs on this machine; if so, nobody can watch its memory access.

A property of the machine, not of a job: the machine's owner declares it in HEKAT_SINGLE_TENANT, or in a run's site
file.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hekat.errors import EngineError

TENANCY_VARIABLE = "HEKAT_SINGLE_TENANT"
PLAIN_TABLES = "plain look-ups (single tenant)"
"""How doctor, ledger and report call the tables of randomness on such a machine."""


def describe_constant_time(single_tenant: bool) -> str:
    """The operations of an engine whose time depends on values, for `hekat doctor`."""
    exceptions = "operations named vartime, mod_multi_exp and int_divmod"
    return f"yes, but for {exceptions}" + (", and for randomiser tables" if single_tenant else "")


def describe_tables(single_tenant: bool) -> str:
    """How an engine looks up tables of randomness, for `hekat doctor`."""
    return PLAIN_TABLES if single_tenant else "read whole, in constant time"


_lock = threading.Lock()
# The declarations of all callers within `declare_tenancy`, which are all equal.
_declared: list[bool] = []


def is_single_tenant() -> bool:
    """The value of HEKAT_SINGLE_TENANT; where it is not set, the value of `declare_tenancy`, else False.

    Raises EngineError for a value that is neither 0 nor 1.
    """
    by_variable = _read_variable()
    return any(_declared) if by_variable is None else by_variable


@contextmanager
def declare_tenancy(single_tenant: bool) -> Iterator[None]:
    """Within it, engines are chosen for such a machine, in all threads, unless HEKAT_SINGLE_TENANT says otherwise.

    Raises EngineError where another caller in this process is within it and declared the opposite, because a run must
    not get the tables that another run allows. Where the variable is set, declarations do not count, so none is
    refused.
    """
    if _read_variable() is not None:
        yield
        return
    with _lock:
        if (not single_tenant) in _declared:
            raise EngineError(
                "this process is in a run that says the opposite of its machine",
                expected=f"single_tenant = {str(not single_tenant).lower()}, as that run has it",
                got=str(single_tenant).lower(),
                cure=f"run one after the other or in two processes, or set {TENANCY_VARIABLE}=0 for both",
            )
        _declared.append(single_tenant)
    try:
        yield
    finally:
        with _lock:
            _declared.pop()


def _read_variable() -> bool | None:
    text = os.environ.get(TENANCY_VARIABLE, "").strip()
    if text not in ("", "0", "1"):
        raise EngineError(
            f"{TENANCY_VARIABLE} is neither yes nor no",
            expected="1 where nobody else's code runs on this machine, else 0",
            got=f"{text!r:.40}",
            cure=f"set {TENANCY_VARIABLE}=1 or 0, or unset it",
        )
    return text == "1" if text else None
