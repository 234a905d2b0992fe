"""`compare.bits` in a whole run: the same training at other bits, its figures, and nothing left behind but them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest


def compare(workplace, bits: str) -> None:
    workplace.edit("job.toml", r"\[protection\]", f"[compare]\nbits = {bits}\nplain = true\n\n[protection]")
    workplace.edit("site.toml", r"\[policy\]", '[policy]\nprotections = ["lattice", "paillier", "none"]')


@pytest.mark.long
@pytest.mark.parametrize("protection", ["lattice", "paillier"])
def test_a_job_is_trained_at_other_bits_too(protection, workplace, monkeypatch, tmp_path) -> None:
    passing = tmp_path / "passing"
    passing.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(passing))
    if protection == "paillier":
        workplace.use_paillier()
    compare(workplace, "[24, 3]")
    answer = workplace.run("--json")
    assert answer.code == 0, answer.err
    summary = json.loads(answer.out)
    found = summary["compared_bits"]
    assert [entry["value_bits"] for entry in found] == [3, 16, 24]
    plain = summary["rounds"]["plain"][-1]["loss"]
    gaps = [abs(entry["loss"] - plain) / plain for entry in found]
    assert gaps == pytest.approx([entry["convergence_bias"] for entry in found])
    assert gaps[0] > 100 * gaps[2]  # of the same training: with fewer bits further away
    own = found[1]
    assert own["loss"] == summary["rounds"]["encrypted"][-1]["loss"]
    assert own["update_sealed"] == summary["bytes"]["update_sealed"]
    assert found[0]["bits_per_value_up"] < own["bits_per_value_up"] < found[2]["bits_per_value_up"]
    folder = Path(summary["folder"])
    phases = [json.loads(line).get("phase") for line in (folder / "events.jsonl").read_text().splitlines()]
    assert [phases.count(name) for name in ("plain", "24 bits", "3 bits", "encrypted")] == [2, 2, 2, 2]
    # Ledgers and states are those of the run itself; a comparison's are gone.
    assert workplace.call("audit", folder).code == 0
    assert list(passing.iterdir()) == []


@pytest.mark.long
def test_a_lost_party_is_lost_in_the_run_alone_and_the_report_says_so(five) -> None:
    five.edit("job.toml", r"\[protection\]", "[compare]\nbits = [8]\n\n[protection]")
    answer = five.run("--lose", "west:2", "--json")
    assert answer.code == 0, answer.err
    summary = json.loads(answer.out)
    assert [loss["party"] for loss in summary["lost"]] == ["west"]
    assert [entry["value_bits"] for entry in summary["compared_bits"]] == [8, 16]
    assert any("with no party left out" in note for note in summary["notes"])


def test_bits_that_cannot_be_are_refused_before_anything_is_written(workplace) -> None:
    compare(workplace, "[8, 64]")
    answer = workplace.run()
    assert answer.code == 2
    assert "compare.bits refused" in answer.err
    assert not workplace.runs.exists()


def test_clipped_values_by_tensor_agree_with_the_rounds(workplace) -> None:
    workplace.edit("job.toml", r"\[protection\]", '[codec]\nclipping = "fixed"\nalpha = 0.001\n\n[protection]')
    summary = json.loads(workplace.run("--json").out)
    history = summary["clipped_by_tensor"]
    made = summary["rounds"]["encrypted"]
    assert history["rounds"] == [entry["round"] for entry in made]
    assert made[0]["clipped"] > 0
    for place, entry in enumerate(made):
        assert sum(tensor["clipped"][place] for tensor in history["tensors"]) == entry["clipped"]
        assert sum(tensor["of"][place] for tensor in history["tensors"]) == entry["values"]
    assert {bound for tensor in history["tensors"] for bound in tensor["bound"]} == {0.001}


@pytest.mark.long
def test_bytes_by_step_add_up_to_all_bytes_of_a_role(workplace) -> None:
    summary = json.loads(workplace.run("--json").out)
    for role, found in summary["bytes"]["by_role"].items():
        steps = found["by_step"].values()
        assert sum(step["up"] + step["shares_out"] for step in steps) == found["sent"], role
        assert sum(step["down"] + step["shares_in"] for step in steps) == found["received"], role
    north = summary["bytes"]["by_role"]["north"]["by_step"]
    assert list(north) == ["session", "standardise", "bounds", "sums", "agreement"]
    # Two rounds; the last one's, with its agreement, is what the summary calls one update.
    up = north["sums"]["up"] + north["agreement"]["up"]
    assert up == pytest.approx(2 * summary["bytes"]["update_sealed"], rel=0.02)
