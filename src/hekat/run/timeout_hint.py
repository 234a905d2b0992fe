"""A time-out of a run, told with the line of the job file that says how long roles wait."""

from __future__ import annotations

from hekat.errors import ChannelTimeoutError


def name_timeout_key(cause: BaseException | None, timeout_s: float) -> BaseException | None:
    """A time-out with the job's key in its cure; any other cause as it is."""
    if not isinstance(cause, ChannelTimeoutError):
        return cause
    cure = f"{cause.cure}: raise timeout_s in the job (now {timeout_s:g} s)"
    return ChannelTimeoutError(cause.what, expected=cause.expected, got=cause.got, cure=cure)
