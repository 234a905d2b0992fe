"""Messages of another shape, session, key or order, and tables that do not belong: each is refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.rehearsal import GUEST, HOSTS, Rehearsal, ends, make_settings, make_tables

from hekat.data import Table
from hekat.errors import InputError, KeyRefusedError, ProtocolError, WireError
from hekat.protocol.vertical_network.fixed_point import signed
from hekat.protocol.vertical_network.layer_exchange import LEAST_KEPT_USES
from hekat.protocol.vertical_network.messages import (
    AnswerMessage,
    FactorsMessage,
    FeatureSlopesMessage,
    FirstAddendMessage,
    HostReadyMessage,
    MaskSeedMessage,
    OutputsMessage,
    PlainAnswerMessage,
    PlainFactorsMessage,
    StartMessage,
)

HOST = HOSTS[0]
MANY = np.uint64(1 << 60)


def tampered(kind: type, change: Any, hosts: int = 1, **changes: Any) -> Rehearsal:
    """A run whose messages of one kind are changed on their way."""

    def tamper(sender: str, to: str, step: str, message: Any) -> Any:
        return change(message) if isinstance(message, kind) else message

    settings = make_settings(hosts, **changes)
    return Rehearsal(settings, make_tables(1, 60, (2, 3, 2)[: hosts + 1]), tamper=tamper)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda one: replace(one, row_count=59), "begins with other rows"),
        (lambda one: replace(one, plan=bytes(32)), "begins with other batches"),
        (lambda one: replace(one, width=4), "begins with other width"),
        (lambda one: replace(one, epochs_done=1), "begins with other epochs done"),
        (lambda one: replace(one, model_id="another"), "begins with other model"),
    ],
)
def test_a_host_that_begins_otherwise_is_refused(change: Any, match: str) -> None:
    with ends(ProtocolError, match):
        tampered(HostReadyMessage, change).run()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda one: replace(one, row_count=59), "begins with other rows"),
        (lambda one: replace(one, widths=one.widths[:1]), "begins with other parties"),
        (lambda one: replace(one, widths=[one.widths[0], 7]), "begins with other width"),
        (lambda one: replace(one, widths=[1 << 40, one.widths[1]]), "cannot take"),
        (lambda one: replace(one, model_id="another"), "begins with other model"),
        (lambda one: replace(one, finished=True), "begins with other end of the training"),
    ],
)
def test_a_guest_that_begins_otherwise_is_refused(change: Any, match: str) -> None:
    with ends(ProtocolError, match):
        tampered(StartMessage, change).run()


@pytest.mark.parametrize("width", [0, -1, 257, 1 << 40])
def test_columns_that_have_no_room_are_refused(width: int) -> None:
    with ends(ProtocolError, "features that the interactive layer cannot take"):
        tampered(HostReadyMessage, lambda one: replace(one, width=width), host_bottom="source").run()


@pytest.mark.parametrize(
    ("kind", "change", "match", "changes"),
    [
        (OutputsMessage, lambda one: OutputsMessage(one.share[:-1]), "outputs that cannot be", {}),
        (OutputsMessage, lambda one: OutputsMessage(one.share.T.copy()), "outputs that cannot be", {}),
        (OutputsMessage, lambda one: OutputsMessage(one.share | MANY), "outputs that cannot be", {}),
        (FirstAddendMessage, lambda one: FirstAddendMessage(one.addend[:-1]), "another addend of weights", {}),
        (
            FeatureSlopesMessage,
            lambda one: FeatureSlopesMessage(one.share[:, :-1].copy()),
            "slopes of features that cannot be",
            {"host_bottom": "trained"},
        ),
        (
            FeatureSlopesMessage,
            lambda one: FeatureSlopesMessage(one.share | MANY),
            "slopes of features that cannot be",
            {"host_bottom": "trained"},
        ),
    ],
)
def test_numbers_of_another_shape_are_refused(kind: type, change: Any, match: str, changes: dict[str, Any]) -> None:
    with ends(ProtocolError, match):
        tampered(kind, change, **changes).run()


def test_a_seed_of_masks_has_its_size() -> None:
    with ends(ProtocolError, "a seed of masks that is none"):
        tampered(MaskSeedMessage, lambda one: MaskSeedMessage(one.seed[:-1]), hosts=2).run()


@pytest.mark.parametrize("kind", [FactorsMessage, AnswerMessage, PlainFactorsMessage, PlainAnswerMessage])
def test_matrices_and_answers_that_miss_bytes_are_refused(kind: Any) -> None:
    protection = "none" if kind in (PlainFactorsMessage, PlainAnswerMessage) else "lattice"
    with ends(WireError, "bytes"):
        tampered(kind, lambda one: kind(one.values[:-8]), protection=protection).run()


@pytest.mark.parametrize("kind", [FactorsMessage, AnswerMessage])
def test_matrices_and_answers_of_another_session_are_refused(kind: Any) -> None:
    kept: list[Any] = []
    tampered(kind, lambda one: kept.append(one) or one, protection="lattice").run()
    with ends(WireError, "key"):
        tampered(kind, lambda one: kept[0], protection="lattice").run()


def test_a_key_is_its_partys_own() -> None:
    keys: list[bytes] = []

    def tamper(sender: str, to: str, step: str, message: Any) -> Any:
        if isinstance(message, HostReadyMessage):
            keys.append(message.public_key)
            return replace(message, public_key=keys[0])
        return message

    settings = make_settings(2, protection="lattice")
    with ends(KeyRefusedError, "a key that another party has"):
        Rehearsal(settings, make_tables(1, 60, (2, 3, 2)), tamper=tamper).run()


def test_labels_at_a_host_and_none_at_the_guest_are_refused() -> None:
    tables = make_tables(1, 60, (2, 3))
    one = tables[HOST]
    with ends(InputError, "label"):
        labelled = Table(one.features, tables[GUEST].labels, one.feature_names, HOST)
        Rehearsal(make_settings(1), {**tables, HOST: labelled}).run()
    with ends(InputError, "has no labels"):
        bare = replace(tables[GUEST], labels=None)
        Rehearsal(make_settings(1), {**tables, GUEST: bare}).run()


def test_rows_in_another_number_are_refused() -> None:
    tables = make_tables(1, 60, (2, 3))
    fewer = {**tables, HOST: tables[HOST].take(np.arange(59))}
    with ends(ProtocolError, "begins with other rows"):
        Rehearsal(make_settings(1), fewer).run()


def test_what_a_host_gives_is_uniform_where_there_are_others() -> None:
    """In the clear, where features are kept, a host's share is all of its outputs: masks alone hide them."""
    for hosts in (1, 2, 3):
        settings = make_settings(hosts, training={"epochs": LEAST_KEPT_USES})
        run = Rehearsal(settings, make_tables(1, 60, (2, 3, 2, 2)[: hosts + 1]))
        run.run()
        for host in run.settings.hosts:
            given = [signed(one.share) for _, _, one in run.sent[host] if isinstance(one, OutputsMessage)]
            assert len(given) == LEAST_KEPT_USES
            assert all((np.abs(one).max() > 1 << 54) == (hosts > 1) for one in given)
            assert not np.array_equal(given[0], given[1])


def test_the_addend_of_first_weights_is_uniform_and_fresh() -> None:
    settings, tables = make_settings(1), make_tables(1, 60, (2, 3))
    seen = []
    for _ in range(2):
        run = Rehearsal(settings, tables)
        run.run()
        seen += [one.addend for _, _, one in run.sent[HOST] if isinstance(one, FirstAddendMessage)]
    assert len(seen) == 2
    assert not (seen[0] == seen[1]).any()
    # 20 numbers: all of their upper limbs in the lowest quarter of the ring with odds of 2^-40.
    assert seen[0][..., 1].max() > 1 << 62
