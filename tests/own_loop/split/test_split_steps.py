"""A step of an own loop does what its page says: z, the weights' move, the slopes that hosts get, in any library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.own_loop import SplitGuest, SplitHost

from .plain_loops import FEATURES, ROWS, UNITS, play, show_weights, train_guest, train_host

OWN = np.random.default_rng(5).uniform(-1, 1, (ROWS, UNITS))
SLOPES = np.random.default_rng(6).uniform(-1, 1, (ROWS, UNITS))
RATE, MOMENTUM = 0.5, 0.5
UNIT = 2.0**-20
"""Of a weight in use, which truncation of its shares may move by one, each time that it is used or shown."""


def _host(party: SplitHost) -> list[Any]:
    show_weights(party)
    found = []
    for _ in party.epochs():
        for rows in party.batches():
            party.forward(FEATURES[party.name][rows])
            found.append(party.backward())
            show_weights(party)
    return found


def _guest(seen: dict[str, list[Any]]):
    def code(party: SplitGuest) -> None:
        seen["weights"] = [show_weights(party)]
        for _ in party.epochs():
            for rows in party.batches():
                seen.setdefault("z", []).append((rows, party.forward(OWN[rows])))
                party.backward(SLOPES[rows] / len(rows))
                seen["weights"].append(show_weights(party))

    return code


@pytest.mark.quick_values
@pytest.mark.parametrize("protection", ["none", "lattice"])
@pytest.mark.parametrize("optimiser", ["sgd", "momentum"])
@pytest.mark.parametrize("bottom", ["frozen", "trained"])
def test_weights_move_by_the_rule_and_slopes_are_those_of_the_loss(
    protection: str, optimiser: str, bottom: str
) -> None:
    hosts = tuple(FEATURES) if protection == "none" else ("lab",)
    seen: dict[str, list[Any]] = {}
    run = play(
        _guest(seen),
        dict.fromkeys(hosts, _host),
        protection=protection,
        host_bottom=bottom,
        shared_optimiser=optimiser,
        shared_rate=RATE,
        momentum=MOMENTUM,
        epochs=3 if optimiser == "sgd" else 2,
    )
    velocity = np.zeros_like(seen["weights"][0])
    assert len(seen["z"]) == (6 if optimiser == "sgd" else 4)
    for step, (rows, z) in enumerate(seen["z"]):
        before, after = seen["weights"][step], seen["weights"][step + 1]
        expected = OWN[rows] + sum(FEATURES[host][rows] @ weights for host, weights in zip(hosts, before, strict=True))
        np.testing.assert_allclose(z, expected, atol=len(hosts) * 4 * UNIT)
        dz = SLOPES[rows] / len(rows)
        gradient = np.array([FEATURES[host][rows].T @ dz for host in hosts])
        velocity = (MOMENTUM * velocity if optimiser == "momentum" else 0) + gradient
        np.testing.assert_allclose(after, before - RATE * velocity, atol=4 * UNIT)
        for host, weights in zip(hosts, before, strict=True):
            slopes = run.results[host][step]
            if bottom == "frozen":
                assert slopes is None
            else:
                np.testing.assert_allclose(slopes, dz @ weights.T, atol=4 * UNIT)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_tensors_go_through_with_their_graph(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")
    kind = getattr(torch, dtype)

    def guest(party: SplitGuest) -> None:
        weights = torch.zeros(1, UNITS, dtype=kind, requires_grad=True)
        for _ in party.epochs():
            for rows in party.batches():
                z = party.forward(torch.ones(len(rows), 1, dtype=kind) @ weights)
                assert z.dtype == kind
                assert z.shape == (len(rows), UNITS)
                (0.5 * (z**2).sum(1)).mean().backward()
                np.testing.assert_allclose(z.grad.double().sum(0), weights.grad.double()[0], rtol=0.05, atol=1e-2)
                np.testing.assert_allclose(z.grad.double(), z.detach().double() / len(rows), rtol=0.02)
                party.backward(z.grad)
                weights.grad = None
        with torch.no_grad():
            assert not party.evaluate(torch.zeros(4, UNITS, dtype=kind)).requires_grad

    def host(party: SplitHost) -> list[float]:
        scale = torch.ones(1, dtype=kind, requires_grad=True)
        for _ in party.epochs():
            for rows in party.batches():
                features = torch.tensor(FEATURES[party.name][rows], dtype=kind) * scale
                party.forward(features)
                slopes = party.backward()
                assert slopes.dtype == kind
                assert slopes.shape == features.shape
                features.backward(slopes)
                with torch.no_grad():
                    scale -= 0.1 * scale.grad
                scale.grad = None
        party.evaluate(torch.zeros(4, 2, dtype=kind))
        return scale.tolist()

    run = play(guest, {"lab": host}, host_bottom="trained")
    assert run.results["lab"] != [1.0]


def test_a_tensor_without_a_graph_is_where_the_graph_begins() -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")

    def guest(party: SplitGuest) -> None:
        for _ in party.epochs():
            for rows in party.batches():
                z = party.forward(torch.zeros(len(rows), UNITS))
                z.sum().backward()
                party.backward(z.grad / len(rows))

    assert play(guest, {"lab": train_host}).results["lab"] == [None] * 6


def test_batches_are_the_same_at_all_parties_and_in_every_epoch() -> None:
    def rows_of(party: Any) -> list[list[int]]:
        seen = []
        for _ in party.epochs():
            for rows in party.batches():
                seen.append(rows.tolist())
                if party.name == "guest":
                    party.backward(party.forward() * 0)
                else:
                    party.forward(FEATURES["lab"][rows])
                    party.backward()
        return seen

    guest, lab = play(rows_of, {"lab": rows_of}).results.values()
    assert guest == lab
    assert guest[:2] == guest[2:4] == guest[4:]
    assert sorted(guest[0] + guest[1]) == list(range(ROWS))


@pytest.mark.sealed
def test_the_guest_ends_the_training_and_the_folder_says_what_opened(tmp_path, capsys) -> None:
    from hekat.cli.main import main

    def guest(party: SplitGuest) -> int:
        for _ in party.epochs():
            for rows in party.batches():
                party.backward(party.forward(OWN[rows]) * 0)
            if party.epochs_done == 1:
                party.stop()
        return party.epochs_done

    run = play(guest, {"lab": train_host}, folder=tmp_path / "run", host_bottom="trained", protection="lattice")
    assert run.results["guest"] == 2
    assert len(run.results["lab"]) == 4
    assert [cost.epoch for cost in run.costs.epochs] == [1, 2]
    assert all(cost.sent_bytes["lab"] > 1000 and cost.cut_shares == {"guest": 0, "lab": 0} for cost in run.costs.epochs)
    text = str(run)
    assert "guest and 1 host, 2 epochs, protection lattice" in text
    assert "so labels of guest" in text
    capsys.readouterr()
    assert main(["audit", str(tmp_path / "run")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "the interactive layer's outputs of each row" in told
    assert "the labels that the guest trains on" in told


def test_numbers_beyond_their_range_are_cut_and_counted() -> None:
    def guest(party: SplitGuest) -> None:
        for _ in party.epochs():
            for rows in party.batches():
                slopes = party.forward() * 0
                slopes[0, 0] = 9.0 / len(rows) if party.epochs_done == 0 and 0 in rows else 0.0
                party.backward(slopes)

    run = play(guest, {"lab": train_host}, batch_rows=ROWS, units=3)
    assert run.costs.epochs[0].cut_shares["guest"] == pytest.approx(1 / 30)
    assert run.costs.epochs[1].cut_shares["guest"] == 0
    assert any("were cut" in note for note in run.notes)


def test_training_can_be_left_out() -> None:
    assert play(train_guest, {"lab": train_host}, epochs=1).results["guest"] == [1]
    weights = play(show_weights, {"lab": show_weights, "shop": show_weights}).results["guest"]
    assert weights.shape == (2, 2, UNITS)
    assert np.abs(weights).max() > 0
