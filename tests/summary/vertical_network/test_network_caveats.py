"""What the summary of a split network says that hosts learned: no more, and no less, than the job lets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hekat.job.vertical_network.job_file import load_network_job
from hekat.protocol.vertical_network.settings import LABELS_ACCEPTED, ROTATION_ACCEPTED, SLOPES_ACCEPTED
from hekat.summary.vertical_network.caveats import who_learns_what

JOB = f"""format = 2
name = "credit"
protocol = "vertical_network"
guest = "bank"
hosts = ["shop", "telco"]
data = "rows"
classes = ["no", "yes"]
[column_leak]
accepted = "{ROTATION_ACCEPTED}"
"""
SCORES = '[prediction]\nreceivers = ["bank", "shop"]\n'
WAIVED = f'[label_leak]\naccepted = "{LABELS_ACCEPTED}"\n'
PRIVATE = "[label_privacy]\nepsilon = 1\n"
TRAINED = f'[protection]\nhost_bottom = "trained"\n[slope_leak]\naccepted = "{SLOPES_ACCEPTED}"\n'
NOTHING, MARKED = "learned nothing of labels but when it ended", "the labels of rows that it marked"
COLUMNS, ONCE = "something of the columns of bank and of each other", "labels were replaced once"


@pytest.mark.parametrize(
    ("sections", "said", "unsaid"),
    [
        ("", (NOTHING,), (MARKED, COLUMNS, ONCE)),
        (SCORES + WAIVED, ("in training shop and telco " + NOTHING, "shop may receive scores", MARKED), (COLUMNS,)),
        (SCORES + PRIVATE, (NOTHING, ONCE), (MARKED, COLUMNS)),
        (TRAINED + PRIVATE, (COLUMNS, "label privacy does not bound that", ONCE), (NOTHING, MARKED)),
        (TRAINED + WAIVED, (COLUMNS, "gradients of their bottoms told shop and telco the labels"), (NOTHING, ONCE)),
    ],
)
def test_a_summary_says_what_hosts_learned(
    tmp_path: Path, sections: str, said: tuple[str, ...], unsaid: tuple[str, ...]
) -> None:
    (tmp_path / "job.toml").write_text(JOB + sections)
    found = "\n".join(who_learns_what(load_network_job(tmp_path / "job.toml")))
    assert [words for words in said if words not in found] == []
    assert [words for words in unsaid if words in found] == []


def test_one_host_learned_of_the_guests_columns_alone(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB.replace(', "telco"', "") + TRAINED + PRIVATE)
    found = "\n".join(who_learns_what(load_network_job(tmp_path / "job.toml")))
    assert "told shop something of the columns of bank, and label privacy does not bound that" in found
    assert "no attack of shop tells classes apart with an AUC above 0.731" in found
