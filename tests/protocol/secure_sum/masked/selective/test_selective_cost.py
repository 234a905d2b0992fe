"""The bytes of a sum that is in the clear in part: foretold to the byte, and the table of a ResNet-50."""

from __future__ import annotations

import math

import pytest

from hekat.protocol.secure_sum.cost.recorded_sums import SumRecorder, SumShape
from hekat.protocol.secure_sum.masked import slot_stream
from hekat.protocol.secure_sum.masked.cost import form_of, masked_messages
from hekat.wire import to_bytes

from .conftest import make_mask, make_settings, request_of

RESNET_50 = 25_557_032
FEDML_HE_AT_A_TENTH = 2.56
"""FedML-HE, Table 7: the bytes of an update with a tenth encrypted, to plain float32."""


def upload_bytes(fraction: float) -> float:
    """Megabytes that one of five parties sends up in a sum of a ResNet-50's size."""
    shape = SumShape("round-1", {"w": (RESNET_50,)}, (), 16, clear_count=RESNET_50 - math.ceil(fraction * RESNET_50))
    messages = masked_messages(make_settings(5), shape, list("abcde"), 0)
    return sum(one.payload_bytes for one in messages if one.sender == "a" and one.receiver == "hub") / 1e6


def test_full_masking_sends_less_than_float32_and_than_the_papers_tenth() -> None:
    """Protocol messages beside the blocks are 50 kB."""
    plain = 4 * RESNET_50 / 1e6
    found = {fraction: upload_bytes(fraction) for fraction in (0, 0.1, 0.3, 0.5, 1)}
    expected = {0: 51.1, 0.1: 53.4, 0.3: 57.8, 0.5: 62.3, 1: 73.5}
    assert found == pytest.approx(expected, abs=0.12)
    assert found[1] / plain < 0.73 < FEDML_HE_AT_A_TENTH


@pytest.mark.quick_cases("committee-False", "authority-True", "shared-False")
@pytest.mark.parametrize("check_sum", [False, True])
@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_bytes_are_those_of_the_run(opening, check_sum, sum_up, monkeypatch) -> None:
    monkeypatch.setattr(slot_stream, "BLOCK_SLOTS", 60)
    settings = make_settings(5, opening, check_sum=check_sum)
    request = request_of("a", mask=make_mask())
    recorder = SumRecorder(16, clips=True)
    recorder.weighted_mean(request)
    (shape,) = recorder.sums
    assert shape.clear_count == (~make_mask()).chosen_count
    assert form_of(settings, shape, 5).bits == 16
    foretold: dict[tuple[str, str], int] = {}
    for one in masked_messages(settings, shape, settings.parties, 0):
        if one.receiver == "hub":
            foretold[one.sender, one.step] = foretold.get((one.sender, one.step), 0) + one.payload_bytes
    sums = sum_up(settings, lambda party: [request_of(party, mask=make_mask())])
    found: dict[tuple[str, str], int] = {}
    for sender, step, message in sums.seen["hub"].received:
        if "/upload-0/" in step:
            found[sender, step] = found.get((sender, step), 0) + len(to_bytes(message))
    assert found == {place: size for place, size in foretold.items() if "/upload-0/" in place[1]}
    told = sum(
        one.payload_bytes for one in masked_messages(settings, shape, settings.parties, 0) if one.receiver == "a"
    )
    heard = sum(
        len(to_bytes(message))
        for _, step, message in sums.seen["a"].received
        if step.startswith("round-1") and (step.endswith("begin") or "/upload-0/" in step)
    )
    assert heard == told
