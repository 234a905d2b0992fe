"""The difference between the parties' calls of one step, in words that name tensors, and parties on each side."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from hekat.errors import MaskError, ProtocolError
from hekat.own_loop.calls.messages import AVERAGE, LEAVE, START, SUM, WITH_TENSORS, AnswerMessage, CallMessage

Layout = dict[str, str]

_MAX_SHOWN = 5
AGREED = AnswerMessage("", "", "", "")
AGREED_MASK = "the mask agreed on"
"""What parties call a mask that they compare once it follows from their maps."""
_ONE_MASK = "one mask at every party, of equal bits"


def refusal_of(answer: AnswerMessage) -> ProtocolError:
    """The error of a party that was answered with a difference."""
    kind = MaskError if answer.expected == _ONE_MASK else ProtocolError
    return kind(answer.what, expected=answer.expected, got=answer.got, cure=answer.cure)


def compare_calls(calls: Mapping[str, CallMessage], layouts: Mapping[str, Layout], round_number: int) -> AnswerMessage:
    """AGREED where all parties call for the same; `layouts` holds each party's tensors, `round_number` is the next."""
    if len({call.call for call in calls.values()}) > 1:
        return _describe_calls(calls, round_number)
    some = next(iter(calls.values()))
    answer = AGREED
    if some.call in WITH_TENSORS:
        answer = _compare_layouts({party: layouts[party] for party in calls}, calls, round_number)
    if answer == AGREED:
        answer = _compare_masks(calls, round_number)
    if answer == AGREED:
        answer = _compare_digests(calls)
    return answer


def _describe_calls(calls: Mapping[str, CallMessage], round_number: int) -> AnswerMessage:
    words = {
        AVERAGE: f"call aggregate for round {round_number}",
        SUM: f"call sum for round {round_number}",
        START: f"call start_from before round {round_number}",
        LEAVE: f"have ended after {round_number - 1} rounds",
    }
    said = {
        party: words.get(call.call, f"compare {call.label!r} before round {round_number}")
        for party, call in calls.items()
    }
    return AnswerMessage(
        "the parties do not call for the same",
        "the same calls of aggregate, sum, check_same and start_from at every party, in the same order",
        "; ".join(f"{', '.join(parties)} {what}" for what, parties in _sides(said).items()),
        "give every party the same number of rounds; stop early only by what all parties know, such as the aggregate",
    )


def _compare_digests(calls: Mapping[str, CallMessage]) -> AnswerMessage:
    labels = _sides({party: call.label for party, call in calls.items()})
    if len(labels) > 1:
        return AnswerMessage(
            "the parties compare different things",
            "one name, at the same place in every party's code",
            "; ".join(f"{', '.join(parties)}: {label!r}" for label, parties in labels.items()),
            "compare the same, in the same order, at every party",
        )
    sides = _sides({party: call.digest for party, call in calls.items()})
    if len(sides) == 1:
        return AGREED
    label = next(iter(labels))
    return AnswerMessage(
        f"{label!r} is not the same at all parties",
        _ONE_MASK if label == AGREED_MASK else "the same content at every party",
        " | ".join(", ".join(parties) for parties in sides.values()) + " (each side alike)",
        f"bring {label!r} to the same content at every party",
    )


def _compare_masks(calls: Mapping[str, CallMessage], round_number: int) -> AnswerMessage:
    sides = _sides({party: (call.mask, call.clear_count) for party, call in calls.items()})
    if len(sides) == 1:
        return AGREED
    described = [
        f"{', '.join(parties)}: "
        + (f"{calls[parties[0]].clear_count} values in the clear" if calls[parties[0]].mask else "no mask")
        for parties in sides.values()
    ]
    return AnswerMessage(
        f"masks differ between parties in round {round_number}, and no sum was opened",
        _ONE_MASK,
        " | ".join(described),
        "make the mask of what all parties hold alike, such as one file or what they agreed on in this run",
    )


def _compare_layouts(
    layouts: Mapping[str, Layout], calls: Mapping[str, CallMessage], round_number: int
) -> AnswerMessage:
    names = sorted({name for layout in layouts.values() for name in layout})
    differing = []
    for name in names:
        sides = _sides({party: layout.get(name, "absent, or not averaged") for party, layout in layouts.items()})
        if len(sides) > 1:
            described = "; ".join(f"{', '.join(parties)}: {form}" for form, parties in sides.items())
            differing.append(f"{name!r} ({described})")
    if differing:
        more = f"; and {len(differing) - _MAX_SHOWN} more" if len(differing) > _MAX_SHOWN else ""
        return AnswerMessage(
            f"tensors differ between parties in round {round_number}, and no sum was opened",
            "the same names, shapes and dtypes at every party",
            "; ".join(differing[:_MAX_SHOWN]) + more,
            "build the same model at every party; party.check_same compares its source before training",
        )
    bounds = _sides({party: call.fresh_bounds for party, call in calls.items()})
    if len(bounds) > 1:
        return AnswerMessage(
            f"parties hold different references in round {round_number}",
            "parties that took part in the same rounds",
            " | ".join(", ".join(parties) for parties in bounds.values()),
            "call aggregate with the same `parameters` at every party",
        )
    return AGREED


def _sides(said: Mapping[str, Hashable]) -> dict[Hashable, list[str]]:
    """Who says what, in the order in which it is first said."""
    sides: dict[Hashable, list[str]] = {}
    for party, what in said.items():
        sides.setdefault(what, []).append(party)
    return sides
