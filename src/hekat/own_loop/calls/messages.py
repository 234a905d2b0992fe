"""Every message of an own training loop besides the messages of the sums, with what each field discloses to whom."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.wire import disclosed, message, public

AVERAGE = "average"
SUM = "sum"
COMPARE = "compare"
START = "start"
LEAVE = "leave"
CALLS = (AVERAGE, SUM, COMPARE, START, LEAVE)
WITH_TENSORS = (AVERAGE, SUM, START)
WITH_ROUND = (AVERAGE, SUM)


@message("loop/call", version=2)
@dataclass(frozen=True)
class CallMessage:
    """Party to aggregator at each call of the loop, and when it leaves: what it calls for.

    `names` and `forms` describe the tensors where `call` is "average", "sum" or "start" and they differ from the
    party's last such call (`same_tensors`). `label` and `digest` are what is compared, by itself or along with a mean
    or sum, else empty. `mask` and `clear_count` of a mean with a mask, else empty and 0.
    """

    call: str = public()
    same_tensors: bool = public()
    names: list[str] = disclosed("the names of the tensors that are averaged or summed")
    forms: list[str] = disclosed("dtype and shape of each, and which names share one tensor")
    fresh_bounds: bool = public()
    label: str = disclosed("the name of what is compared")
    digest: bytes = disclosed("a digest of it, keyed unless protection is none; equal or not is what it tells")
    mask: bytes = disclosed("a keyed digest that tells whether masks are equal, and nothing else")
    clear_count: int = public()


@message("loop/answer", version=1)
@dataclass(frozen=True)
class AnswerMessage:
    """Aggregator to each party: all call for the same; or in words what differs, and the run ends."""

    what: str = disclosed("what the parties differ in; empty where they do not")
    expected: str = public()
    got: str = disclosed("names and forms of tensors, or who called for what, by party")
    cure: str = public()
