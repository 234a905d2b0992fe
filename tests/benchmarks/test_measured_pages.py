"""The pages of single operations: every peer in a column of its own, what tables take; and that pages are current."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ENCRYPTION = {
    "operation": "encrypt crt",
    "key_bits": 2048,
    "setting": "constant time",
    "gmpy2_per_s": 99.0,
    "tables_per_s": 1250.0,
    "per_s": 10000.0,
    "times_gmpy2": 101.0,
    "times_tables": 8.04,
    "of_limit": 0.421,
    "table_mib": 12.5,
    "table_made_s": 0.0612,
}
SIGNING = {"operation": "sign", "key_bits": 3072, "gmpy2_per_s": 99.4, "per_s": 400.4, "times_gmpy2": 4.03}


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The writer, with the results of one Paillier row and one RSA row."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = importlib.import_module("write_measured_pages")
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    for name, row in (("paillier-cpu", ENCRYPTION), ("rsa-cpu", SIGNING)):
        content = {
            "date": "2026-01-02T03:04:05",
            "machine": {"cpu": "a processor", "cores": "2", "gmpy2": "2.3"},
            "engine": {"arithmetic": "ifma: words"},
            "rows": [row],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    return module


def test_each_peer_has_its_column_and_ratio(writer: Any) -> None:
    lines = writer.render_pages()["operations.md"].splitlines()
    peers = "gmpy2, textbook | ratio | gmpy2 with tables in Python | ratio"
    head = lines.index(f"| operation | key bits | Hekat | {peers} | of the limit |")
    assert lines[head + 1] == "|---|---|---|---|---|---|---|---|"
    assert lines[head + 2] == "| encrypt crt, constant time | 2048 | 10,000 | 99 | 101.0 | 1,250 | 8.0 | 42% |"
    head = lines.index("| operation | key bits | Hekat | gmpy2, textbook | ratio | of the limit |")
    assert lines[head + 2] == "| sign | 3072 | 400 | 99.4 | 4.0 |  |"


def test_a_row_that_lacks_a_peer_leaves_its_cells_empty(writer: Any) -> None:
    line = writer._performance_line(SIGNING, ["gmpy2", "tables"])
    assert line == "| sign | 3072 | 400 | 99.4 | 4.0 |  |  |  |"


def test_the_text_says_which_peer_is_which_and_what_tables_take(writer: Any) -> None:
    paillier, rsa = writer.render_pages()["operations.md"].split("RSA on one core")
    assert '"gmpy2, textbook" takes a full power r^n' in paillier
    assert '"gmpy2 with tables in Python" encrypts as Hekat does' in paillier
    assert "crt at 2048 bits, constant time: 12.5 MiB in 0.061 s." in paillier
    assert "tables" not in rsa


def test_pages_are_those_that_their_results_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = importlib.import_module("write_measured_pages")
    kept = {name: (module.PAGES / name).read_text(encoding="utf-8") for name in module.render_pages()}
    assert kept == module.render_pages(), "run benchmarks/write_measured_pages.py"
