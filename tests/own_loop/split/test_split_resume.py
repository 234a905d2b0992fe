"""A loop that stopped goes on from its folder as it would have gone on, and says why where it cannot."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError, ProtocolError, StateError
from hekat.own_loop import SplitGuest, SplitHost

from .plain_loops import FEATURES, ROWS, UNITS, play, show_weights

HOSTS = ("lab", "shop")
TARGETS = np.random.default_rng(8).uniform(-1, 1, (ROWS, UNITS))


def _guest(party: SplitGuest) -> Any:
    """A bias of its own beside the hosts' part; what all weights come to."""
    bias = party.kept.get("bias", np.zeros(UNITS))
    for _ in party.epochs():
        for rows in party.batches():
            z = party.forward(np.tile(bias, (len(rows), 1)))
            party.backward((z - TARGETS[rows]) / len(rows))
            bias = bias - 0.1 * (z - TARGETS[rows]).mean(0)
        show_weights(party)
        party.keep({"bias": bias, "epoch": np.array(party.epochs_done + 1)})
    return bias, show_weights(party)


def _host(party: SplitHost) -> int:
    scale = party.kept.get("scale", np.ones(1))
    for _ in party.epochs():
        for rows in party.batches():
            features = FEATURES[party.name][rows] * scale
            party.forward(features)
            scale = scale - 0.01 * np.sum(party.backward() * features)
        show_weights(party)
        party.keep({"scale": scale})
    show_weights(party)
    return party.epochs_done


def _play(hosts: dict[str, Any] | None = None, **others: Any) -> Any:
    usual = {"epochs": 4, "host_bottom": "trained", "shared_optimiser": "momentum"}
    return play(_guest, hosts or dict.fromkeys(HOSTS, _host), **(usual | others))


def _drop(folder: Path, *names: str) -> None:
    for name in names:
        (folder / "state" / f"{name}.npz").unlink()


def _results(run: Any) -> list[bytes]:
    return [np.asarray(one).tobytes() for one in run.results["guest"]]


@pytest.mark.parametrize("lost", [("guest",), ("guest", "lab", "shop"), ("shop",)])
def test_a_run_that_stopped_between_epochs_ends_bit_for_bit_as_the_whole_one(lost: tuple[str, ...], tmp_path) -> None:
    whole = _play(folder=tmp_path / "whole")
    _drop(tmp_path / "whole", *(f"{party}-epoch-4" for party in lost))
    again = _play(folder=tmp_path / "again", resume=tmp_path / "whole")
    assert _results(again) == _results(whole)
    assert again.results["lab"] == 4
    assert [cost.epoch for cost in again.costs.epochs] == [4]
    third = _play(resume=tmp_path / "again")
    assert _results(third) == _results(whole)
    assert not third.costs.epochs


@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_a_run_whose_code_broke_goes_on(protection: str, tmp_path) -> None:
    def breaks(party: SplitHost) -> int:
        for _ in party.epochs():
            for rows in party.batches():
                party.forward(FEATURES[party.name][rows])
                party.backward()
                if party.epochs_done == 2:
                    raise ZeroDivisionError
            show_weights(party)
        return 0

    kinds = {"protection": protection, "host_bottom": "frozen"}
    with pytest.raises(ZeroDivisionError):
        _play({"lab": breaks}, folder=tmp_path / "first", **kinds)
    assert (tmp_path / "first" / "state").stat().st_mode & 0o77 == 0

    def frozen(party: SplitHost) -> list[int]:
        epochs = []
        for epoch in party.epochs():
            epochs.append(epoch)
            for rows in party.batches():
                party.forward(FEATURES[party.name][rows])
                party.backward()
            show_weights(party)
        show_weights(party)
        return epochs

    run = _play({"lab": frozen}, resume=tmp_path / "first", **kinds)
    assert run.results["lab"] == [3, 4]
    assert any("lab had kept nothing" in note for note in run.notes)
    assert not any("guest had kept nothing" in note for note in run.notes)


def test_what_cannot_be_resumed_is_refused_before_anything_starts(tmp_path) -> None:
    with pytest.raises(StateError, match="nothing to resume") as raised:
        _play(resume=tmp_path)
    assert "ended an epoch" in raised.value.cure
    _play(folder=tmp_path / "run", epochs=2)
    for changed in ({"epochs": 3}, {"epochs": 2, "seed": 9}, {"epochs": 2, "batch_rows": 4}):
        with pytest.raises(InputError, match="a run with other arguments"):
            _play(resume=tmp_path / "run", **changed)
    with pytest.raises(InputError, match="is not empty"):
        _play(resume=tmp_path / "run", folder=tmp_path / "run", epochs=2)
    shutil.copy(tmp_path / "run" / "state" / "lab-epoch-2.npz", tmp_path / "kept")
    with (tmp_path / "run" / "state" / "lab-epoch-2.npz").open("r+b") as file:
        file.seek(900)
        file.write(b"\xff\x00\xff")
    with pytest.raises(StateError, match="damaged"):
        _play(resume=tmp_path / "run", epochs=2)
    _drop(tmp_path / "run", "lab-epoch-2", "shop-epoch-1")
    with pytest.raises(StateError, match="nothing to resume"):
        _play(resume=tmp_path / "run", epochs=2)


@pytest.mark.parametrize(
    ("state", "got"),
    [([1], "list"), ({3: np.zeros(1)}, "int"), ({"a": "text"}, "str"), ({"a": np.array(["x"])}, "ndarray")],
)
def test_what_cannot_be_kept_is_named(state: Any, got: str) -> None:
    def code(party: SplitGuest) -> None:
        for _ in party.epochs():
            party.keep(state)

    with pytest.raises(InputError, match=f"party guest: what it gave cannot be kept.*got {got}"):
        play(code, {"lab": _host})


def test_tensors_are_kept_as_arrays(tmp_path) -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")
    seen: list[Any] = []

    def host(party: SplitHost) -> None:
        seen.append(party.kept)
        for _ in party.epochs():
            for rows in party.batches():
                party.forward(FEATURES["lab"][rows])
                party.backward()
            weight = torch.full((2,), 3.0, requires_grad=True)
            party.keep({"weight": weight})
            with torch.no_grad():
                weight += 1  # a copy was kept
            show_weights(party)
        show_weights(party)

    for where in ({"folder": tmp_path / "run"}, {"resume": tmp_path / "run"}):
        _play({"lab": host}, host_bottom="frozen", **where)
    assert seen[0] == {}
    assert seen[1]["weight"].dtype == np.float32
    assert seen[1]["weight"].tolist() == [3.0, 3.0]


def test_nothing_is_kept_outside_an_epoch() -> None:
    with pytest.raises(ProtocolError, match="party guest: keep out of order"):
        play(lambda party: party.keep({}), {"lab": _host})
