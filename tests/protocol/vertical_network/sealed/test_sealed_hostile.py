"""A party of a sealed network that deviates: it is refused by name, or spoils the loss, and opens uniform numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.rehearsal import GUEST, Rehearsal, ends
from tests.protocol.vertical_network.sealed.sealed_run import HOST, crossed_tables, make_sealed

from hekat.data import Table
from hekat.errors import DivergedError, InputError, KeyRefusedError, PartyStoppedError, ProtocolError, WireError
from hekat.protocol.shares.share_array import from_integers, random_shares
from hekat.protocol.vertical_network.messages import FirstAddendMessage, HostReadyMessage, StartMessage
from hekat.protocol.vertical_network.sealed.cross_products import MatrixFacts
from hekat.protocol.vertical_network.sealed.lattice_products import LatticeProducts
from hekat.protocol.vertical_network.sealed.messages import (
    PlainSealedAnswerMessage,
    PlainSealedFactorsMessage,
    SealedAnswerMessage,
    SealedFactorsMessage,
    SealedLossMessage,
)
from hekat.protocol.vertical_network.sealed.scales import SLOT_RING

Change = Callable[[Any], Any]


def tampered(kind: type, change: Change, at: str = "", **changes: Any) -> Rehearsal:
    """A run whose messages of one kind are changed on their way, in steps whose names end with `at`."""

    def tamper(sender: str, to: str, step: str, message: Any) -> Any:
        return change(message) if isinstance(message, kind) and step.endswith(at) else message

    return Rehearsal(make_sealed(**changes), crossed_tables(21, 40), tamper=tamper)


@pytest.mark.parametrize(
    ("kind", "change", "match"),
    [
        (HostReadyMessage, lambda one: replace(one, row_count=39), "begins with other rows"),
        (HostReadyMessage, lambda one: replace(one, plan=bytes(32)), "begins with other batches"),
        (HostReadyMessage, lambda one: replace(one, epochs_done=1), "begins with other epochs done"),
        (HostReadyMessage, lambda one: replace(one, width=0), "features that the interactive layer cannot take"),
        (StartMessage, lambda one: replace(one, widths=[3, 4]), "begins with other width of this host"),
        (StartMessage, lambda one: replace(one, widths=[257, 3]), "features that the interactive layer cannot take"),
        (StartMessage, lambda one: replace(one, widths=[0, 3]), "features that the interactive layer cannot take"),
        (StartMessage, lambda one: replace(one, widths=[3]), "begins with other parties"),
        (StartMessage, lambda one: replace(one, model_id="another"), "begins with other model"),
        (FirstAddendMessage, lambda one: FirstAddendMessage(one.addend[:-1]), "sent another addend of weights"),
        (SealedLossMessage, lambda one: SealedLossMessage(one.share[:0]), "sent no share of the loss"),
        (SealedLossMessage, lambda one: SealedLossMessage(one.share + np.uint64(1 << 50)), "sent no share of the loss"),
    ],
)
def test_what_cannot_be_is_refused_by_name(kind: type, change: Change, match: str) -> None:
    with ends(ProtocolError, match):
        tampered(kind, change).run()


@pytest.mark.quick_cases(
    "factors-units-lattice", "answer-squares-lattice", "factors-slopes-none", "answer-gradient-none"
)
@pytest.mark.parametrize("protection", ["none", "lattice"])
@pytest.mark.parametrize("step", ["units", "squares", "slopes", "gradient"])
@pytest.mark.parametrize("what", ["factors", "answer"])
def test_numbers_that_are_not_complete_are_refused(protection: str, step: str, what: str) -> None:
    kinds = {
        "none": {"factors": PlainSealedFactorsMessage, "answer": PlainSealedAnswerMessage},
        "lattice": {"factors": SealedFactorsMessage, "answer": SealedAnswerMessage},
    }
    kind = kinds[protection][what]
    for change in (
        lambda one: kind(one.values[:-1]),
        lambda one: kind([*one.values, one.values[0]]),
        lambda one: kind([one.values[0][:-8], *one.values[1:]]),
    ):
        with ends(WireError, "stopped in step"):
            tampered(kind, change, f"batch-1/{step}/{what}", protection=protection, training={"epochs": 1}).run()


def test_a_key_of_the_receiver_and_numbers_under_a_strangers_key_are_refused() -> None:
    keys: list[bytes] = []

    def give_back(message: HostReadyMessage) -> HostReadyMessage:
        keys.append(message.public_key)
        return message

    def tamper(sender: str, to: str, step: str, message: Any) -> Any:
        if isinstance(message, HostReadyMessage):
            return give_back(message)
        return replace(message, public_key=keys[0]) if isinstance(message, StartMessage) else message

    with ends(KeyRefusedError, "bank came with this party's key"):
        Rehearsal(make_sealed(protection="lattice"), crossed_tables(21, 40), tamper=tamper).run()

    stranger = LatticeProducts()
    facts = MatrixFacts(40, 3, 5)
    foreign = list(stranger.hold_matrix(random_shares((3, 5)), facts))
    with ends(WireError, "stopped in step"):
        tampered(
            SealedFactorsMessage, lambda one: SealedFactorsMessage(foreign), "units/factors", protection="lattice"
        ).run()


def test_a_step_that_is_played_again_with_old_numbers_spoils_the_loss_and_no_more() -> None:
    """A host that sends the factors of the first batch in the second: they open no number, and training diverges."""
    first: dict[str, Any] = {}

    def tamper(sender: str, to: str, step: str, message: Any) -> Any:
        if sender != HOST or not isinstance(message, PlainSealedFactorsMessage):
            return message
        return first.setdefault(step.rpartition("/batch-")[2].partition("/")[2], message)

    settings = make_sealed(training={"batch_rows": 20})
    with ends(DivergedError, "training diverges"):
        Rehearsal(settings, crossed_tables(21, 40), tamper=tamper).run()


@pytest.mark.parametrize("at", ["squares/factors", "slopes/factors"])
def test_a_host_that_makes_up_factors_ends_the_run(at: str) -> None:
    def change(one: PlainSealedFactorsMessage) -> PlainSealedFactorsMessage:
        count = len(one.values[0]) // 16
        return PlainSealedFactorsMessage([SLOT_RING.from_limbs(random_shares((count,))).astype("<u8").tobytes()])

    with ends(DivergedError, "training diverges"):
        tampered(PlainSealedFactorsMessage, change, at).run()


def test_labels_at_the_host_and_columns_of_nobody_are_refused() -> None:
    tables = crossed_tables(23, 40)
    labelled = Table(tables[HOST].features, np.asarray(tables[GUEST].labels), tables[HOST].feature_names, HOST)
    with ends(InputError, "label"):
        Rehearsal(make_sealed(), {**tables, HOST: labelled}).run()
    empty = Table(np.zeros((40, 0)), None, (), HOST)
    with pytest.raises(PartyStoppedError):
        Rehearsal(make_sealed(), {**tables, HOST: empty}).run()


def evenness(values: list[Any]) -> float:
    """Pearson's statistic of 16 bins over numbers of [0, 1): its mean is 15 for uniform ones, and above 100 it has odds
    of 2^-48."""
    counts = np.histogram(np.concatenate([one.ravel() for one in values]), bins=16, range=(0, 1))[0]
    mean = counts.sum() / 16
    return float(((counts - mean) ** 2).sum() / mean)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """What holders of keys open in a run, of each kind, as fractions of the ring."""
    found: dict[str, list[Any]] = {"matrix": [], "slots": []}
    open_matrix, open_slots = LatticeProducts.open_matrix, LatticeProducts.open_slots

    def watched_matrix(self: Any, answer: Any, facts: Any) -> Any:
        share = open_matrix(self, answer, facts)
        found["matrix"] += [share[..., 1] / 2.0**64, share[..., 0] / 2.0**64]
        return share

    def watched_slots(self: Any, answer: Any, facts: Any) -> Any:
        share = open_slots(self, answer, facts)
        found["slots"] += [one / prime for one, prime in zip(share, SLOT_RING.primes, strict=True)]
        return share

    monkeypatch.setattr(LatticeProducts, "open_matrix", watched_matrix)
    monkeypatch.setattr(LatticeProducts, "open_slots", watched_slots)
    return found


def test_all_that_a_party_opens_is_uniform(opened: dict[str, list[Any]]) -> None:
    """Every share that guest and host open in a run: units and gradients by limbs, squares and slopes by primes."""
    run = Rehearsal(make_sealed(protection="lattice", training={"epochs": 1}), crossed_tables(24, 120))
    run.run()
    kinds = {type(message) for sent in run.sent.values() for *_, message in sent}
    assert {SealedFactorsMessage, SealedAnswerMessage, SealedLossMessage} <= kinds
    for kind, values in opened.items():
        print(f"{kind}: {sum(one.size for one in values):,} numbers, statistic {evenness(values):.1f}")
        assert sum(one.size for one in values) > 1000
        assert evenness(values) < 100
    # Small numbers without a mask lie at both ends of a limb.
    assert evenness([np.zeros(500), np.full(500, 1 - 2**-20)]) > 1000


def test_a_key_holder_that_sends_other_numbers_opens_uniform_ones() -> None:
    """A guest that sends the identity in place of its share would read the host's columns off an unmasked answer."""
    rng, (guest, host) = np.random.default_rng(25), (LatticeProducts(), LatticeProducts())
    guest.meet(HOST, host.public_key)
    host.meet(GUEST, guest.public_key)
    columns, facts = rng.integers(-(1 << 17), 1 << 17, (300, 4)), MatrixFacts(300, 4, 4)
    held = host.read_matrix(guest.hold_matrix(from_integers(np.eye(4, dtype=np.int64)), facts), facts)
    shares = []
    for _ in range(2):
        answer, _own = host.answer_matrix(columns, held, facts)
        shares.append(guest.open_matrix(answer, facts))
    assert evenness([one[..., 1] / 2.0**64 for one in shares]) < 100
    assert (shares[0] != shares[1]).any(axis=-1).all()
    assert abs(np.corrcoef(shares[0][..., 1].ravel() / 2.0**64, columns.ravel())[0, 1]) < 0.2
