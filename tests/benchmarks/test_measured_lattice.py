"""The figures of masked aggregation: every row of the results, and peers that were not there."""

from __future__ import annotations

import importlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STAGES = ("quantise", "mask", "add", "write sum", "unmask", "dequantise")
ROW = {
    "bits": 16, "set": "A16-16", "cores": 1, "parties": 3, "values": 1_000_000, "encrypt_s": 0.0101,
    "aggregate_s": 0.0202, "decrypt_s": 0.0303, "total_s": 0.0606, "upload_bytes": 4_800_000,
    "upload_over_float32": 0.719, "stages_ms": dict.fromkeys(STAGES, 1.5),
}  # fmt: skip
PEER = {"tenseal_total_s": 1.8, "times_tenseal": 45.2, "tenseal_upload_bytes": 95_700_000}
RATES = {
    "bits": 16, "cores": 1, "encrypt_per_s": 120e6, "decrypt_per_s": 160e6, "encrypt_levels_per_s": 210e6,
    "decrypt_levels_per_s": 220e6, "numpy_mean_per_s": 900e6,
}  # fmt: skip
LARGE = {
    "values": 100_000_000, "bits": 16, "parties": 3, "cores": 2, "encrypt_s": 0.5, "aggregate_s": 1.0,
    "decrypt_s": 0.25, "total_s": 1.75, "upload_at_1_gbit_s": 2.5, "update_bytes": 400_000_000,
    "party_sends_rise_bytes": 4_000_000, "party_reads_rise_bytes": 410_000_000, "aggregator_rise_bytes": 700_000_000,
}  # fmt: skip
ROUND = {
    "parties": 200, "values": 1_000_000, "bits": 16, "set": "C16-256", "cores": 1, "party_s": 0.0274,
    "aggregator_s": 0.298, "aggregator_s_per_party": 0.0065, "aggregator_peak_bytes": 16_900_000, "members": 7,
    "threshold": 5, "deal_ms": 0.6, "check_ms": 30.7, "release_ms": 21.9, "open_ms": 0.5, "share_bytes": 57_568,
}  # fmt: skip


@pytest.fixture
def render(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The section of these rows, with or without TenSEAL."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = importlib.import_module("pages.lattice")

    def rendered(*, with_peer: bool = True, **changed: Any) -> list[str]:
        content = {
            "rows": [ROW | PEER if with_peer else ROW],
            "throughput": [RATES],
            "large": [LARGE],
            "rounds": [ROUND, ROUND | {"cores": 2, "parties": 99}],
            "peers": {"tenseal": "0.3.18" if with_peer else "missing: no module", "openfhe": "missing: no wheel"},
            "peer_setting": "CKKS",
            "engine": {"1 core": {"arithmetic": "ifma: words"}},
        }
        lines: list[str] = module.render_lattice(content | changed, "a processor")
        return lines

    return rendered


def test_every_table_has_its_row(render: Any) -> None:
    lines = render()
    for line in (
        "| 16 | A16-16 | 1 | 10.1 ms | 20.2 ms | 30.3 ms | 60.6 ms | 1,800 ms | 45 | 4.8 MB | 0.72 | 95.7 MB |",
        "| 16 | 1.50 | 1.50 | 1.50 | 1.50 | 1.50 | 1.50 |",
        "| 16 | 1 | 120 | 160 | 210 | 220 | 900 |",
        "| 2 | 0.50 s | 1.00 s | 0.25 s | 1.75 s | 2.50 s | 4.0 MB | 410.0 MB | 700.0 MB |",
        "| 200 | C16-256 | 27 ms | 298 ms | 6.5 ms | 16.9 MB | 5 of 7 | 0.6 ms | 30.7 ms | 21.9 ms | 0.5 ms | 58 kB |",
    ):
        assert line in lines
    assert not any(line.startswith("| 99 ") for line in lines)  # rounds are shown on one core


def test_tables_are_whole(render: Any) -> None:
    lines = render()
    widths = {line.count(" | ") for line in lines if line.startswith("| 16 | A16-16")}
    heads = [line for line, rule in pairwise(lines) if rule.startswith("|---")]
    assert len(heads) == 5
    assert heads[0].count(" | ") in widths


def test_a_missing_peer_leaves_its_cells_empty_and_is_named(render: Any) -> None:
    lines = render(with_peer=False)
    assert "| 16 | A16-16 | 1 | 10.1 ms | 20.2 ms | 30.3 ms | 60.6 ms |  |  | 4.8 MB | 0.72 |  |" in lines
    text = " ".join(lines)
    assert "Not measured: tenseal, missing: no module; openfhe, missing: no wheel." in text
    assert "Beside it" not in text


def test_what_was_left_out_is_not_shown(render: Any) -> None:
    text = " ".join(render(large=[], rounds=[]))
    assert "BERT" not in text
    assert "A round on one core" not in text
