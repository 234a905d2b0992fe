"""The vertical benchmark: peers compute the plain gradient, steps are told whole, data is joined by id."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.mark.parametrize("peer", ["djn", "textbook", "phe"])
def test_peers_compute_the_plain_gradient(load: Any, paillier_keys: Any, peer: str) -> None:
    peers, data = load("vertical.peers"), load("vertical.data").draw_columns(6, 3, 2, 1)
    key = paillier_keys(512).private
    made = peers.PheWise(key.p, key.q) if peer == "phe" else peers.ElementWise(key.p, key.q, peer)
    batch = peers.draw_integers(data, 5)
    assert [part.shape for part in batch] == [(5, 4), (5, 2), (5,), (5,)]
    assert (batch[0][:, 0] == 1 << peers.FEATURE_BITS).all()
    found = made.run_batch(*batch)
    peers.check_gradient(found, batch)
    with pytest.raises(SystemExit, match="not the plain one"):
        peers.check_gradient((found[0], [found[1][0] + 1, *found[1][1:]]), batch)


def test_every_step_of_the_peer_is_timed(load: Any, paillier_keys: Any) -> None:
    peers = load("vertical.peers")
    key = paillier_keys(512).private
    peer = peers.ElementWise(key.p, key.q)
    peer.run_batch(*peers.draw_integers(load("vertical.data").draw_columns(4, 2, 1, 1), 4))
    assert set(peer.seconds) == {"encrypt logits", "fore gradient", "gradient", "decrypt"}
    assert min(peer.seconds.values()) > 0


def test_a_peers_rows_and_batches_are_scaled_apart(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    peers = load("vertical.peers")
    data = load("vertical.data").draw_columns(3000, 2, 1, 1)

    class Clocked:
        """A batch takes 7 seconds, and each of its rows 2."""

        seconds = 0.0

        def run_batch(self, *batch: Any) -> Any:
            Clocked.seconds += 7 + 2 * len(batch[0])

    monkeypatch.setattr(peers, "check_gradient", lambda found, batch: None)
    monkeypatch.setattr(peers.time, "process_time", lambda: Clocked.seconds)
    monkeypatch.setattr(peers, "ElementWise", lambda *_: Clocked())
    monkeypatch.setattr(peers, "PheWise", lambda *_: Clocked())
    rows = peers.measure_peers(data, 2048, 100, 1000)
    ours = [{"form": "arbiter", "protection": "lattice", "key_bits": None, "seconds": 1.0}]
    ours.append({"form": "arbiter", "protection": "paillier", "key_bits": 2048, "seconds": 10.0})
    peers.set_beside(rows, ours, 602.0)
    for row in rows:
        assert row["scaled_s"] == pytest.approx(3000 * 2 + 3 * 7)
        assert row["times_ours"] == pytest.approx(602.1)
        assert row["times_ours_two_processes"] == pytest.approx(301.05)
        assert row["reached"]


def test_parts_add_up_to_the_run(load: Any) -> None:
    tables = load("vertical.tables")
    steps = {"encrypt logits": 1.0, "aggregate": 0.5, "gradient": 2.0, "loss": 0.25, "send": 0.1, "open": 0.2}
    parts = tables.seconds_by_part(steps, 5.0)
    assert parts["encrypt"] == 1.5
    assert parts["products"] == 2.25
    assert parts["sealing"] == pytest.approx(0.3)
    assert sum(parts.values()) == pytest.approx(5.0)
    assert parts["idle"] == pytest.approx(0.95)


def test_flashs_table_has_its_steps_and_their_sum(load: Any) -> None:
    tables = load("vertical.tables")
    clear = {"aggregate": 0.5, "gradient": 1.0, "plain": 9.0}
    rows = tables.flash_table(clear, {"encrypt logits": 2.0, "gradient": 4.0})
    assert [row["step"] for row in rows] == [*tables.FLASH_S, "these steps"]
    assert rows[-1]["clear_s"] == 1.5
    assert rows[-1]["times"] == 4.0
    assert rows[-1]["flash_encrypted_s"] == pytest.approx(181.23)
    assert rows[0]["times"] is None


def test_credit_columns_are_joined_by_id(load: Any, tmp_path: Path) -> None:
    data = load("vertical.data")
    (tmp_path / data.CREDIT_GUEST).write_text("id,y,x0\n7,1,0.5\n3,0,1.5\n9,1,2.5\n")
    (tmp_path / data.CREDIT_HOST).write_text("id,x0,x1\n9,1,2\n3,3,4\n8,5,6\n")
    (tmp_path / data.CREDIT_TEST).write_text("id,y,x0\n9,1,1\n")
    joined, train_rows, test_rows = data.read_credit(tmp_path)
    assert (train_rows.tolist(), test_rows.tolist()) == ([0], [1])
    np.testing.assert_array_equal(joined.joined, [[1.5, 3, 4], [2.5, 1, 2]])
    np.testing.assert_array_equal(joined.labels, [0, 1])
    tables = joined.tables(np.array([1]))
    assert [len(table) for table in tables.values()] == [1, 1]
    assert tables["insurer"].labels is None


PARTS = {"encrypt": 0.5, "products": 1.0, "decrypt": 0.25, "plain": 0.1, "sealing": 0.1, "keys": 0.0, "idle": 0.05}
RUN: dict[str, Any] = {
    "what": "30,000 made-up rows", "form": "arbiter", "protection": "paillier", "key_bits": 2048, "batch_rows": 1024,
    "seconds": 2.0, "processor_s": 3.75,
    "parts_s": PARTS, "clear_s": 0.5, "times_clear": 4.0, "sent_bytes": {"bank": 6_000_000, "insurer": 3_500_000},
    "turns": 3,
}  # fmt: skip
STEPS = [
    {"step": "encrypt logits", "clear_s": 0.0, "encrypted_s": 0.4, "times": None, "flash_clear_s": 0.0,
     "flash_encrypted_s": 32.05},
    {"step": "gradient", "clear_s": 0.25, "encrypted_s": 1.0, "times": 4.0, "flash_clear_s": 3.77,
     "flash_encrypted_s": 135.96},
]  # fmt: skip
CONTENT: dict[str, Any] = {
    "data": "30,000 made-up rows", "batch_rows": 1024, "engine": {"arithmetic": "ifma: words"},
    "key_generation_s": {"2048": 12.34},
    "rows": [
        RUN | {"to_reach_s": 4.0, "reached": True, "flash": STEPS},
        RUN | {"form": "shared_weights", "key_bits": 3072, "seconds": 5.0},
        RUN | {"protection": "lattice", "key_bits": None, "seconds": 0.75},
    ],
    "peers": [
        {"peer": "gmpy2, djn", "key_bits": 2048, "sample_rows": 256, "scaled_s": 400.4, "times_ours": 200.2,
         "times_ours_two_processes": 100.1},
    ],
    "flash_times_in_all": 12.05, "times_clear_to_reach": 5.0,
    "elsewhere": [
        RUN | {"what": "10,000 wide rows", "share": 0.1, "scaled_s": 88.0,
               "elsewhere": {"source": "a system", "seconds": 137.0}},
    ],
    "auc": [
        {"what": "UCI", "trained": "scikit-learn, joined", "auc": 0.72},
        {"what": "UCI", "trained": "arbiter", "auc": 0.7212, "difference": 0.0012, "seconds": 20.0, "to_reach": 0.005},
    ],
    "auc_rows": {"train": 24000, "test": 6000}, "auc_training": {"learning_rate": 0.15},
}  # fmt: skip


def test_every_figure_stands_on_the_page(load: Any) -> None:
    lines = load("pages.vertical").render_vertical(CONTENT, "a processor")
    for line in (
        "| `arbiter` | `paillier`, 2048 bits | 2.00 s | 4 s | 3.75 s | 0.50 s | 1.00 s | 0.25 s | 0.10 s | 0.10 s"
        " | 0.05 s | 0.50 s | 4.0 | 9.5 MB |",
        "| `arbiter` | `lattice` | 0.75 s |  | 3.75 s | 0.50 s | 1.00 s | 0.25 s | 0.10 s | 0.10 s | 0.05 s"
        " | 0.50 s | 4.0 | 9.5 MB |",
        "| gmpy2, djn | 2048 | 256 | 400 s | 200 | 100 |",
        "| encrypt logits | 0 ms | 400 ms |  | 0.00 s | 32.05 s |",
        "| the whole run | 500 ms | 2,000 ms | 4.0 (to reach 5) | 12.05 times in all |  |",
        "| UCI | scikit-learn, joined | 0.7200 |  |  |  |",
        "| UCI | `arbiter` | 0.7212 | +0.0012 | 0.005 | 20 |",
    ):
        assert line in lines
    (wide,) = [
        line for line in lines if line.startswith("| 10,000 wide rows | `paillier`, 2048 bits | 88.00 s, scaled up")
    ]
    assert "| 5.00 s | 10.00 s |" in wide  # parts are scaled as well
    assert wide.endswith("| 5.00 s | 137 s (a system) |  |")


def test_what_was_not_measured_leaves_no_table(load: Any) -> None:
    lines = load("pages.vertical").render_vertical(
        CONTENT | {"rows": [RUN], "auc": [], "peers": [], "elsewhere": []}, "a processor"
    )
    assert sum(line.startswith("|---") for line in lines) == 1


def test_an_intersection_without_a_peer_has_empty_cells(load: Any) -> None:
    rows = [
        {"work": "ecdh 10 x 10", "cores": 1, "processor_s": 17.5, "wall_s": 18.0, "other": "known", "other_s": 28.9,
         "times_other": 1.65, "to_reach": "20 s"},
        {"work": "ecdh 10 x 10, a process each", "cores": 2, "wall_s": 9.0},
    ]  # fmt: skip
    lines = load("pages.vertical").render_intersection({"rows": rows}, "a processor")
    assert "| ecdh 10 x 10 | 1 | 17.50 s | known | 28.90 s | 1.6 | 20 s |" in lines
    assert "| ecdh 10 x 10, a process each | 2 | 9.00 s |  |  |  |  |" in lines
