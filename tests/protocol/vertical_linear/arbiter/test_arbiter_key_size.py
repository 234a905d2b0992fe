"""Parties refuse a key of the arbiter's that is not of the job's size, whatever the arbiter itself checks."""

from __future__ import annotations

import pytest

from hekat.errors import KeyRefusedError, PartyStoppedError
from hekat.protocol.vertical_linear.arbiter import arbiter
from hekat.protocol.vertical_linear.arbiter.messages import GRADIENTS, SCORES


def test_a_key_of_another_size_is_refused_before_anything_is_encrypted(
    rehearse, settings_of, tables_of, paillier_keys, monkeypatch
) -> None:
    monkeypatch.setattr(arbiter, "check_key_size", lambda key, settings: None)
    run = rehearse(settings_of(), tables_of(1))
    run.key_pair = paillier_keys(3072)
    with pytest.raises(PartyStoppedError, match="the arbiter's key is not the job's") as caught:
        run.run()
    assert caught.value.party in run.settings.parties
    assert isinstance(caught.value.__cause__, KeyRefusedError)
    sent = [type(message) for party in run.settings.parties for _, _, message in run.sent[party]]
    assert not {GRADIENTS["paillier"], SCORES["paillier"]} & set(sent)
