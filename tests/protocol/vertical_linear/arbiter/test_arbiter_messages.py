"""Messages of training with an arbiter: their bytes come back, and each field says what it gives away."""

from __future__ import annotations

import numpy as np
import pytest
from tests.protocol.vertical_linear.arbiter.start_messages import make_start

from hekat.protocol.vertical_linear.arbiter import messages
from hekat.wire import disclosure_of, from_bytes, to_bytes

EXAMPLES = [
    messages.HostReadyMessage(row_count=5, column_count=2, high_leverage_columns=1, feature_bits=18, epochs_done=0),
    make_start(high_leverage_columns=1, epochs_done=2),
    messages.PublicKeyMessage(public_key=b"key", start_digest=bytes(range(32))),
    messages.OpenedGradientMessage(values=np.arange(6, dtype=np.uint64).reshape(3, 2)),
    messages.OpenedLossMessage(values=np.arange(2, dtype=np.uint64).reshape(1, 2)),
    messages.EpochEndMessage(finished=True),
    *(
        kinds[protection](values=b"numbers")
        for kinds in (messages.SCORES, messages.RESIDUALS, messages.GRADIENTS, messages.LOSS_PARTS, messages.LOSSES)
        for protection in ("paillier", "lattice", "none")
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__name__)
def test_bytes_come_back(example) -> None:
    again = from_bytes(to_bytes(example), type(example))
    for name in disclosure_of(type(example)):
        np.testing.assert_array_equal(getattr(again, name), getattr(example, name))


@pytest.mark.parametrize(
    "kinds", [messages.SCORES, messages.RESIDUALS, messages.GRADIENTS, messages.LOSS_PARTS, messages.LOSSES]
)
def test_what_is_encrypted_says_so_and_what_is_not_shouts(kinds) -> None:
    encrypted, plain = (disclosure_of(kinds[protection])["values"] for protection in ("paillier", "none"))
    assert kinds["lattice"] is kinds["paillier"]
    assert encrypted.kind == "ciphertext"
    assert "the arbiter's key" in encrypted.detail
    assert plain.kind == "disclosed"
    assert plain.detail.isupper()
    assert "UNENCRYPTED" in plain.detail


def test_a_party_is_told_its_own_gradient_and_the_guest_the_loss() -> None:
    of_gradient, of_loss = (
        disclosure_of(message)["values"] for message in (messages.OpenedGradientMessage, messages.OpenedLossMessage)
    )
    assert (of_gradient.kind, of_loss.kind) == ("disclosed", "disclosed")
    assert "the party's own gradient, once it takes its mask away" in of_gradient.detail
    assert "the epoch's loss to 2^-24 or less, once the guest takes its mask away" in of_loss.detail


def test_an_early_end_tells_of_losses() -> None:
    of_end = disclosure_of(messages.EpochEndMessage)["finished"]
    assert (of_end.kind, of_end.detail) == ("disclosed", "whether what the guest alone sees ends the training")
