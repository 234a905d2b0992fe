"""Split networks on what cannot be trained on: a named error with its cure, exit code 2, and nothing half-written."""

from __future__ import annotations

import pytest

from hekat.cli.main import main

CLEAR = "[protection]\nkind = 'none'\n"
NET = """import torch


class Own(torch.nn.Module):
    def __init__(self, column_count, output_count):
        super().__init__()
        self.layer = torch.nn.Linear(column_count, output_count)
        self.register_buffer("calls", torch.zeros(1))


class NotFinite(Own):
    def forward(self, rows):
        return self.layer(rows) * float("nan")


class Large(Own):
    def forward(self, rows):
        return 100 * self.layer(rows) + 100


class Counting(Own):
    def forward(self, rows):
        self.calls += 1
        return self.layer(rows)


class Wide(torch.nn.Linear):
    def __init__(self, column_count, output_count):
        super().__init__(column_count, output_count + 1)
"""
STEEP = """

class Steep(torch.nn.Linear):
    def __init__(self, unit_count, output_count):
        super().__init__(unit_count, output_count)

    def forward(self, outputs):
        return 1e6 * super().forward(outputs)
"""


def refused(clinics, capsys) -> str:
    """What the run says; it leaves no summary, part, checkpoint or report."""
    runs = clinics.folder / "runs"
    assert main(["run", str(clinics.job), "--runs", str(runs)]) == 2
    left = {path.name for path in runs.rglob("*") if path.is_file()}
    assert left <= {"events.jsonl", "parties.json", "clinic.jsonl", "laboratory.jsonl"}
    told = " ".join(capsys.readouterr().err.split())
    assert all(word in told for word in ("error:", "expected:", "got:", "cure:"))
    return told


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("Wide", "features of another form expected: real numbers of shape (rows, 5) got: shape (64, 6)"),
        ("NotFinite", "features of a bottom hold NaN or infinity expected: finite numbers"),
        ("Large", "features of laboratory lie beyond their range expected: magnitudes below 8"),
        ("Counting", "the module of a bottom changes from call to call"),
    ],
)
def test_a_module_that_cannot_be_a_bottom(clinics, capsys, module: str, words: str) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    (clinics.folder / "net.py").write_text(NET)
    site = clinics.folder / "site.toml"
    site.write_text(f"{site.read_text()}[party.laboratory.model.own]\nfunction = 'net:{module}'\n")
    clinics.write_job(f"{CLEAR}[network.bottoms]\nlaboratory = 'own'\n")
    told = refused(clinics, capsys)
    assert "party 'laboratory' stopped" in told
    assert words in told


def test_slopes_beyond_their_range(clinics, capsys) -> None:
    """A top of the guest's own gives outputs so large that the slopes of its inputs have no room."""
    pytest.importorskip("torch", reason="needs hekat[torch]")
    (clinics.folder / "net.py").write_text(NET + STEEP)
    site = clinics.folder / "site.toml"
    site.write_text(f"{site.read_text()}[party.clinic.model.own]\nfunction = 'net:Steep'\n")
    clinics.write_job(CLEAR, network="[network]\nunits = 6\ntop = 'own'\n")
    told = refused(clinics, capsys)
    assert "party 'clinic' stopped" in told
    assert "slopes of the interactive layer lie beyond their range expected: magnitudes below 8" in told


def test_labels_at_a_host(clinics, capsys) -> None:
    site = clinics.folder / "site.toml"
    site.write_text(f"{site.read_text()}label = 'm5'\n")
    assert "laboratory has labels, and so has another party" in refused(clinics, capsys)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("source", "features of laboratory lie beyond their range"),
        ("sealed", "columns of clinic lie beyond their range"),
    ],
)
def test_columns_that_are_not_standardised(clinics, capsys, form: str, words: str) -> None:
    line = "form = 'sealed'\n" if form == "sealed" else "host_bottom = 'source'\n"
    others = {"network": "[network]\nunits = 3\n", "waiver": ""} if form == "sealed" else {}
    training = "[training]\nepochs = 1\nstandardise = false\n"
    clinics.write_job(f"{CLEAR}{line}", training=training, **others)
    assert words in refused(clinics, capsys)
