"""Whether nobody else's code runs on this machine: then memory access tells nobody anything.

A property of the machine, not of a job: its owner says so in HEKAT_SINGLE_TENANT, or in the site file of a run.
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
    """Which operations of an engine take time that depends on what they compute on, for `hekat doctor`."""
    exceptions = "operations named vartime, mod_multi_exp and int_divmod"
    return f"yes, but for {exceptions}" + (", and for randomiser tables" if single_tenant else "")


def describe_tables(single_tenant: bool) -> str:
    """How an engine looks up tables of randomness, for `hekat doctor`."""
    return PLAIN_TABLES if single_tenant else "read whole, in constant time"


_lock = threading.Lock()
# What those who are within `declare_tenancy` said, all of them the same.
_declared: list[bool] = []


def is_single_tenant() -> bool:
    """What HEKAT_SINGLE_TENANT says; where it is not set, what `declare_tenancy` said, else False.

    Raises EngineError for a value that is neither 0 nor 1.
    """
    by_variable = _read_variable()
    return any(_declared) if by_variable is None else by_variable


@contextmanager
def declare_tenancy(single_tenant: bool) -> Iterator[None]:
    """Within it, engines are chosen for such a machine, in all threads, unless HEKAT_SINGLE_TENANT says otherwise.

    Raises EngineError where somebody else in this process is within it and said the opposite: a run must not get the
    tables that another one allows. Where the variable is set nobody's word counts, and so nobody is refused.
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
