"""What cannot be is refused by name with a cure, and no mistake of one party's loop lets the others wait."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.errors import BoundError, HekatError, InputError, PolicyError, ProtocolError
from hekat.job.granted_budgets import site_budgets
from hekat.ledger.privacy.records import WAIVED
from hekat.own_loop import SplitGuest, SplitHost
from hekat.own_loop.private.loop_budgets import LoopBudgets

from .plain_loops import FEATURES, UNITS, WIDTH, play, train_guest, train_host

CALLS = itertools.count()


def _generator(party: Any):
    yield party.name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("row_count", value) for value in (0, -1, 1.5, "5", True)],
        *[("host_widths", value) for value in (0, 257, "2", {"lab": 2, "other": 2}, {}, None)],
        *[("column_leak_accepted", value) for value in (None, "yes", True)],
        *[("label_leak_accepted", value) for value in (None, "yes")],
        *[("slope_leak_accepted", value) for value in (None, "yes")],
        *[("host_bottom", value) for value in ("source", "", None)],
        *[("units", value) for value in (0, 257, "3", None)],
        *[("epochs", value) for value in (0, 1.0, None)],
        *[("batch_rows", value) for value in (0, 2**15, "5")],
        *[("shared_optimiser", value) for value in ("adam", None)],
        *[("shared_rate", value) for value in (-1.0, 9.0, 1e-9, float("nan"), "0.1")],
        *[("momentum", value) for value in (-0.1, 1.0, None)],
        *[("l2", value) for value in (-1.0, 2.0)],
        *[("seed", value) for value in (-1, None)],
        *[("guest", value) for value in (5, "lab")],
        *[("protection", value) for value in ("paillier", "plain")],
        *[("folder", value) for value in (5, "")],
        *[("resume", value) for value in (5, "")],
        *[("budgets", value) for value in (5, {"lab": 1.0})],
        ("progress", "no"),
    ],
)
def test_an_argument_that_cannot_be_is_named(name: str, value: Any) -> None:
    def not_to_start(party: Any) -> None:
        pytest.fail("started")

    arguments = {"host_bottom": "trained", "epochs": 1, name: value}
    with pytest.raises(HekatError, match=rf"^(argument )?{name}\b") as raised:
        play(not_to_start, {"lab": not_to_start}, **arguments)
    assert raised.value.cure
    assert "job" not in str(raised.value)


@pytest.mark.parametrize("hosts", [None, {}, {"lab": 5}, {"lab": _generator}, {5: train_host}, [train_host]])
def test_hosts_that_cannot_be_are_named(hosts: Any) -> None:
    with pytest.raises(InputError, match=r"hekat\.federate_split refused"):
        play(train_guest, hosts)
    with pytest.raises(InputError, match=r"argument train_at_guest of hekat\.federate_split refused"):
        play(None, {"lab": train_host})  # type: ignore[arg-type]


def _budgets(place: Path, *, waived: bool, party: str = "lab") -> LoopBudgets:
    grant = f"[party.{party}]\nstate = 'state'\n[party.{party}.privacy]\ndata_set = 'visits'\n"
    policy = f"[policy]\nbudget_waiver = {str(waived).lower()}\n"
    (place / "site.toml").write_text(f"format = 1\n{policy}{grant}epsilon = 8.0\ndelta = 1e-6\n")
    return site_budgets(place / "site.toml")


def test_rows_with_a_privacy_budget_are_refused_before_anything_starts(tmp_path: Path) -> None:
    def not_to_start(party: Any) -> None:
        pytest.fail("started")

    folder = tmp_path / "run"
    with pytest.raises(
        PolicyError, match="the rows of lab have a privacy budget, and a split network has no"
    ) as refused:
        play(not_to_start, {"lab": not_to_start}, budgets=_budgets(tmp_path, waived=False), folder=folder)
    assert refused.value.cure
    assert not folder.exists()
    with pytest.raises(InputError, match=r"argument budgets of hekat\.federate_split refused"):
        play(not_to_start, {"lab": not_to_start}, budgets=_budgets(tmp_path, waived=True, party="stranger"))


def test_a_waived_budget_stands_in_notes_and_the_party_s_ledger(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    budgets = _budgets(tmp_path, waived=True)
    found = play(train_guest, {"lab": train_host}, budgets=budgets, folder=folder, epochs=1)
    assert sum("BUDGET WAIVED at lab" in note for note in found.notes) == 1
    ledgers = {path.stem: path.read_text() for path in (folder / "ledger").glob("*.jsonl")}
    assert [party for party, text in ledgers.items() if WAIVED in text] == ["lab"]


def _with_features(change: Callable[[Any], Any]) -> Callable[[SplitHost], None]:
    def code(party: SplitHost) -> None:
        for _ in party.epochs():
            for rows in party.batches():
                party.forward(change(FEATURES[party.name][rows]))
                party.backward()

    return code


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (lambda rows: rows[:, :1], InputError, r"party lab: features .*\(5, 2\).*\(5, 1\).*host_widths"),
        (lambda rows: rows[1:], InputError, r"party lab: features .*\(5, 2\).*\(4, 2\).*batches"),
        (lambda rows: rows[0], InputError, r"party lab: features .*shape \(2,\)"),
        (lambda rows: rows * np.nan, InputError, "party lab: features .*NaN or infinity in 10 of 10"),
        (lambda rows: rows.astype(int), InputError, "party lab: features .*dtype int64"),
        (lambda rows: rows.tolist(), InputError, "party lab: features .*list"),
        (lambda rows: np.ma.masked_array(rows), InputError, "party lab: features .*MaskedArray|dtype"),
        (lambda rows: rows * 0 + 9.0, BoundError, "features of lab lie beyond their range.*10 of 10"),
        (
            lambda rows: rows + next(CALLS) / 64,
            InputError,
            "batch 1 comes with other features",
        ),
    ],
)
def test_features_that_cannot_be_end_the_run_by_name(change: Any, kind: type[HekatError], words: str) -> None:
    with pytest.raises(kind, match=f"(?s){words}"):
        play(train_guest, {"lab": _with_features(change)})


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (lambda dz: dz[:, 1:], InputError, r"party guest: dz .*\(5, 3\).*\(5, 2\).*units"),
        (lambda dz: dz * np.inf, InputError, "party guest: dz .*NaN or infinity"),
        (lambda dz: None, InputError, "party guest: there is no slope of z.*z.grad"),
        (lambda dz: dz + 2.0, BoundError, "party guest: dz .*beyond its range.*mean over rows"),
    ],
)
def test_slopes_that_cannot_be_end_the_run_by_name(change: Any, kind: type[HekatError], words: str) -> None:
    def guest(party: SplitGuest) -> None:
        for _ in party.epochs():
            for _ in party.batches():
                party.backward(change(np.ones_like(party.forward())))

    with np.errstate(invalid="ignore"), pytest.raises(kind, match=f"(?s){words}"):
        play(guest, {"lab": train_host})


def test_what_was_refused_before_anything_left_may_be_given_again() -> None:
    def host(party: SplitHost) -> None:
        for _ in party.epochs():
            for rows in party.batches():
                with pytest.raises(InputError):
                    party.forward(FEATURES[party.name][rows] * np.nan)
                party.forward(FEATURES[party.name][rows])
                party.backward()

    assert play(train_guest, {"lab": host}).results["guest"] == [1, 2, 3]


def _in_first_batch(*calls: str) -> Callable[[Any], None]:
    """Calls in the first batch, at guest or host."""

    def code(party: Any) -> None:
        is_guest = isinstance(party, SplitGuest)
        for _ in party.epochs():
            for rows in party.batches():
                for call in calls:
                    if call == "backward":
                        party.backward(np.zeros((len(rows), UNITS))) if is_guest else party.backward()
                    elif is_guest:
                        getattr(party, call)(np.zeros((len(rows), UNITS)))
                    else:
                        getattr(party, call)(FEATURES[party.name][rows])

    return code


@pytest.mark.parametrize("at", ["guest", "lab"])
@pytest.mark.parametrize(
    ("calls", "words"),
    [
        (("backward",), "backward out of order.*once after each forward.*waits for forward"),
        (("forward", "forward"), "forward out of order.*waits for backward"),
        (("forward", "backward", "backward"), "backward out of order.*after backward of batch 1"),
        (("forward", "evaluate"), "evaluate out of order.*waits for backward"),
        (("forward",), "the end of batch 1 of epoch 1 out of order.*no backward"),
        ((), "the end of batch 1 of epoch 1 out of order.*no forward"),
    ],
)
def test_calls_out_of_order_end_the_run_by_name(at: str, calls: tuple[str, ...], words: str) -> None:
    codes = {"guest": train_guest, "lab": train_host, at: _in_first_batch(*calls)}
    with pytest.raises(ProtocolError, match=f"(?s)party {at}: {words}") as raised:
        play(codes.pop("guest"), codes)
    assert "one forward and then one backward" in raised.value.cure


def _skip_batches(party: Any) -> None:
    for _ in party.epochs():
        pass


def _batches_twice(party: Any) -> None:
    for _ in party.epochs():
        for _ in party.batches():
            break
        for _ in party.batches():
            pass


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (lambda party: next(party.batches()), "batches out of order.*in none"),
        (_batches_twice, "batches out of order.*again"),
        (_skip_batches, "the end of epoch 1 out of order.*0 of 2 batches"),
        (lambda party: party.backward(), "backward out of order.*no batch out"),
        (lambda party: [train_host(party), next(party.epochs())], "epochs out of order.*again"),
    ],
)
def test_epochs_and_batches_out_of_order_end_the_run_by_name(code: Any, words: str) -> None:
    with pytest.raises(ProtocolError, match=f"(?s)party lab: {words}"):
        play(train_guest, {"lab": code})


def test_stop_is_for_epochs() -> None:
    with pytest.raises(ProtocolError, match="party guest: stop out of order"):
        play(lambda party: party.stop(), {"lab": train_host})


def _end_in_batch(party: Any) -> None:
    for _ in party.epochs():
        for rows in party.batches():
            party.forward(FEATURES["lab"][rows] if party.name == "lab" else np.zeros((len(rows), UNITS)))
            return


def _end_after_a_batch(party: Any) -> None:
    for _ in party.epochs():
        for rows in party.batches():
            party.forward(FEATURES[party.name][rows])
            party.backward()
            return


@pytest.mark.parametrize(
    ("guest", "lab", "words"),
    [
        (train_guest, lambda party: None, "guest calls forward for the 5 rows of batch 1.*lab has ended"),
        (lambda party: None, train_host, "guest has ended.*lab calls forward for the 5 rows of batch 1 in epoch 1"),
        (train_guest, _end_after_a_batch, "batch 2 in epoch 1.*lab has ended in epoch 1"),
        (
            lambda party: party.evaluate(row_count=3),
            lambda party: party.evaluate(np.zeros((4, WIDTH))),
            "calls evaluate for 3 rows.*lab calls evaluate for 4 rows",
        ),
        (lambda party: party.evaluate(row_count=3), train_host, "guest calls evaluate for 3.*lab calls forward"),
        (
            train_guest,
            lambda party: [train_host(party), party.evaluate(np.zeros((4, WIDTH)))],
            "guest has ended.*lab calls evaluate",
        ),
    ],
)
def test_parties_that_call_for_different_things_are_named(guest: Any, lab: Any, words: str) -> None:
    with pytest.raises(ProtocolError, match=f"(?s)lab does not call for the same as guest.*{words}"):
        play(guest, {"lab": lab, "shop": train_host} if guest is train_guest else {"lab": lab})


@pytest.mark.parametrize("at", ["guest", "lab"])
def test_a_party_that_ends_in_the_middle_of_a_batch_is_named(at: str) -> None:
    codes = {"guest": train_guest, "lab": train_host, at: _end_in_batch}
    with pytest.raises(ProtocolError, match=f"party {at}: the end of batch 1 of epoch 1 out of order"):
        play(codes.pop("guest"), codes)


@pytest.mark.parametrize("at", ["guest", "lab", "shop"])
def test_what_a_party_raises_is_raised(at: str) -> None:
    def code(party: Any) -> None:
        for _ in party.epochs():
            raise ZeroDivisionError("own")

    codes: dict[str, Any] = {"guest": train_guest, "lab": train_host, "shop": train_host, at: code}
    with pytest.raises(ZeroDivisionError, match="own") as raised:
        play(codes.pop("guest"), codes)
    assert any(f"raised at party {at}" in note for note in raised.value.__notes__)


def test_after_the_run_and_for_other_parties_nothing_can_be_called() -> None:
    kept: list[Any] = []

    def guest(party: SplitGuest) -> None:
        kept.append(party)
        train_guest(party)

    play(guest, {"lab": train_host})
    with pytest.raises(ProtocolError, match=r"party guest cannot be called from here.*hekat\.federate_split"):
        kept[0].evaluate(row_count=1)


@pytest.mark.parametrize("row_count", [None, 0, True, 2.0])
def test_rows_to_evaluate_are_counted(row_count: Any) -> None:
    with pytest.raises(InputError, match="party guest: rows to evaluate"):
        play(lambda party: party.evaluate(row_count=row_count), {"lab": train_host})


def test_a_host_evaluates_rows() -> None:
    with pytest.raises(InputError, match=r"party lab: features .*\(rows, 2\).*\(0, 2\)"):
        play(lambda party: party.evaluate(row_count=1), {"lab": lambda party: party.evaluate(np.zeros((0, WIDTH)))})


def test_evaluations_are_counted_in_the_odds_of_the_run(monkeypatch) -> None:
    from hekat.own_loop.split import party as module

    monkeypatch.setattr(module, "run_bits", lambda settings, widths, steps, rows: 33.0 - (steps - 3 * 3 - 1))

    def code(party: Any) -> None:
        for _ in range(5):
            party.evaluate(**({"row_count": 1} if party.name == "guest" else {"features": np.zeros((1, WIDTH))}))

    with pytest.raises(BoundError, match=r"no more rows can be evaluated.*call 3 of evaluate.*more rows in one call"):
        play(code, {"lab": code})
