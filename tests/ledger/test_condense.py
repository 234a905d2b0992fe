"""Rows of an audit put together: nothing is lost of counts, bytes, peers and steps, and a "…" means what it says."""

from __future__ import annotations

from hekat.ledger.condense import condense
from hekat.ledger.disclosed import Disclosed

SUMS = ("standardise/mean", "round-*/exponents", "round-*")


def row(step: str, *, peer: str = "a", kind: str = "k", field: str = "f", cls: str = "public", text: str = "", n=1):
    return Disclosed(peer, step, kind, field, cls, text, n, 10 * n)


def test_the_same_from_several_peers_in_several_sums_is_one_row() -> None:
    rows = [row(f"{sum_}/upload-*/share", peer=peer, n=2) for sum_ in SUMS for peer in ("b", "a")]
    condensed = condense(rows)
    (only,) = condensed.rows
    assert (only.peers, only.steps, only.fields) == (("b", "a"), ("…/upload-*/share",), ("f",))
    assert (only.message_count, only.byte_count) == (12, 120)
    assert condensed.spread == SUMS


def test_fields_of_one_message_count_once() -> None:
    condensed = condense([row("ready", field=field, n=3) for field in ("x", "y")])
    (only,) = condensed.rows
    assert (only.fields, only.message_count, only.byte_count) == (("x", "y"), 3, 60)
    assert (only.steps, condensed.spread) == (("ready",), ())


def test_what_tells_something_else_stays_apart() -> None:
    rows = [
        row("ready", text="names"),
        row("ready", text="digest"),
        row("ready", cls="disclosed", text="names"),
        row("ready", kind="other", text="names"),
    ]
    assert len(condense(rows).rows) == 4


def test_a_group_that_lacks_a_step_names_its_own() -> None:
    """Where a "…" would say more than was, steps are written out."""
    rows = [row(f"{sum_}/begin", kind="begin") for sum_ in SUMS]
    rows += [row(f"{sum_}/end", kind="end") for sum_ in SUMS[:2]]
    first, second = condense(rows).rows
    assert first.steps == ("…/begin",)
    assert second.steps == ("standardise/mean/end", "round-*/exponents/end")


def test_steps_without_a_common_end() -> None:
    condensed = condense([row(step) for step in ("x/a", "x/b", "x/c")])
    assert condensed.rows[0].steps == ("x/a", "x/b", "x/c")
    assert condensed.spread == ()
    condensed = condense([row(step) for step in ("sum", "x/sum", "y/sum")])
    assert condensed.rows[0].steps == ("sum", "x/sum", "y/sum")
    assert condense([]).rows == ()
