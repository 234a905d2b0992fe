"""The errors of a mailbox's waits that ended in vain."""

from __future__ import annotations

from hekat.errors import ChannelError, ChannelTimeoutError, HekatError


def not_met(roles: tuple[str, ...], missing: list[str], within_s: float, told: str) -> ChannelTimeoutError:
    """Some of the roles never came; `told` is what missing ones said instead."""
    return ChannelTimeoutError(
        f"not every role came: no {' and no '.join(missing)}",
        expected=f"{', '.join(roles)} within {within_s:g} s",
        got=", ".join(name for name in roles if name not in missing) + told,
        cure="start them, or look at whether the engine reaches them",
    )


def closed(role: str, ended_by: BaseException | None) -> ChannelError:
    """The role's end is closed; `ended_by` is what ended it from outside, if anything did."""
    what = f"the end of {role!r} is closed"
    if not isinstance(ended_by, HekatError):
        return ChannelError(what, expected="no call after the role's end")
    why = ended_by
    return ChannelError(f"{what}: {why.what}", expected=why.expected, got=why.got, cure=why.cure)


def no_answer(role: str, what: str, within_s: float, peer: str, *, is_unreachable: bool) -> ChannelTimeoutError:
    """The role waited for `peer` as long as it may."""
    return ChannelTimeoutError(
        f"party {role!r} {what}",
        expected=f"an answer within {within_s:g} s" if within_s else "a peer within the engine's reach",
        got=f"nothing delivered to {peer!r} for so long" if is_unreachable and within_s else "none",
        cure=f"look at what {peer!r} is doing, or allow the step more time",
    )


def no_room_left(role: str, sender: str, step: str, unread: str) -> ChannelError:
    """The awaited message lies behind others that fill the room."""
    return ChannelError(
        f"party {role!r} awaits step {step!r} of {sender!r}, which can never come",
        expected="messages read in about the order they are sent",
        got=f"no room left for more{unread}",
        cure="receive those first, or raise max_waiting_bytes",
    )
