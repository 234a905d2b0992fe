"""A job of form guest_layer: every site has to allow it, and whatever a run leaves says that it is there to compare."""

from __future__ import annotations

import pytest

from hekat.errors import PolicyError
from hekat.job.site_file import load_site
from hekat.launch.vertical_network.predict import predict_network_jointly
from hekat.launch.vertical_network.run import run_network_job
from hekat.report import brief_of, load_summary
from hekat.report.views import render_page

HELD = (
    "[protection]\nkind = 'none'\nform = 'guest_layer'\nhost_bottom = 'trained'\n"
    "[label_leak]\naccepted = 'the host may learn labels'\n"
    "[slope_leak]\naccepted = 'hosts may learn columns of the guest and of each other'\n"
)
WAIVERS = ("column_leak_waiver", "label_leak_waiver", "slope_leak_waiver")
POLICY = "[policy]\nprotections = ['none']\n" + "".join(f"{line} = true\n" for line in WAIVERS)
ALLOWED = f"{POLICY}network_forms = ['guest_layer']\n"


@pytest.mark.long
def test_a_run_is_to_compare_and_predicts(clinics, tmp_path) -> None:
    clinics.write_job(HELD)
    clinics.write_site(ALLOWED)
    run = run_network_job(clinics.load_inputs(), tmp_path / "runs")
    assert any("TO COMPARE" in note for note in run.summary["notes"])
    assert any("laboratory, each by itself, which over the epochs" in note for note in run.summary["notes"])
    summary = load_summary(run.folder)
    assert "TO COMPARE" in render_page(summary)
    assert any("TO COMPARE" in warning for warning in brief_of(summary).warnings)
    found = predict_network_jointly(run.folder, load_site(clinics.folder / "site.toml"), "patients")
    assert len(found.by_receiver["clinic"].probabilities) == 160


def test_a_site_that_does_not_name_the_form_takes_no_part(clinics) -> None:
    clinics.write_job(HELD)
    clinics.write_site(POLICY)
    with pytest.raises(PolicyError, match="does not allow a split network of form 'guest_layer'") as caught:
        clinics.load_inputs()
    assert "policy.network_forms" in caught.value.cure
