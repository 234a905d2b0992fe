"""A split network's report names the loss that it shows: the log-loss, or of a sealed network its Taylor form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hekat.report.vertical_network.findings import training_sentences
from hekat.report.vertical_network.tables import epoch_table
from hekat.report.vertical_network.view import plot_loss

SAMPLE = Path(__file__).parent / "sample_network_summary.json"


def summary_of(form: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(SAMPLE.read_text(encoding="utf-8"))
    content["settings"]["form"] = form
    return content


@pytest.mark.parametrize(("form", "is_taylor"), [("shared", False), ("sealed", True)])
def test_the_loss_has_its_name_in_sentences_and_table(form: str, is_taylor: bool) -> None:
    summary = summary_of(form)
    table = epoch_table(summary)
    assert table is not None
    for told in (" ".join(training_sentences(summary)), table.note):
        assert ("Taylor" in told) == is_taylor


@pytest.mark.parametrize(
    ("form", "named"), [("shared", "log-loss\n(nats per row)"), ("sealed", "Taylor loss\n(nats per row)")]
)
def test_the_plots_axis_names_it_too(form: str, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of a plot are drawn as shapes, so what the axis is told is looked at."""
    axes = pytest.importorskip("matplotlib.axes", reason="needs hekat[report]")
    told: list[str] = []
    monkeypatch.setattr(axes.Axes, "set_ylabel", lambda self, label: told.append(label))
    assert plot_loss(summary_of(form)) is not None
    assert told == [named]
