"""Whose updates are in each round's sum, read from the aggregator's ledger."""

from __future__ import annotations

from pathlib import Path

from hekat.channel import PartyKey
from hekat.ledger import Ledger
from hekat.ledger.recorded_channel import EXPEL_STEP
from hekat.summary.horizontal.aggregator_view import Included, view_of_aggregator

KEY = PartyKey.generate()
ALL = ("a", "b", "c", "d")


class Aggregator:
    """Writes an aggregator's ledger, upload by upload."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ledger = Ledger(path, "hub", KEY, bytes(32))
        self.number = 0

    def add(self, step: str, *parties: str, given_up: str = "", states: bool = True) -> None:
        leg = f"{step}/upload-{self.number}"
        self.number += 1
        for party in parties:
            self.ledger.record("received", party, f"{leg}/statement", "horizontal/statement", [], b"x")
            if party == given_up:
                self.ledger.note(EXPEL_STEP, f"gave up on {party!r}", "public")
        for party in parties if states else ():
            self.ledger.record("sent", party, f"{leg}/included", "horizontal/included", [], b"x")

    def included(self) -> tuple[Included, ...]:
        self.ledger.close()
        return view_of_aggregator(self.path, KEY.public).included


def test_rounds_with_the_same_parties_are_one_entry(tmp_path) -> None:
    hub = Aggregator(tmp_path / "hub.jsonl")
    hub.add("standardise/mean", *ALL)
    hub.add("round-1/exponents", *ALL)
    for number in (1, 2):
        hub.add(f"round-{number}", *ALL)
    for number in (3, 4, 5):
        hub.add(f"round-{number}", "a", "c", "d")
    assert hub.included() == (Included(1, 2, ALL), Included(3, 5, ("a", "c", "d")))


def test_a_statement_that_did_not_hold_is_not_in_the_sum(tmp_path) -> None:
    """The aggregator gave up on the party over it, before it stated whose updates are in."""
    hub = Aggregator(tmp_path / "hub.jsonl")
    hub.add("round-1", *ALL, given_up="b")
    assert hub.included() == (Included(1, 1, ("a", "c", "d")),)


def test_the_last_upload_of_a_round_counts(tmp_path) -> None:
    hub = Aggregator(tmp_path / "hub.jsonl")
    hub.add("round-1", *ALL)
    hub.add("round-1", "a", "b", "c")
    hub.add("round-2", "a", "b", "c", states=False)
    assert hub.included() == (Included(1, 1, ("a", "b", "c")),)


def test_a_resumed_run_begins_where_it_begins(tmp_path) -> None:
    hub = Aggregator(tmp_path / "hub.jsonl")
    for number in (10, 11):
        hub.add(f"round-{number}", *ALL)
    assert hub.included() == (Included(10, 11, ALL),)


def test_an_update_that_is_not_masked_is_in_the_sum_it_came_for(tmp_path) -> None:
    """That of exponents is another sum, and what is sent is no update."""
    hub = Aggregator(tmp_path / "hub.jsonl")
    for step, parties in (
        ("standardise/mean", "abc"),
        ("round-1/exponents", "ab"),
        ("round-1", "ab"),
        ("round-2", "ca"),
    ):
        for party in parties:
            hub.ledger.record("received", party, f"{step}/update", "horizontal/update", [], b"x")
        hub.ledger.record("sent", "b", f"{step}/sum", "horizontal/sum", [], b"x")
    assert hub.included() == (Included(1, 1, ("a", "b")), Included(2, 2, ("c", "a")))
