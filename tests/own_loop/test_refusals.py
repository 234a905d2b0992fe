"""What an engineer meets: refusals name party, tensor and round, come before anything leaves, and hang nobody."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hekat.atomic_file import overwrite_file, replace_file
from hekat.errors import InputError, PolicyError, ProtocolError
from hekat.own_loop import Party, federate
from hekat.protocol.secure_sum.masked.opening import release_record
from hekat.state import counter

from .conftest import THREE


def _state(party: Party, **others):
    return {"w": np.full(3, 1.0 + THREE.index(party.name), np.float32), **others}


@pytest.mark.quick_values
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda values: np.append(values, np.nan), r"party lake: tensor 'w' holds NaN or infinity in round 2"),
        (lambda values: np.append(values, -np.inf), r"party lake: tensor 'w' holds NaN or infinity in round 2"),
        (lambda values: values + 2.0**41, r"party lake: the update of tensor 'w' explodes in round 2"),
    ],
    ids=["nan", "infinity", "explosion"],
)
@pytest.mark.parametrize("protection", ["lattice", "none"])
def test_bad_values_are_named_before_anything_leaves(spoil, message, protection, play_with, tmp_path: Path) -> None:
    def code(party: Party):
        state = party.aggregate(_state(party), weight=1)
        if party.name == "lake":
            state["w"] = spoil(state["w"])[-3:]
        return party.aggregate(state, weight=1)

    with pytest.raises(InputError, match=message) as raised:
        play_with(code, folder=tmp_path / "run", protection=protection)
    assert "raised at party lake" in raised.value.__notes__[0]
    sent = _sent_steps(tmp_path, "lake")
    assert "call-1" in sent
    assert "call-2" not in sent
    assert not _sent_of_round_2(tmp_path, "lake")


def _sent_of_round_2(folder: Path, party: str) -> list[str]:
    """What left for it beside the dealing of a secret, which comes before the values are known."""
    dealing = ("/share", "/dealt", "/checked")
    return [step for step in _sent_steps(folder, party) if step.startswith("round-2") and not step.endswith(dealing)]


def _sent_steps(folder: Path, party: str) -> list[str]:
    lines = (folder / "run" / "ledger" / f"{party}.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    return [entry["step"] for entry in entries if entry.get("direction") == "sent"]


@pytest.mark.parametrize("weight", [0, -1, 1001, 2.0, True, np.float64(3)])
def test_weights_out_of_range_are_refused(weight, play_with) -> None:
    with pytest.raises(InputError, match=r"party north: the weight cannot be used in round 1.*1 to weight_max = 1000"):
        play_with(lambda party: party.aggregate(_state(party), weight=weight))


def test_a_weight_of_numpy_is_one(play_with) -> None:
    run = play_with(lambda party: party.aggregate(_state(party), weight=np.int64(7)))
    assert run.costs.rounds[0].weight_sum == 21


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"w": [1.0, 2.0]}, r"'w' cannot be averaged.*got list"),
        ({"w": 1.0}, r"'w' cannot be averaged.*got float"),
        ({"w": np.array(["a"])}, r"'w' cannot be averaged.*got dtype str"),
        ({"w": np.ma.masked_array([1.0])}, r"'w' cannot be averaged.*MaskedArray"),
        ({"w": np.ones((2, 2)).view(np.matrix)}, r"'w' cannot be averaged.*got matrix"),
        ({"w": np.zeros(2, complex)}, r"'w' cannot be averaged.*complex128"),
        ({"w": np.zeros(2, int)}, r"nothing to average"),
        ({}, r"nothing to average"),
        (np.zeros(3), r"no state to average.*got ndarray"),
    ],
    ids=["list", "number", "text", "masked", "matrix", "complex", "integers", "empty", "array"],
)
def test_states_that_are_none_are_refused(state, message, play_with) -> None:
    with pytest.raises(InputError, match=message):
        play_with(lambda party: party.aggregate(state, weight=1))


def test_a_pattern_without_a_match_is_refused(play_with) -> None:
    with pytest.raises(InputError, match=r"party north: the pattern 'lora_\*' matches no tensor.*such as w"):
        play_with(lambda party: party.aggregate(_state(party), weight=1, parameters=["w", "lora_*"]))


def test_a_refused_call_may_be_made_again(play_with) -> None:
    """Nothing has left: the party's code can mend its state and go on with the others."""

    def code(party: Party):
        state = _state(party)
        try:
            party.aggregate({"w": state["w"] * np.nan}, weight=1)
        except InputError:
            return party.aggregate(state, weight=1)["w"]

    for result in play_with(code).results.values():
        assert np.allclose(result, 2, atol=1e-3)


@pytest.mark.quick_values
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"w": np.zeros((3, 1), np.float32)},
            r"'w' \(north, lake: float32 \(3,\); county: float32 \(3, 1\)\)",
        ),
        ({"w": np.zeros(3, np.float64)}, r"'w' \(north, lake: float32 \(3,\); county: float64 \(3,\)\)"),
        ({"v": np.zeros(1, np.float32)}, r"'v' \(north, lake: absent, or not averaged; county: float32 \(1,\)\)"),
    ],
    ids=["shape", "dtype", "name"],
)
@pytest.mark.parametrize("protection", ["lattice", "none"])
def test_tensors_that_differ_are_found_before_any_sum_opens(change, message, protection, play_with, tmp_path) -> None:
    def code(party: Party):
        state = _state(party)
        party.aggregate(state, weight=1)
        return party.aggregate({**state, **change} if party.name == "county" else state, weight=1)

    with pytest.raises(ProtocolError, match=r"tensors differ between parties in round 2.*" + message):
        play_with(code, protection=protection, folder=tmp_path / "run")
    assert not _sent_of_round_2(tmp_path, "county")
    opened = [step for party in ("north", "lake") for step in _sent_steps(tmp_path, party) if step.endswith("/opened")]
    assert not [step for step in opened if step.startswith("round-2")]


def test_tied_weights_must_be_tied_everywhere(play_with) -> None:
    def code(party: Party):
        shared = np.ones(2)
        return party.aggregate({"a": shared, "b": shared if party.name != "lake" else shared.copy()}, weight=1)

    with pytest.raises(ProtocolError, match=r"'a' \(north, county: float64 \(2,\), shared with b; lake: float64"):
        play_with(code)


@pytest.mark.parametrize("protection", ["lattice", "none"])
def test_a_party_with_fewer_rounds_is_named(protection, play_with) -> None:
    def code(party: Party):
        for _ in range(2 if party.name == "lake" else 3):
            party.aggregate(_state(party), weight=1)

    with pytest.raises(
        ProtocolError, match=r"north, county call aggregate for round 3; lake have ended after 2 rounds"
    ):
        play_with(code, protection=protection)


def test_a_party_that_compares_where_others_average_is_named(play_with) -> None:
    def code(party: Party):
        if party.name == "lake":
            party.check_same("words", 1)
        party.aggregate(_state(party), weight=1)

    with pytest.raises(ProtocolError, match=r"north, county call aggregate for round 1; lake compare 'words'"):
        play_with(code)


def test_what_a_party_raises_is_raised(play_with) -> None:
    """Three members bear no loss: the party's own exception comes out, with its place in the code."""

    def code(party: Party):
        state = party.aggregate(_state(party), weight=1)
        if party.name == "county":
            raise LookupError("no such loader")
        return party.aggregate(state, weight=1)

    with pytest.raises(LookupError, match="no such loader") as raised:
        play_with(code)
    assert "raised at party county" in raised.value.__notes__[0]
    assert any(entry.name == "code" for entry in raised.traceback)


def test_nothing_starts_with_settings_that_cannot_be(tmp_path: Path) -> None:
    def code(party: Party):
        pytest.fail("started")

    with pytest.raises(PolicyError, match="two parties"):
        federate(code, ["a", "b"])
    with pytest.raises(InputError, match=r"value_bits"):
        federate(code, THREE, value_bits=33)
    with pytest.raises(PolicyError, match="also a party"):
        federate(code, ["a", "b", "aggregator"])
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        federate(code, THREE, folder=tmp_path)


def test_protection_none_is_loud(play_with, caplog) -> None:
    run = play_with(lambda party: party.aggregate(_state(party), weight=1), protection="none")
    assert [record.levelname for record in caplog.records if "PROTECTION IS NONE" in record.getMessage()] == ["WARNING"]
    assert "PROTECTION IS NONE" in str(run)


@pytest.mark.sealed
def test_a_run_is_audited(play_with, tmp_path: Path, capsys) -> None:
    from hekat.cli.main import main

    folder = tmp_path / "run"

    def code(party: Party):
        party.check_same("vocabulary", ["a", "b"])
        return party.aggregate(_state(party), weight=1)

    run = play_with(code, folder=folder)
    assert str(folder) in str(run)
    assert main(["audit", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "loop/call" in told
    assert "stopped" not in told
    assert sorted(path.name for path in folder.iterdir()) == ["costs.json", "ledger", "parties.json", "state"]


@pytest.mark.sealed
@pytest.mark.parametrize("keeps", [True, False])
def test_upload_numbers_outlast_a_crash_where_they_are_kept(keeps, play_with, tmp_path: Path, monkeypatch) -> None:
    """Without a folder they are of keys that end with the process: nobody waits for the disk."""
    written: dict[str, set[str]] = {}
    for write in (replace_file, overwrite_file):

        def noted(path: Path, data: bytes, write=write) -> None:
            written.setdefault(f"{path.parent.name}/{path.name}", set()).add(write.__name__)
            write(path, data)

        for module in (counter, release_record):
            monkeypatch.setattr(module, write.__name__, noted)
    play_with(lambda party: party.aggregate(_state(party), weight=1), folder=tmp_path / "run" if keeps else None)
    numbers = {f"{party}/{name}" for party in THREE for name in ("uploads.counter", "releases.record")}
    assert written == {name: {"replace_file" if keeps else "overwrite_file"} for name in numbers}
