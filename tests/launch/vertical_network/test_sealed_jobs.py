"""A job of form sealed: it needs no waiver, and what it leaves says what opened."""

from __future__ import annotations

from hekat.launch.vertical_network.run import run_network_job
from hekat.report import brief_of, load_summary
from hekat.report.views import render_page
from hekat.run.vertical_network.part_file import NETWORK_PARTS

SEALED = "[protection]\nkind = 'none'\nform = 'sealed'\n"
POLICY = "[policy]\nprotections = ['lattice', 'none']\n"
TRAINING = "[training]\nepochs = 3\nbatch_rows = 64\n"
NETWORK = "[network]\nunits = 3\n"


def test_a_run_needs_no_waiver_and_says_that_the_loss_alone_opened(clinics, tmp_path) -> None:
    clinics.write_job(SEALED, training=TRAINING, network=NETWORK, waiver="")
    clinics.write_site(POLICY)
    run = run_network_job(clinics.load_inputs(), tmp_path / "runs")
    summary = load_summary(run.folder)
    assert summary["settings"]["shared_rate"] == 0.1
    assert summary["settings"]["limit_spreads"] == 3.0
    assert "rotation_accepted" not in summary["settings"]
    assert "learned the mean loss of each epoch" in "\n".join(summary["notes"])
    assert summary["learned"] == []
    assert "the mean loss of each epoch" in render_page(summary)
    assert "WAIVED" not in "".join(brief_of(summary).warnings)
    parts = NETWORK_PARTS.load_all(run.folder)
    shares = [one.part.arrays["sealed_share"] for one in parts.values()]
    assert [one.part.form for one in parts.values()] == ["sealed", "sealed"]
    # The clinic's ones, its radius and three textures, and six columns of the laboratory.
    assert [share.shape for share in shares] == [(11, 4, 2), (11, 4, 2)]
