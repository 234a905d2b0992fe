"""How the aggregator learns which sum follows: parties find out how many levels a tree has, and when bins are found."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest
from tests.protocol.horizontal_trees.trees_rehearsal import AGGREGATOR, FINE, Rehearsal, make_settings, make_tables

from hekat.errors import PartyStoppedError, ProtocolError
from hekat.protocol.horizontal_trees.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.secure_sum.masked.messages import UploadMessage
from hekat.protocol.secure_sum.masked.party import MaskedAggregation
from hekat.protocol.secure_sum.party_side import PartySide
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import SecretKey

PARTIES = ("a", "b", "c", "d")
ROWS = (60, 50, 70, 40)
FIRST_LEVEL, SECOND_LEVEL, LEAVES = "tree-1/level-0", "tree-1/level-1", "tree-1/leaves"


def rehearse(protection: str, **others) -> Rehearsal:
    settings = make_settings(protection=protection, parties=PARTIES, **others)
    return Rehearsal(settings, make_tables(2, rows=ROWS))


def steps_of(run: Rehearsal) -> list[str]:
    """The steps of the first party's messages to the aggregator."""
    ledger = run.sessions["a"].ledger
    assert ledger is not None
    lines = map(json.loads, ledger.data.decode().splitlines())
    return [line["step"] for line in lines if line.get("direction") == "sent" and line["peer"] == AGGREGATOR]


@pytest.mark.long_cases("lattice")
@pytest.mark.sealed
@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_the_sums_of_a_tree_are_compared_by_what_comes_next(protection) -> None:
    """Under `lattice` by the next upload, which names its sum and is masked under what its party holds."""
    run = rehearse(protection)
    run.run()
    steps = steps_of(run)
    levels = [step for step in steps if step.startswith("tree-1/level-") and step.endswith("/end")]
    cells = [step for step in steps if step.startswith("start/c") and step.endswith("/end")]
    if protection == "none":
        assert len(levels) == FINE.max_depth
        assert cells
    else:
        assert levels == cells == []
        assert steps.count("tree-1/further") == FINE.max_depth
    assert f"{LEAVES}/end" in steps


@pytest.mark.long
@pytest.mark.sealed
def test_without_shared_secrets_the_levels_end_by_themselves() -> None:
    run = rehearse("lattice", opening="shared")
    run.run()
    assert f"{FIRST_LEVEL}/end" in steps_of(run)


def test_a_party_that_uploads_for_another_sum_than_the_others_ends_the_run_by_name(monkeypatch) -> None:
    send = MaskedAggregation._send

    def lie(self, name, message):
        is_lie = isinstance(message, UploadMessage) and (self._channel.party, message.step) == ("d", SECOND_LEVEL)
        return send(self, name, replace(message, step=LEAVES) if is_lie else message)

    monkeypatch.setattr(MaskedAggregation, "_send", lie)
    with pytest.raises(PartyStoppedError, match=r"lost: d \(in tree-1 it uploads for another sum"):
        rehearse("lattice").run()


def test_in_the_clear_who_says_that_no_level_follows_ends_the_run_by_name(monkeypatch) -> None:
    tell = PartySide._tell_end

    def lie(self, step, digest, is_last):
        tell(self, step, digest, is_last or (self._channel.party == "d" and step == FIRST_LEVEL))

    monkeypatch.setattr(PartySide, "_tell_end", lie)
    with pytest.raises(PartyStoppedError, match=r"different models after tree-1/level-0.* a, b, c \| d"):
        rehearse("none").run()


@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_parties_that_grow_deeper_trees_than_the_aggregators_job_says_end_the_run(protection) -> None:
    run = rehearse(protection)
    shallow = replace(run.settings, training=replace(FINE, max_depth=1))
    run.stand_ins = {AGGREGATOR: lambda channel: run_aggregator(channel, shallow, AggregatorRun(Stopwatch()))}
    with pytest.raises(PartyStoppedError) as stopped:
        run.run()
    assert isinstance(stopped.value.__cause__, ProtocolError)
    expected = "go on after tree-1/level-0" if protection == "none" else "an upload for another sum"
    assert expected in str(stopped.value)


@pytest.mark.long
def test_the_secrets_of_a_tree_end_before_its_last_message(monkeypatch) -> None:
    made: dict[int, list[SecretKey]] = {}
    make, tell, left = SecretKey._begin, PartySide._tell_end, {}

    def make_and_keep(self, *others):
        make(self, *others)
        made.setdefault(threading.get_ident(), []).append(self)

    def tell_and_look(self, step, digest, is_last):
        own = made[threading.get_ident()]
        left[self._channel.party, step] = any(one.coefficients.any() or one._transformed for one in own)
        tell(self, step, digest, is_last)

    monkeypatch.setattr(SecretKey, "_begin", make_and_keep)
    monkeypatch.setattr(PartySide, "_tell_end", tell_and_look)
    rehearse("lattice").run()
    assert left == {(party, f"tree-{number}/leaves"): False for party in PARTIES for number in (1, 2)}
