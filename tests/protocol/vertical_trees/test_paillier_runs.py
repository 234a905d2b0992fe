"""Whole trainings under Paillier: the plain trees, rows encrypted once a tree, one proven key for a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from tests.protocol.vertical_trees.rehearsal import GUEST, Rehearsal, make_settings, make_tables, train_in_the_clear
from tests.protocol.vertical_trees.test_vertical_trees_runs import assert_same_trees

from hekat.errors import KeyRefusedError, PartyStoppedError, ProtocolError
from hekat.protocol.vertical_trees.messages import GradientsMessage, LevelMessage, SumsMessage
from hekat.scheme.paillier import Ciphertexts, PublicKey, multiply_plain
from hekat.wire import from_bytes, to_bytes
from hekat.wire.paillier import ciphertext_bytes, written_ciphertexts_bytes

pytestmark = pytest.mark.filterwarnings("ignore::hekat.scheme.paillier.KeySizeWarning")
ROWS, BITS = 150, 2048


def paillier_settings(hosts: int = 1, task: str = "binary", **changes: Any) -> Any:
    return make_settings(hosts, task, protection="paillier", key_bits=BITS, **changes)


@pytest.mark.quick_cases(
    "multiclass-columns6-changes6",
    "binary-columns0-changes0",
    "regression-columns3-changes3",
    "regression-columns2-changes2",
)
@pytest.mark.parametrize(
    ("task", "columns", "changes"),
    [
        ("binary", (3, 3), {}),
        ("binary", (2, 2, 3), {"training": {"subsample": 0.7, "max_depth": 4}}),
        ("regression", (0, 4), {}),
        ("regression", (2, 2), {"training": {"gradient_bits": 30}}),
        ("multiclass", (1, 3, 2), {}),
        ("binary", (2, 3, 2), {"hide_partition": True}),
        ("multiclass", (2, 2), {"hide_partition": True, "training": {"max_iter": 2, "gradient_bits": 16}}),
    ],
)
def test_trees_are_the_plain_ones(task: str, columns: tuple[int, ...], changes: dict[str, Any]) -> None:
    tables = make_tables(1, ROWS, columns, task=task, missing=0.1)
    settings = paillier_settings(len(columns) - 1, task, **changes)
    assert_same_trees(Rehearsal(settings, tables).run(), train_in_the_clear(tables, settings))


@pytest.mark.parametrize(("task", "trees"), [("binary", 1), ("multiclass", 3)])
def test_rows_are_encrypted_once_a_tree(task: str, trees: int) -> None:
    run = Rehearsal(paillier_settings(1, task), make_tables(1, ROWS, (2, 3), task=task))
    run.run()
    sizes: Counter[str] = Counter()
    for _, step, message in run.sent[GUEST]:
        if isinstance(message, GradientsMessage):
            sizes[step] += len(message.values)
    at_root = {step: size for step, size in sizes.items() if "level-0" in step}
    assert len(at_root) == run.settings.training.max_iter
    assert set(at_root.values()) == {written_ciphertexts_bytes(BITS, trees * ROWS)}
    assert not any(size for step, size in sizes.items() if step not in at_root)
    answers = [len(message.values) for _, _, message in run.sent["shop"] if isinstance(message, SumsMessage)]
    # 3 columns of up to 8 bins in nodes of up to 3 levels: one or a few ciphertexts each.
    assert 0 < max(answers) <= written_ciphertexts_bytes(BITS, 5)


def test_one_key_serves_a_run() -> None:
    run = Rehearsal(paillier_settings(2), make_tables(1, ROWS, (1, 2, 2)))
    run.run()
    for host in run.settings.hosts:
        levels = [message for to, _, message in run.sent[GUEST] if to == host and isinstance(message, LevelMessage)]
        keys = [message.public_key for message in levels if message.public_key]
        assert len(keys) == 1
        assert levels[0].public_key == keys[0]
        key = from_bytes(keys[0], PublicKey)
        assert (key.bits, ciphertext_bytes(key)) == (BITS, BITS // 4)
        assert any(key.fingerprint[:8] in note and "shown to be sound" in note for note in run.notes[host])
    assert "made a Paillier key of 2048 bits and keeps it" in run.notes[GUEST]


def stopped(tamper: Any) -> BaseException:
    run = Rehearsal(paillier_settings(), make_tables(1, ROWS, (1, 2)), tamper=tamper)
    with pytest.raises(PartyStoppedError) as stop:
        run.run()
    assert stop.value.__cause__ is not None
    return stop.value.__cause__


def test_a_host_computes_nothing_under_a_key_that_is_not_proven() -> None:
    def without_proof(sender: str, to: str, step: str, message: Any) -> Any:
        if isinstance(message, LevelMessage) and message.public_key:
            key = from_bytes(message.public_key, PublicKey)
            return replace(message, public_key=to_bytes(PublicKey._made(key.n, key.roots[::-1])))
        return message

    cause = stopped(without_proof)
    assert isinstance(cause, KeyRefusedError)
    assert "not shown to be sound" in str(cause)


def test_sums_that_cannot_be_name_the_host() -> None:
    """A host that shifts its answer: more than so many rows can have."""
    seen: dict[str, bytes] = {}

    def shift_answer(sender: str, to: str, step: str, message: Any) -> Any:
        if isinstance(message, LevelMessage) and message.public_key:
            seen["key"] = message.public_key
        if isinstance(message, SumsMessage) and message.values:
            key = from_bytes(seen["key"], PublicKey)
            sums = from_bytes(message.values, Ciphertexts, public_key=key)
            return SumsMessage(to_bytes(multiply_plain(sums, 1 << 300)))
        return message

    cause = stopped(shift_answer)
    assert isinstance(cause, ProtocolError)
    assert "shop sent sums that cannot be" in str(cause)
