"""A sample summary in the form of a real run's (five hospitals), and variants of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.report.kept_drawings import kept_plots

SAMPLE = Path(__file__).with_name("sample_summary.json")


@cache
def plots() -> list[tuple[dict[str, Any], str, Callable[..., str | None]]]:
    return list(kept_plots())


@pytest.fixture(autouse=True)
def shared_drawings(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests marked `drawn` draw everything themselves."""
    if request.node.get_closest_marker("drawn") is None:
        for place, name, plot in plots():
            monkeypatch.setitem(place, name, plot)


@pytest.fixture
def sample() -> dict[str, Any]:
    """A fresh copy that a test may change."""
    content: dict[str, Any] = json.loads(SAMPLE.read_text(encoding="utf-8"))
    return content


@pytest.fixture
def run_folder(tmp_path: Path) -> Callable[[Any], Path]:
    """run_folder(summary or bytes): a folder with that summary.json."""

    def make(content: Any) -> Path:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (tmp_path / "summary.json").write_bytes(data)
        return tmp_path

    return make


def _unprotected(summary: dict[str, Any]) -> None:
    summary["settings"]["protection"] = "none"
    summary["results"] = [r for r in summary["results"] if r["kind"] != "encrypted"]
    del summary["rounds"]["encrypted"]
    summary |= {"packing": None, "clipped": None, "exactness": [], "difference": None, "convergence_bias": None}
    summary["bytes"]["ciphertext_bytes"] = None
    summary["seconds"] = {"plain": 0.6, "key": 0.0, "ratio": None}


def _nothing_measured(summary: dict[str, Any]) -> None:
    summary |= {"test_rows": None, "difference": None, "convergence_bias": None, "packing": None, "clipped": None}
    summary["results"] = [{"name": "encrypted federated", "kind": "encrypted", "metrics": {}}]
    summary |= {"rounds": {}, "seconds": {}, "seconds_by_step": {}, "seconds_by_role": {}, "exactness": []}
    summary |= {"aggregator_saw": [], "notes": []}
    for party in summary["parties"]:
        party["class_rows"] = None
    for name in ("update_sealed", "sum_sealed", "ratio_to_float32", "ciphertext_bytes"):
        summary["bytes"][name] = None
    summary["bytes"]["by_role"] = {}


def _many_parties_regression(summary: dict[str, Any]) -> None:
    summary["task"] = "regression"
    summary["parties"] = [{"name": f"bank-{i} $x$", "rows": 40 + i, "class_rows": None} for i in range(40)]
    alone = [
        {"name": f"{party['name']} alone", "kind": "alone", "metrics": {"rmse": 12345.6 + place, "r2": place / 100}}
        for place, party in enumerate(summary["parties"])
    ]
    main = {"name": "encrypted federated", "kind": "encrypted", "metrics": {"rmse": 12000.3, "r2": 0.93}}
    summary["results"] = [*alone, main]
    made = [{"round": n + 1, "loss": 1e8 / (n + 1), "metrics": {"rmse": 13000.0 - n}} for n in range(150)]
    summary["rounds"] = {"encrypted": made}
    summary["exactness"] = [
        {"step": f"round-{n + 1}", "largest_error": 1e-6 * (n % 3), "bound": 1e-5, "clipped_excess": 0.0}
        for n in range(150)
    ]
    summary |= {"difference": None, "convergence_bias": None}


def _one_round_one_party_alone(summary: dict[str, Any]) -> None:
    summary["results"] = [summary["results"][0], summary["results"][-1]]
    summary["rounds"] = {kind: made[:1] for kind, made in summary["rounds"].items()}
    summary["exactness"] = summary["exactness"][:1]


def _lattice(summary: dict[str, Any]) -> None:
    names = [party["name"] for party in summary["parties"]]
    everybody = ", ".join(sorted(names))
    settings = summary["settings"]
    del settings["key_bits"]
    settings |= {
        "protection": "lattice",
        "opening": "committee",
        "openers": names,
        "openers_needed": 4,
        "parameter_set": "A16-16",
        "ring": "degree 2048, modulus of 50 bits",
        "security": "about 140 bits classical by the lattice estimator (MATZOV), about 113 to 115 by core-SVP",
    }
    summary["bytes"] |= {
        "update_sealed": 11_600,
        "sum_sealed": 13_300,
        "to_openers_sealed": 39_400,
        "from_openers_sealed": 39_400,
        "ratio_to_float32": 93.5,
        "ciphertext_bytes": 11_776,
        "update_written": 127,
        "bits_per_value_up": 23.0,
        "bits_per_value_down": 22.0,
    }
    summary["packing"] |= {"lane_count": 42, "lanes_per_ciphertext": 4095, "lane_bits": 20, "ciphertext_count": 1}
    del summary["seconds_by_step"]["keys"]
    summary["seconds_by_step"]["deal"] = 0.3
    summary["seconds"]["key"] = 0.0
    summary |= {
        "lost": [],
        "included": [{"first": 1, "last": 20, "parties": names}],
        "aggregator_saw": [
            f"ready: disclosed (the names of the party's columns), from {everybody}",
            f"…/upload-*/checked: disclosed (combinations of shares under masks used once: noise), from {everybody}",
            f"…/upload-*/block: ciphertext (the party's secret of this upload), from {everybody}",
            f"upload-counter: public, from {everybody}",
            f"released-groups: public, from {everybody}",
            f"…/upload-*/dealt: public, from {everybody}",
            f"…/upload-*/statement: public, from {everybody}",
        ],
        "aggregator_saw_steps": ["standardise/scale", "round-*"],
    }


VARIANTS: dict[str, Callable[[dict[str, Any]], None]] = {
    "as it is": lambda summary: None,
    "unprotected": _unprotected,
    "nothing measured": _nothing_measured,
    "many parties, regression": _many_parties_regression,
    "one round, one party alone": _one_round_one_party_alone,
    "lattice": _lattice,
}


@pytest.fixture(params=list(VARIANTS))
def variant(request: pytest.FixtureRequest, sample: dict[str, Any]) -> dict[str, Any]:
    """The sample, and the kinds of runs that differ most from it."""
    changed = copy.deepcopy(sample)
    VARIANTS[request.param](changed)
    return changed


@pytest.fixture
def unprotected(sample: dict[str, Any]) -> dict[str, Any]:
    _unprotected(sample)
    return sample


@pytest.fixture
def nothing_measured(sample: dict[str, Any]) -> dict[str, Any]:
    _nothing_measured(sample)
    return sample


@pytest.fixture
def lattice(sample: dict[str, Any]) -> dict[str, Any]:
    """The sample as of a run under protection `lattice`, with a committee of all parties."""
    changed = copy.deepcopy(sample)
    _lattice(changed)
    return changed
