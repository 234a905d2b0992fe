"""Who knows S can make up the further sums of a group, another one for each party: what those then upload opens not.

The four sums of standardising follow from one another. A party that was told of smaller deviations measures its rows in
smaller units: all that it sends to the sum of the variances is clipped, so that its part of the sum is known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.codec.counters import counter_slots
from hekat.errors import AlteredSumError, BoundError
from hekat.protocol.secure_sum.masked import party as masked_party
from hekat.protocol.secure_sum.masked.group.group_secret import OpenedGroup, key_of_upload
from hekat.protocol.secure_sum.masked.messages import SumBlockMessage, UploadMessage
from hekat.scheme.lattice import SecretKey, add, decrypt, encrypt

PARTIES = "abcde"
VICTIM = "c"
DEVIATION, VARIANCE = "standardise/deviation", "standardise/variance"
COLUMNS = 3


def split(total, count: int, most: int) -> list[np.ndarray]:
    """`count` arrays within +-most whose sum is the total."""
    parts, left = [], total.astype(np.int64)
    for _ in range(count):
        parts.append(np.clip(left, -most, most))
        left = left - parts[-1]
    assert not left.any()
    return parts


class Forger:
    """An aggregator with a party that knows S: it tells the victim of smaller deviations, and hides that it differs."""

    def __init__(self, monkeypatch, weight_max: int) -> None:
        self.opened, self.keys, self.announced = {}, {}, {}
        self._weight_max = weight_max
        hold = OpenedGroup.hold

        def hold_and_tell(group, opened):
            self.opened[opened.parameters.name] = opened
            hold(group, opened)

        def key_and_tell(session, leg, parameters):
            key = key_of_upload(session, leg, parameters)
            self.keys[leg.step, leg.agreement] = key
            return key

        monkeypatch.setattr(OpenedGroup, "hold", hold_and_tell)
        monkeypatch.setattr(masked_party, "key_of_upload", key_and_tell)

    def take(self, sender, step, message):
        if not isinstance(message, UploadMessage):
            return None
        self.announced[message.step, sender] = message
        return replace(message, agreement=self.announced[message.step, "a"].agreement)

    def change(self, to, step, message):
        if to == VICTIM and isinstance(message, SumBlockMessage) and step.startswith(DEVIATION):
            return SumBlockMessage(self._forge(message.written))
        return None

    def _forge(self, written: bytes) -> bytes:
        announced = self.announced[DEVIATION, VICTIM]
        opened = self.opened[announced.parameter_set]
        parameters, count = opened.parameters, announced.lane_count
        key = self.keys[DEVIATION, announced.agreement]
        sums = decrypt(parameters, opened.secret_sum, key, written, count)
        head = counter_slots([self._weight_max], 1)
        sums[head:] = np.roll(sums[head:].reshape(COLUMNS, -1), -30, axis=1).ravel()
        secrets = split(opened.secret_sum.coefficients, len(PARTIES), 21)
        levels = split(sums, len(PARTIES), 1)
        uploads = [
            encrypt(parameters, SecretKey(parameters, secret.astype(np.int8)), key, part.astype(np.int32))
            for secret, part in zip(secrets, levels, strict=True)
        ]
        return add(parameters, count, uploads)


def test_who_was_told_another_sum_is_in_no_later_sum_that_opens(play, masked_settings, monkeypatch) -> None:
    made = masked_settings(5)
    settings = replace(made, training=replace(made.training, standardise=True))
    forger = Forger(monkeypatch, made.weight_max)
    rehearsal, _, error = play(forger.change, take=forger.take, settings=settings, exactness_check=False)
    assert isinstance(error.__cause__, AlteredSumError)
    assert f"the sum of {VARIANCE} is not the sum of the uploads" in str(error)
    assert rehearsal.records == []
    uploads = {party: forger.announced[VARIANCE, party].block for party in PARTIES}
    assert all(uploads.values()), "the forged sum opened at the victim, which went on"
    some = forger.announced[VARIANCE, "a"]
    opened = forger.opened[some.parameter_set]
    total = add(opened.parameters, some.lane_count, list(uploads.values()))
    agreements = {forger.announced[VARIANCE, party].agreement for party in PARTIES}
    for agreement in agreements:
        with pytest.raises(BoundError, match="does not open"):
            decrypt(opened.parameters, opened.secret_sum, forger.keys[VARIANCE, agreement], total, some.lane_count)
    assert len(agreements) == 2
