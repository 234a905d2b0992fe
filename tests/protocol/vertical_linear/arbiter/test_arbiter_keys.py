"""Unproven keys of an arbiter, and ciphertexts that are no units: the run ends before anything secret leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.engine.limbs import limbs_from_ints
from hekat.errors import KeyRefusedError, PartyStoppedError, WireCorruptError, WireVersionError
from hekat.protocol.vertical_linear.arbiter.arbiter import run_arbiter
from hekat.protocol.vertical_linear.arbiter.guest import run_guest
from hekat.protocol.vertical_linear.arbiter.host import run_host
from hekat.protocol.vertical_linear.arbiter.messages import (
    HostReadyMessage,
    LossPartMessage,
    MaskedGradientMessage,
    MaskedLossMessage,
    PublicKeyMessage,
    ResidualsMessage,
    ScoresMessage,
    StartMessage,
)
from hekat.scheme.paillier import Ciphertexts, PublicKey
from hekat.wire import from_bytes, to_bytes
from hekat.wire.body import pack_body, unpack_body
from hekat.wire.frame import read_frame, write_frame

ROLES = {"bank": run_guest, "shop": run_host}


def forged_keys(public: PublicKey, other: PublicKey) -> dict[str, tuple[bytes, type[Exception]]]:
    """By its defect: the bytes of a key, and the error that a party raises."""
    frame = read_frame(to_bytes(public))
    items = unpack_body(frame.body)
    foreign = unpack_body(read_frame(to_bytes(other)).body)["roots"]

    def written(version: int, **parts: object) -> bytes:
        return write_frame(frame.kind, version, pack_body(parts))

    return {
        "no proof": (written(1, n=items["n"]), WireVersionError),
        "an empty proof": (written(2, n=items["n"], roots=[]), KeyRefusedError),
        "a proof of another key": (written(2, n=items["n"], roots=foreign), KeyRefusedError),
        "a wrong root": (written(2, n=items["n"], roots=[*items["roots"][:-1], 1]), KeyRefusedError),
    }


def stopped(run, cause: type[Exception], party: str) -> None:
    with pytest.raises(PartyStoppedError) as caught:
        run.run()
    assert caught.value.party == party
    assert isinstance(caught.value.__cause__, cause)


@pytest.mark.parametrize("flaw", ["no proof", "an empty proof", "a proof of another key", "a wrong root"])
@pytest.mark.parametrize("victim", ["bank", "shop"])
def test_a_key_that_is_not_proven_stops_the_run(
    rehearse, settings_of, tables_of, paillier_keys, victim: str, flaw: str
) -> None:
    data, error = forged_keys(paillier_keys[2048][0].public, paillier_keys[2048][1].public)[flaw]

    def dishonest(channel, table, settings, run):
        send = channel.send

        def send_another(to, step, message):
            forged = replace(message, public_key=data) if isinstance(message, PublicKeyMessage) else message
            return send(to, step, forged if to == victim else message)

        channel.send = send_another
        run_arbiter(channel, settings, run)

    run = rehearse(settings_of(), tables_of(1), stand_ins={"judge": dishonest})
    stopped(run, error, victim)
    # The victim told this of its table before the key came.
    sent = {type(message) for _, _, message in run.sent[victim]}
    assert sent == {StartMessage if victim == "bank" else HostReadyMessage}


def test_the_same_run_goes_through_with_the_key_as_it_is(rehearse, settings_of, tables_of) -> None:
    run = rehearse(settings_of(epochs=1), tables_of(1))
    run.run()
    (told,) = {message.public_key for _, _, message in run.sent["judge"] if isinstance(message, PublicKeyMessage)}
    assert from_bytes(told, PublicKey) is run.key_pair.public


@pytest.mark.parametrize(
    ("sender", "kind", "victim"),
    [
        ("shop", ScoresMessage, "bank"),
        ("bank", ResidualsMessage, "shop"),
        ("shop", MaskedGradientMessage, "judge"),
        ("bank", MaskedGradientMessage, "judge"),
        ("shop", LossPartMessage, "bank"),
        ("bank", MaskedLossMessage, "judge"),
    ],
)
def test_ciphertexts_that_are_no_units_are_refused_wherever_they_come(
    rehearse, settings_of, tables_of, sender: str, kind, victim: str
) -> None:
    """A sender who works with the arbiter knows p; a party that multiplied such a number with its own would tell of
    it."""

    def dishonest(channel, table, settings, run):
        send = channel.send

        def send_another(to, step, message):
            if not isinstance(message, kind):
                return send(to, step, message)
            public = rehearsal.key_pair.public
            values = from_bytes(message.values, Ciphertexts, public_key=public)
            limbs = values.to_limbs()
            limbs.reshape(-1, limbs.shape[-1])[-1] = limbs_from_ints([rehearsal.key_pair.private.p], limbs.shape[-1])[0]
            return send(to, step, kind(values=to_bytes(Ciphertexts.from_limbs(public, limbs))))

        channel.send = send_another
        return ROLES[sender](channel, table, settings, run)

    rehearsal = rehearse(settings_of(epochs=1), tables_of(1), stand_ins={sender: dishonest})
    stopped(rehearsal, WireCorruptError, victim)
