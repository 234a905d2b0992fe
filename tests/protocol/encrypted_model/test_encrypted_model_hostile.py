"""A role that sends what it should not, or leaves, ends the run by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocol.encrypted_model.play import (
    AGGREGATOR,
    ARBITER,
    HOSTS,
    OWNER,
    ends,
    make_settings,
    make_tables,
    play,
)

from hekat.data import Table
from hekat.errors import DivergedError, HekatError, InputError, PartyStoppedError, ProtocolError
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.encrypted_model.party_run import ShareState
from hekat.protocol.encrypted_model.set_up.facts import ModelFacts
from hekat.protocol.encrypted_model.set_up.moments import Moments
from hekat.protocol.shares.share_array import from_integers
from hekat.scheme.paillier import PublicKey, encrypt, generate_keys
from hekat.wire import from_bytes, to_bytes

SEED = 21
NORTH, SOUTH = HOSTS[:2]


def cut(message: Any) -> Any:
    return replace(message, values=message.values[:-1])


def of_another_key(message: Any) -> Any:
    return replace(message, values=bytes(16) + message.values[16:])


def no_residues(message: Any) -> Any:
    return replace(message, values=message.values[:48] + b"\xff" * (len(message.values) - 48))


def with_field(**changes: Any) -> Callable[[Any], Any]:
    return lambda message: replace(message, **changes)


Case = tuple[str, str, str, Callable[[Any], Any], str]
CASES: dict[str, Case] = {
    "an update cut off": (NORTH, AGGREGATOR, "round-1/update", cut, "'north' sent numbers that cannot be"),
    "an update under another key": (SOUTH, AGGREGATOR, "round-1/update", of_another_key, "'south' sent numbers"),
    "an update of no residues": (SOUTH, AGGREGATOR, "round-2/update", no_residues, "'south' sent numbers"),
    "weights cut off": (AGGREGATOR, NORTH, "round-1/weights", cut, "'hub' sent numbers that cannot be"),
    "weights under another key": (AGGREGATOR, SOUTH, "round-1/weights", of_another_key, "'hub' sent numbers"),
    "a share cut off": (ARBITER, AGGREGATOR, "round-1/share", cut, "'notary' sent numbers that cannot be"),
    "a share of no residues": (ARBITER, AGGREGATOR, "round-1/share", no_residues, "'notary' sent numbers"),
    "a share of another run": (ARBITER, AGGREGATOR, "share", with_field(transcript=bytes(32)), "belong together"),
    "a sum cut off": (AGGREGATOR, ARBITER, "round-1/sum", cut, "'hub' sent numbers that cannot be"),
    "a sum under another key": (AGGREGATOR, ARBITER, "round-2/sum", of_another_key, "'hub' sent numbers"),
    "a key that is none": (ARBITER, NORTH, "setup/key", with_field(public_key=b"key"), "'notary' sent numbers"),
    "a key after another round": (ARBITER, AGGREGATOR, "setup/key", with_field(rounds_done=1), "'notary' goes on"),
    "a host after another round": (NORTH, AGGREGATOR, "setup/ready", with_field(rounds_done=2), "'north' goes on"),
    "no columns": (AGGREGATOR, ARBITER, "setup/start", with_field(column_count=0), "'hub' begins another run"),
    "columns for the arbiter": (
        AGGREGATOR,
        ARBITER,
        "setup/start",
        with_field(column_count=5),
        "'hub' sent numbers that cannot be",
    ),
    "columns for a host": (AGGREGATOR, NORTH, "setup/start", with_field(column_count=5), "'hub' begins with other col"),
    "a short seed": (NORTH, SOUTH, "setup/seed", with_field(seed=bytes(31)), "'north' sent no seed of a mask"),
    "a short common seed": (NORTH, SOUTH, "setup/common-seed", with_field(seed=bytes(33)), "'north' sent no seed"),
    "moments of another shape": (
        SOUTH,
        AGGREGATOR,
        "moments/sums",
        lambda m: replace(m, values=m.values[1:]),
        "'south' sent sums of another shape",
    ),
    "sums that cannot be": (
        AGGREGATOR,
        NORTH,
        "moments/sums",
        lambda m: replace(m, values=m.values ^ np.array([0, 1 << 35, 0, 0], np.uint64)),
        "'hub' returned cannot be",
    ),
    "sums of another shape": (
        AGGREGATOR,
        SOUTH,
        "moments/squares",
        lambda m: replace(m, values=m.values[:, :3]),
        "'hub' sent sums of another shape",
    ),
    "facts of other columns": (SOUTH, OWNER, "setup/facts", with_field(columns=list("abcd")), "tell the owner of diff"),
    "facts of other rows": (SOUTH, OWNER, "setup/facts", with_field(row_count=3), "'north' and 'south' tell the owner"),
    "a share of another shape": (
        AGGREGATOR,
        OWNER,
        "round-2/model",
        lambda m: replace(m, share=m.share[1:]),
        "'hub' sent a share of another model",
    ),
    "a share after other sums": (ARBITER, OWNER, "model", with_field(transcript=bytes(32)), "belong together"),
}


@pytest.mark.parametrize("what", CASES)
def test_messages_that_cannot_be_end_the_run_by_name(what: str) -> None:
    sender, to, step, change, match = CASES[what]
    changed: list[str] = []

    def tamper(by: str, whom: str, name: str, message: Any) -> Any:
        if (by, whom) != (sender, to) or not name.endswith(step):
            return message
        changed.append(name)
        return change(message)

    settings = make_settings(protection="lattice", training={"rounds": 2})
    with ends(ProtocolError, match):
        play(settings, make_tables(SEED), tamper=tamper)
    assert changed


@pytest.mark.quick_values
@pytest.mark.parametrize("what", ["cut off", "under another key", "of another shape"])
@pytest.mark.parametrize(
    ("sender", "to", "step"), [(NORTH, AGGREGATOR, "round-1/update"), (AGGREGATOR, ARBITER, "sum")]
)
def test_paillier_ciphertexts_that_cannot_be_end_the_run_by_name(sender: str, to: str, step: str, what: str) -> None:
    keys: list[PublicKey] = []

    def tamper(by: str, whom: str, name: str, message: Any) -> Any:
        if name == "setup/key":
            keys.append(from_bytes(message.public_key, PublicKey))
        if (by, whom) != (sender, to) or not name.endswith(step):
            return message
        if what == "cut off":
            return cut(message)
        key = generate_keys(3072).public if what == "under another key" else keys[0]
        count = 10 if what == "under another key" else 9
        zeros = PackedPlaintext(np.zeros((count, 1), np.uint64), 1)
        return replace(message, values=to_bytes(encrypt(key, zeros).reshape((count, 1))))

    settings = make_settings(protection="paillier", training={"rounds": 1})
    with ends(ProtocolError, f"'{sender}' sent numbers that cannot be"):
        play(settings, make_tables(SEED), tamper=tamper)


def test_two_hosts_may_not_send_one_seed() -> None:
    def tamper(by: str, whom: str, name: str, message: Any) -> Any:
        return replace(message, seed=b"s" * 32) if (whom, name) == (HOSTS[2], "setup/seed") else message

    with ends(ProtocolError, "'north' and 'south' sent one seed of a mask"):
        play(make_settings(3), make_tables(SEED, 3), tamper=tamper)


def test_all_hosts_may_not_tell_the_owner_the_same_nonsense() -> None:
    def tamper(by: str, whom: str, name: str, message: Any) -> Any:
        return replace(message, means=message.means[1:]) if name == "setup/facts" else message

    with ends(ProtocolError, "hosts tell the owner of columns that do not fit the job"):
        play(make_settings(), make_tables(SEED), tamper=tamper)


def test_a_host_that_leaves_is_named_and_states_are_kept() -> None:
    def leave(by: str, whom: str, name: str, message: Any) -> Any:
        if (by, name) == (SOUTH, "round-2/update"):
            raise ConnectionError("the line is dead")
        return message

    states: dict[str, list[ShareState]] = {}
    with pytest.raises(PartyStoppedError, match="'south' stopped") as caught:
        play(make_settings(protection="lattice"), make_tables(SEED), tamper=leave, states=states)
    assert caught.value.party == SOUTH
    # The other host is ahead: it has nothing to go on from but its rows.
    assert {name: [state.rounds_done for state in states[name]] for name in (ARBITER, AGGREGATOR, SOUTH)} == {
        ARBITER: [1],
        AGGREGATOR: [1],
        SOUTH: [1],
    }


def test_hosts_with_other_columns_are_refused_and_named() -> None:
    tables = make_tables(SEED)
    table = tables[SOUTH]
    tables[SOUTH] = Table(table.features, table.labels, ("x0", "x1", "x3", "x2"), SOUTH)
    with ends(InputError, "hosts 'north' and 'south' have different columns"):
        play(make_settings(), tables)


def spoil(table: Table, what: str) -> Table:
    features, labels = np.array(table.features), table.labels
    if what == "sparse":
        from scipy.sparse import csr_array

        return Table(csr_array(features), labels, table.feature_names, table.name)
    if what == "no labels":
        labels = None
    if what == "nine rows":
        features, labels = features[:9], np.asarray(labels)[:9]
    if what == "no column":
        return Table(features[:, :0], labels, (), table.name)
    if what == "NaN":
        features[3, 1] = np.nan
    if what == "huge":
        features[3, 1] = 2.0**40
    if what == "a stranger":
        labels = np.asarray(labels) + 5
    return Table(features, labels, table.feature_names, table.name)


@pytest.mark.parametrize(
    ("what", "match"),
    [
        ("sparse", "sparse rows"),
        ("no labels", "south has no labels"),
        ("nine rows", "at least one column and 10 rows"),
        ("no column", "at least one column and 10 rows"),
        ("NaN", "x1"),
        ("huge", "magnitudes below 2\\^40"),
        ("a stranger", "none of the classes"),
    ],
)
def test_rows_that_cannot_be_trained_on_leave_nothing(what: str, match: str) -> None:
    sent: list[str] = []

    def listen(by: str, whom: str, name: str, message: Any) -> Any:
        sent.append(by)
        return message

    tables = make_tables(SEED)
    tables[SOUTH] = spoil(tables[SOUTH], what)
    with ends(InputError, match):
        play(make_settings(), tables, tamper=listen)
    assert SOUTH not in sent


@pytest.mark.parametrize(
    ("training", "match"),
    [
        ({"learning_rate": 50.0, "momentum": 0.0}, "would blow the weights up"),
        (
            {"learning_rate": 9.0, "momentum": 0.0, "batch_rows": 0, "rounds": 80},
            "a weight of the trained model is too",
        ),
    ],
)
def test_training_that_diverges_is_refused_with_its_cure(training: dict[str, Any], match: str) -> None:
    with ends(DivergedError, f"{match}.*lower training.learning_rate"):
        play(make_settings(training=training), make_tables(SEED))


@pytest.mark.parametrize("sign", [-1, 1])
def test_an_owner_takes_weights_below_the_room_and_no_others(sign: int) -> None:
    facts = ModelFacts(("x",), Moments(9, np.zeros(1), np.ones(1)))
    largest = sign * np.array([[(1 << 48) - 1], [0]])
    assert abs(facts.own(from_integers(largest), 1, make_settings()).weights[0, 0]) == 2.0**16 - 2.0**-32
    with pytest.raises(DivergedError, match="a weight of the trained model"):
        facts.own(from_integers(largest + np.array([[sign], [0]])), 1, make_settings())


def test_errors_hold_no_value() -> None:
    tables = make_tables(SEED)
    features = np.array(tables[SOUTH].features)
    features[0, 0] = 7e12 + 0.25
    tables[SOUTH] = Table(features, tables[SOUTH].labels, tables[SOUTH].feature_names, SOUTH)
    with pytest.raises(HekatError) as caught:
        play(make_settings(), tables)
    assert "7000000000000" not in str(caught.value)
    assert "7e+12" not in str(caught.value)
