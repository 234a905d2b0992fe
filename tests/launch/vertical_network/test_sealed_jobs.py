"""A job of form sealed: run, stopped and resumed, gone on with, in one process and in several."""

from __future__ import annotations

from hekat.launch.vertical_network.run import run_network_job
from hekat.report import brief_of, load_summary
from hekat.report.views import render_page

SEALED = "[protection]\nkind = 'none'\nform = 'sealed'\n"
POLICY = "[policy]\nprotections = ['lattice', 'none']\n"
TRAINING = "[training]\nepochs = 3\nbatch_rows = 64\n"
NETWORK = "[network]\nunits = 3\n"


def test_a_run_needs_no_waiver_and_tells_the_loss_alone(clinics, tmp_path) -> None:
    clinics.write_job(SEALED, training=TRAINING, network=NETWORK, waiver="")
    clinics.write_site(POLICY)
    run = run_network_job(clinics.load_inputs(), tmp_path / "runs")
    assert (run.folder / "parts").is_dir()
    summary = load_summary(run.folder)
    print(summary["settings"], summary["notes"], summary["learned"])
    render_page(summary)
    print(brief_of(summary))
