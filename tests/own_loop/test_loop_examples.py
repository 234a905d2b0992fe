"""The ten lines of the README and the examples run, and the models they end with are good and the same."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import hekat
from hekat.own_loop import Federated

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.sealed
def test_the_ten_lines_of_the_readme_run(capsys) -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Your own training loop")[1]
    code = section.split("```python\n")[1].split("```")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    row_counts = {"north": 30, "lake": 20, "county": 10}
    torch.manual_seed(0)
    slope = torch.tensor([[1.0], [-2.0]])
    loaders = {name: [(x, x @ slope)] for name, count in row_counts.items() for x in [torch.randn(count, 2)]}

    def train_one_epoch(model, loader) -> None:
        for features, labels in loader:
            loss = ((model(features) - labels) ** 2).mean()
            model.zero_grad()
            loss.backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.2 * parameter.grad

    def make_model():
        torch.manual_seed(1)
        return torch.nn.Linear(2, 1)

    names = {"make_model": make_model, "train_one_epoch": train_one_epoch, "loaders": loaders, "row_counts": row_counts}
    exec(compile(code, "README.md", "exec"), names)  # the code that the README shows
    run = names["run"]
    assert isinstance(run, Federated)
    weights = [model.weight for model in run.results.values()]
    assert all(torch.equal(weights[0], other) for other in weights)
    assert torch.allclose(weights[0], slope.T, atol=1e-2)
    assert "plain float32, one way" in capsys.readouterr().out


def test_the_numpy_example_comes_near_to_all_rows_in_one_place(run_example) -> None:
    errors = [float(found) for found in re.findall(r"test rows: ([\d.]+)", run_example("own_loop_numpy.py"))]
    federated, together = errors
    assert federated < 1.05 * together


@pytest.mark.long
def test_the_selective_example_learns_as_the_whole_one(run_example) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    said = run_example("own_loop_selective.py")
    in_part, whole = (float(found) for found in re.findall(r"train_\w+: ([\d.]+)%", said))
    assert min(in_part, whole) > 90
    assert "IN THE CLEAR" in said.split("train_in_part")[0]
    assert "IN THE CLEAR" not in said.split("train_in_part")[1]


@pytest.mark.long
def test_the_example_of_adapters_learns_and_sends_adapters_alone() -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")
    pytest.importorskip("peft", reason="needs hekat[lora]")
    pytest.importorskip("transformers", reason="needs hekat[lora]")
    example = runpy.run_path(str(ROOT / "examples" / "lora.py"))
    torch.manual_seed(5)
    run = hekat.federate(example["train_at"], list(example["PARTIES"]))
    model, first = run.results["north"], dict(example["make_model"]().named_parameters())
    assert example["accuracy"](model) > 0.8
    trained = {name for name, one in model.named_parameters() if one.requires_grad}
    assert all("lora_" in name or "classifier.modules_to_save" in name for name in trained)
    sent = run.costs.rounds[-1]
    assert set(sent.bounds) == trained
    # Rank 8 at queries and values of one layer of width 64, and a head of two classes.
    assert sent.value_count == 2 * 2 * 8 * 64 + 2 * 64 + 2
    assert all(torch.equal(one, first[name]) for name, one in model.named_parameters() if name not in trained)


@pytest.mark.long
def test_the_example_of_trees_tells_benign_tumours_apart(run_example) -> None:
    assert float(re.search(r"test rows: ([\d.]+)", run_example("own_loop_trees.py"))[1]) > 0.98


@pytest.mark.long
def test_the_split_example_is_nearly_as_good_as_all_columns_in_one_place(run_example) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    out = run_example("own_loop_split.py")
    split, together = map(float, re.findall(r"^  .*  (0\.\d{4}|1\.0000)$", out, re.MULTILINE))
    assert split > together - 0.01 > 0.98


@pytest.mark.long
@pytest.mark.sealed
def test_the_torch_example_is_as_good_encrypted_as_plain(run_example) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    out = run_example("own_loop_torch.py")
    found = {name.strip(): float(value) for name, value in re.findall(r"^  (.+?)  +([\d.]+)%$", out, re.MULTILINE)}
    assert abs(found["encrypted federated"] - found["plain federated"]) <= 1.0
    assert found["encrypted federated"] > found["county alone"]
