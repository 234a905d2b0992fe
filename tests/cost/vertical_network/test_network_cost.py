"""What a dry run says that epochs of a split network will cost, held against the run itself."""

from __future__ import annotations

import pytest
from tests.launch.vertical_network.conftest import NETWORK

from hekat.cost.vertical_network import cost_of_network_job
from hekat.launch.vertical_network.run import run_network_job


@pytest.mark.quick_cases("2")
@pytest.mark.parametrize("epochs", [2, 5])
def test_bytes_are_those_of_the_run_to_within_a_tenth(clinics, epochs: int) -> None:
    """In 5 epochs hosts encrypt the features of a batch once, in 2 they do not: the rehearsal of 2 says what 5 take."""
    training = f"[training]\nepochs = {epochs}\nbatch_rows = 40\n"
    clinics.write_job("[protection]\nkind = 'lattice'\n", training=training, network=NETWORK)
    inputs = clinics.load_inputs()
    found = cost_of_network_job(inputs)
    sent = run_network_job(inputs, clinics.folder / "runs").summary["bytes"]["by_role"]
    for role in found.roles:
        assert role.total(epochs).sent_bytes == pytest.approx(sent[role.role]["sent"], rel=0.1)
