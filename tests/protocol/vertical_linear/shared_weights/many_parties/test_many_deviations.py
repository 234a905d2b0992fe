"""Parties that depart from the protocol among three or more: what they send is refused, or tells them nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import BoundError, KeyRefusedError, PartyStoppedError, ProtocolError, WireError
from hekat.protocol.shares.share_array import add_shares, constant
from hekat.protocol.vertical_linear.shared_weights.messages import (
    ColumnAddendsMessage,
    EpochEndMessage,
    FactorsMessage,
    HelloMessage,
    ProductsMessage,
)
from hekat.scheme.paillier import Ciphertexts, encrypt
from hekat.scheme.paillier.twos_complement import plaintext_from_ints
from hekat.wire import from_bytes, to_bytes

COLUMNS = (2, 2, 2)


class Deviating:
    """A channel whose owner sends what `change` makes of a message: (party, to, message) -> message."""

    def __init__(self, channel, change, heard):
        self._channel, self._change, self._heard = channel, change, heard

    def __getattr__(self, name):
        return getattr(self._channel, name)

    def send(self, to, step, message):
        return self._channel.send(to, step, self._change(self._channel.party, to, message))

    def receive(self, sender, step, message_type, timeout_s=None):
        found = self._channel.receive(sender, step, message_type, timeout_s)
        self._heard.append((self._channel.party, found))
        return found


@pytest.fixture
def deviate(many_run_of, many_settings, tables_of):
    """Plays a run in which parties send other messages; returns all that was received."""

    def play(change, **settings):
        heard = []
        values = {"batch_rows": 0, "epochs": 1, **settings}
        run = many_run_of(
            many_settings(**values),
            tables_of(3, rows=100, columns=COLUMNS),
            exactness_check=False,
            wrap=lambda channel: Deviating(channel, change, heard),
        )
        run.run()
        return heard

    return play


def stopped(play, change, cause, match, **settings):
    with pytest.raises(PartyStoppedError, match=match) as caught:
        play(change, **settings)
    assert isinstance(caught.value.__cause__, cause)
    return caught.value.party


@pytest.mark.parametrize("copier", ["telco", "shop"])
def test_a_key_that_two_parties_come_with_is_refused(deviate, many_keys, copier):
    other = {"telco": "shop", "shop": "telco"}[copier]

    def change(party, to, message):
        if party == copier and isinstance(message, HelloMessage):
            return replace(message, public_key=to_bytes(many_keys[other].public))
        return message

    stopped(deviate, change, KeyRefusedError, "came with the key of")


def test_counts_that_differ_from_party_to_party_end_the_run(deviate):
    def change(party, to, message):
        if (party, to) == ("telco", "shop") and isinstance(message, HelloMessage):
            return replace(message, column_count=3)
        return message

    stopped(deviate, change, ProtocolError, "sent another number of (values|addends)")


@pytest.mark.parametrize("field", ["products", "targets"])
def test_addends_of_another_shape_are_refused(deviate, field):
    def change(party, to, message):
        if isinstance(message, ColumnAddendsMessage):
            return replace(message, **{field: getattr(message, field)[1:]})
        return message

    stopped(deviate, change, ProtocolError, "telco sent another number of addends")


def test_wrong_addends_show_as_a_loss_out_of_range_and_the_quiet_party_hears_the_end_alone(deviate):
    def change(party, to, message):
        if to == "bank" and isinstance(message, ColumnAddendsMessage):
            return replace(message, products=add_shares(message.products, constant(1 << 120)))
        return message

    heard = []

    def listen(party, to, message):
        if to == "telco":
            heard.append(type(message))
        return change(party, to, message)

    assert stopped(deviate, listen, BoundError, "training diverges", epochs=3) == "bank"
    assert set(heard) <= {HelloMessage, FactorsMessage, ProductsMessage, EpochEndMessage}


def test_a_quiet_party_receives_nothing_that_depends_on_others_but_masked_answers(deviate):
    heard = deviate(lambda party, to, message: message, epochs=2)
    kinds = [type(message) for party, message in heard if party == "telco"]
    # telco's rows go to the guest; it answers the shop's rows, and sends addends to both holders.
    assert kinds.count(ProductsMessage) == 1
    assert kinds.count(EpochEndMessage) == 2
    assert not any(isinstance(message, ColumnAddendsMessage) for party, message in heard if party == "telco")


def test_ciphertexts_of_another_party_are_not_taken_for_ones_own(deviate, many_keys):
    """Columns under the shop's key, which telco cannot have made itself: nothing under it goes back to telco."""

    def change(party, to, message):
        if isinstance(message, FactorsMessage) and party == "telco":
            own = from_bytes(message.ciphertexts, Ciphertexts, public_key=many_keys["telco"].public)
            numbers = plaintext_from_ints([1] * own.size, 1)
            return FactorsMessage(to_bytes(encrypt(many_keys["shop"].private, numbers).reshape(own.shape)))
        return message

    assert stopped(deviate, change, WireError, "bank") == "bank"


def test_shares_of_different_states_do_not_meet(many_run_of, many_settings, tables_of):
    tables, settings = tables_of(3, rows=100, columns=COLUMNS), many_settings(batch_rows=0, epochs=2)
    runs = [many_run_of(settings, tables, exactness_check=False) for _ in range(2)]
    for run in runs:
        run.run()
    states = {name: runs[0].saved[name][0] for name in settings.parties}
    states["telco"] = runs[1].saved["telco"][0]
    with pytest.raises(PartyStoppedError, match="hold shares of different weights"):
        many_run_of(settings, tables, resume_from=states).run()
    assert np.array_equal(runs[0].saved["bank"][0].arrays["sharing"], runs[0].saved["telco"][0].arrays["sharing"])
