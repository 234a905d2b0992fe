"""Each party refuses a key of the arbiter's that does not have the job's size, whatever the arbiter itself checks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.errors import KeyRefusedError, PartyStoppedError
from hekat.protocol.vertical_linear.arbiter.arbiter import run_arbiter
from hekat.protocol.vertical_linear.arbiter.messages import GRADIENTS, SCORES, PublicKeyMessage
from hekat.wire import to_bytes


@pytest.mark.parametrize("victim", ["bank", "shop"])
def test_a_key_of_another_size_is_refused_before_anything_is_encrypted(
    rehearse, settings_of, tables_of, paillier_keys, victim: str
) -> None:
    larger = to_bytes(paillier_keys(3072).public)

    def send_a_larger_key(channel, table, settings, run) -> None:
        send = channel.send

        def send_another(to, step, message):
            if isinstance(message, PublicKeyMessage) and to == victim:
                message = replace(message, public_key=larger)
            return send(to, step, message)

        channel.send = send_another
        run_arbiter(channel, settings, run)

    run = rehearse(settings_of(), tables_of(1), stand_ins={"judge": send_a_larger_key})
    with pytest.raises(PartyStoppedError, match="the key of judge is not the job's") as caught:
        run.run()
    assert caught.value.party == victim
    assert isinstance(caught.value.__cause__, KeyRefusedError)
    sent = {type(message) for _, _, message in run.sent[victim]}
    assert not {GRADIENTS["paillier"], SCORES["paillier"]} & sent
