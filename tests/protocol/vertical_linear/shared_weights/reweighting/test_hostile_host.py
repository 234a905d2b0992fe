"""A host that deviates while weights move to the log loss: the guest refuses what it sends, by name and valueless."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hekat.errors import HekatError, PartyStoppedError, WireError
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.calibration import calibrate
from hekat.protocol.vertical_linear.shared_weights.messages import (
    FactorsMessage,
    NewtonStepsMessage,
    ProductsMessage,
    ScoreSharesMessage,
)
from hekat.wire import from_bytes, to_bytes
from hekat.wire.body import pack_body, unpack_body
from hekat.wire.frame import read_frame, write_frame

GUEST, HOST = "bank", "shop"
CIPHERTEXT_BYTES = 2 * 2048 // 8


class Forging:
    """A channel that alters what is sent."""

    def __init__(self, channel, forge):
        self._channel, self._forge = channel, forge

    def __getattr__(self, name):
        return getattr(self._channel, name)

    def send(self, to, step, message):
        return self._channel.send(to, step, self._forge(step, message))


@pytest.fixture(scope="module")
def trained(run_of, tables_of, settings_of):
    @cache
    def train(rows: int = 24):
        settings = settings_of(learning_rate=0.0, batch_rows=0, epochs=1, protection="none")
        tables = tables_of(31, rows=rows, columns=(1, 3))
        run = run_of(settings, tables, exactness_check=False)
        return run, tables, run.run(), replace(settings, protection="paillier")

    return train


@pytest.fixture
def calibrate_with(trained, converse):
    """Plays a calibration in which the host sends what `forge` makes of its messages."""

    def play(forge):
        run, tables, parts, settings = trained()

        def role(name):
            def calibrate_here(channel):
                channel = Forging(channel, forge) if name == HOST else channel
                ready = PartyRun(Stopwatch(), key_pair=run.key_pairs[name])
                return calibrate(channel, parts[name], tables[name], settings, ready)

            return calibrate_here

        return converse(role(GUEST), role(HOST))

    return play


def forging(kind: type, where: str, change):
    return lambda step, message: change(message) if isinstance(message, kind) and step.startswith(where) else message


@pytest.mark.long
def test_a_host_that_says_what_is_so_is_not_refused(calibrate_with) -> None:
    """Three columns of numbers bear two scores of a row."""
    sent = []
    calibrate_with(lambda step, message: (sent.append(type(message)), message)[1])
    assert sent.count(NewtonStepsMessage) == 1
    assert sent.count(ScoreSharesMessage) == 2


def with_last_ciphertext(number: int):
    """A change of a message's last ciphertext to a number mod 2^4096, under a checksum that holds."""

    def change(message):
        frame = read_frame(message.ciphertexts)
        items = unpack_body(frame.body)
        residues = items["residues"][:-CIPHERTEXT_BYTES] + number.to_bytes(CIPHERTEXT_BYTES, "little")
        body = pack_body(items | {"residues": residues})
        return replace(message, ciphertexts=write_frame(frame.kind, frame.kind_version, body))

    return change


@pytest.mark.parametrize(
    ("forge", "expected"),
    [
        pytest.param(
            forging(NewtonStepsMessage, "calibration", lambda message: replace(message, steps=3)),
            "shop says that weights move more often than its columns bear",
            id="more steps than its columns bear",
        ),
        pytest.param(
            forging(NewtonStepsMessage, "calibration", lambda message: replace(message, steps=-1)),
            "shop says that weights move more often than its columns bear",
            id="fewer steps than none",
        ),
        pytest.param(
            forging(ScoreSharesMessage, "predict", lambda message: replace(message, shares=message.shares + (1 << 62))),
            "shares of scores from shop give numbers that are no scores of this model",
            id="scores out of range",
        ),
        pytest.param(
            forging(ScoreSharesMessage, "predict", lambda message: replace(message, shares=message.shares[:-1])),
            "shop sent shares of other scores",
            id="scores of fewer rows",
        ),
        pytest.param(
            forging(FactorsMessage, "reweight/columns", with_last_ciphertext((1 << 4096) - 1)),
            "what shop sent in reweight/columns cannot be used: a ciphertext is out of range",
            id="rows beyond the key",
        ),
        pytest.param(
            forging(FactorsMessage, "reweight/columns", with_last_ciphertext(0)),
            "what shop sent in reweight/columns cannot be used: a ciphertext is out of range",
            id="rows that are no ciphertext",
        ),
        pytest.param(
            forging(FactorsMessage, "reweight/columns", lambda message: replace(message, ciphertexts=b"nan")),
            "what shop sent in reweight/columns cannot be used: not Hekat bytes",
            id="rows that are no message",
        ),
        pytest.param(
            forging(ProductsMessage, "reweight/1/host", with_last_ciphertext((1 << 4096) - 1)),
            "what shop sent in reweight/1/host cannot be used: a ciphertext is out of range",
            id="products beyond the key",
        ),
        pytest.param(
            forging(ProductsMessage, "reweight/1/host", with_last_ciphertext(0)),
            "what shop sent in reweight/1/host cannot be used: a ciphertext is out of range",
            id="products that are no ciphertext",
        ),
    ],
)
def test_what_a_host_makes_up_is_refused(forge, expected, calibrate_with) -> None:
    with pytest.raises(PartyStoppedError) as caught:
        calibrate_with(forge)
    cause = caught.value.__cause__
    assert caught.value.party == GUEST
    assert isinstance(cause, HekatError)
    assert expected in str(cause)


@pytest.mark.parametrize("steps", [float("nan"), 2.0, True, "2", None])
def test_steps_that_are_no_whole_number_are_refused(steps) -> None:
    with pytest.raises(WireError, match="steps"):
        from_bytes(write_frame("vertical-shared/newton-steps", 1, pack_body({"steps": steps})), NewtonStepsMessage)


def test_scores_that_are_no_shares_are_refused() -> None:
    """Shares are whole numbers: no bytes of them are NaN, and an array of floats is no array of shares."""
    good = to_bytes(ScoreSharesMessage(np.zeros((3, 1, 2), np.uint64)))
    items = unpack_body(read_frame(good).body)
    assert items["shares"][0] == "uint64"
    items["shares"][0] = "float64"
    with pytest.raises(WireError, match="shares"):
        from_bytes(write_frame("vertical-shared/score-shares", 1, pack_body(items)), ScoreSharesMessage)
