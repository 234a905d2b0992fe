"""A job whose gradients would tell more bits than its batches have labels: refused before it starts."""

from __future__ import annotations

import pytest

from hekat.errors import PolicyError


def test_a_job_of_small_batches_is_refused_before_it_starts(firms) -> None:
    """Two columns and batches of 30 rows: a fifteenth as many equations as rows, and 42 bits on 30 labels."""
    batches = "[training]\nbatch_rows = 30\n"
    firms.write_job(firms.ARBITER + batches, arbiter='"auditor"')
    with pytest.raises(PolicyError, match="host insurer would tell the labels of a batch"):
        firms.prepare()
    firms.write_job(firms.ARBITER + firms.WAIVER + batches, arbiter='"auditor"')
    assert firms.prepare().job.settings.label_leak_accepted is not None
