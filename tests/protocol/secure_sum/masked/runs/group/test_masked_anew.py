"""A sum in the middle of a group whose releases do not fit together: masked anew, whatever secrets the group has.

Three parties are all members, and all are needed: one false release, and nobody opens the sum.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.protocol.secure_sum.masked.group import announced_block
from hekat.protocol.secure_sum.masked.messages import UploadMessage
from hekat.protocol.secure_sum.settings import CodecSettings


@pytest.fixture
def lie_once(lie_in_releases):
    """`lie_once(index)`: b seals garbage in place of this one of its releases."""

    def begin(at: int) -> None:
        lie_in_releases("b", lambda content, index: b"\xff\x7f" * (len(content) // 2) if index == at else content)

    return begin


def announced_by_a(watch) -> list[str]:
    return [step for sender, step, message in watch.received if sender == "a" and isinstance(message, UploadMessage)]


@pytest.mark.parametrize("most", [announced_block.MOST_BYTES, 0], ids=["one message", "blocks that follow"])
def test_a_round_under_the_set_of_its_histogram_takes_another_secret_of_its_own(
    most, lie_once, play, masked_settings, monkeypatch
) -> None:
    """Its secret was dealt ahead. The group has another one of the same set, under which nobody masks it now."""
    monkeypatch.setattr(announced_block, "MOST_BYTES", most)
    lie_once(1)
    settings = masked_settings(3, codec=CodecSettings(clipping="adaptive"))
    rehearsal, watch, error = play(lambda *message: None, settings=settings, timeout_s=5.0)
    assert error is None
    assert [record.party_count for record in rehearsal.records] == [3]
    assert announced_by_a(watch) == [
        "round-1/exponents/upload-0/upload",
        "round-1/upload-1/upload",
        "round-1/upload-2/upload",
    ]


def test_a_sum_of_another_set_is_announced_once(lie_once, play, masked_settings) -> None:
    lie_once(1)
    made = masked_settings(3)
    settings = replace(made, training=replace(made.training, standardise=True))
    rehearsal, watch, error = play(lambda *message: None, settings=settings)
    assert error is None
    assert [record.party_count for record in rehearsal.records] == [3]
    assert announced_by_a(watch)[1:4] == [
        "standardise/further",
        "standardise/mean/upload-1/upload",
        "standardise/mean/upload-2/upload",
    ]
