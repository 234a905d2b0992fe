"""Unproven keys of a peer, and ciphertexts that are no units: the run ends before anything secret leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.engine.limbs import limbs_from_ints
from hekat.errors import KeyRefusedError, PartyStoppedError, WireCorruptError, WireVersionError
from hekat.protocol.vertical_linear.shared_weights.messages import FactorsMessage, HelloMessage, ProductsMessage
from hekat.scheme.paillier import Ciphertexts
from hekat.wire import from_bytes, to_bytes
from hekat.wire.body import pack_body, unpack_body
from hekat.wire.frame import read_frame, write_frame

PEER = {"bank": "shop", "shop": "bank"}


class Listening:
    """A channel that notes what `party` sends, and sends what `change` makes of it."""

    def __init__(self, channel, sent, change) -> None:
        self._channel, self._sent, self._change = channel, sent, change

    def __getattr__(self, name):
        return getattr(self._channel, name)

    def send(self, to, step, message):
        self._sent.append((self._channel.party, message))
        return self._channel.send(to, step, self._change(self._channel.party, message))


def stopped(run, cause: type[Exception], party: str) -> None:
    with pytest.raises(PartyStoppedError) as caught:
        run.run()
    assert caught.value.party == party
    assert isinstance(caught.value.__cause__, cause)


@pytest.mark.parametrize("flaw", ["no proof", "an empty proof", "a proof of another key"])
@pytest.mark.parametrize("liar", ["bank", "shop"])
def test_a_key_that_is_not_proven_stops_the_run(
    run_of, tables_of, settings_of, key_pairs, liar: str, flaw: str
) -> None:
    """Both parties run the same code: the one that checks sends nothing after its hello."""

    def change(party: str, message):
        if party != liar or not isinstance(message, HelloMessage):
            return message
        frame = read_frame(message.public_key)
        items = unpack_body(frame.body)
        others = unpack_body(read_frame(to_bytes(key_pairs[PEER[liar]].public)).body)["roots"]
        version, parts = {
            "no proof": (1, {"n": items["n"]}),
            "an empty proof": (2, {**items, "roots": []}),
            "a proof of another key": (2, {**items, "roots": others}),
        }[flaw]
        return replace(message, public_key=write_frame(frame.kind, version, pack_body(parts)))

    sent = []
    run = run_of(settings_of(), tables_of(9), wrap=lambda channel: Listening(channel, sent, change))
    stopped(run, WireVersionError if flaw == "no proof" else KeyRefusedError, PEER[liar])
    assert [type(message) for party, message in sent if party == PEER[liar]] == [HelloMessage]


@pytest.mark.parametrize("kind", [FactorsMessage, ProductsMessage])
@pytest.mark.parametrize("liar", ["bank", "shop"])
def test_ciphertexts_that_are_no_units_are_refused_both_ways(
    run_of, tables_of, settings_of, key_pairs, liar: str, kind, gradient_method
) -> None:
    """Factors are under the sender's own key, whose p it knows: answers to such a number would tell multipliers."""
    keys = key_pairs[liar if kind is FactorsMessage else PEER[liar]]

    def change(party: str, message):
        if party != liar or not isinstance(message, kind):
            return message
        limbs = from_bytes(message.ciphertexts, Ciphertexts, public_key=keys.public).to_limbs()
        limbs.reshape(-1, limbs.shape[-1])[0] = limbs_from_ints([3 * keys.private.p], limbs.shape[-1])[0]
        return kind(to_bytes(Ciphertexts.from_limbs(keys.public, limbs)))

    sent = []
    run = run_of(settings_of(epochs=1), tables_of(9), wrap=lambda channel: Listening(channel, sent, change))
    stopped(run, WireCorruptError, PEER[liar])
